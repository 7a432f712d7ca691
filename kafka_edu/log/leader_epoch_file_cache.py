"""The offsets that each leader wrote (Kafka: LeaderEpochFileCache.scala; KIP-101, KIP-279; spec
R4).

Each leader has an epoch and stamps it on the batches that it writes. For each epoch the cache keeps
the offset with which it began. `<0, 0>, <1, 120>` says that epoch 0 wrote the offsets 0 to 119, and
epoch 1 wrote those from 120 on. A follower that comes back asks the leader where the follower's
last epoch ended, and cuts its log there. Before, followers cut at the high watermark, which loses
records or lets logs diverge.
"""

import threading
from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_edu.common.files import FileSystem
from kafka_edu.log.checkpoint_file import CheckpointFile

UNDEFINED_EPOCH: Final = -1
UNDEFINED_EPOCH_OFFSET: Final = -1


class EpochEntry(NamedTuple):
    """An epoch and the offset of its first record."""

    epoch: int
    start_offset: int


def end_offset_in(
    entries: Sequence[EpochEntry], epoch: int, log_end_offset: int
) -> tuple[int, int]:
    """Return the largest epoch of `entries` not above `epoch`, and the offset behind its last
    record. O(entries). `LeaderEpochFileCache.end_offset_for` has the cases.
    """
    latest = entries[-1].epoch if entries else UNDEFINED_EPOCH
    if epoch == UNDEFINED_EPOCH or epoch > latest:
        return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
    if epoch == latest:
        return epoch, log_end_offset
    floor = epoch
    for entry in entries:
        if entry.epoch > epoch:
            return floor, entry.start_offset
        floor = entry.epoch
    return (
        UNDEFINED_EPOCH,
        UNDEFINED_EPOCH_OFFSET,
    )  # nothing is known at all, and -2 or less was asked for: a client may


class LeaderEpochFileCache:
    """The entries, ascending in both fields, in memory and in `leader-epoch-checkpoint`. Owned by
    its Log.

    The memory decides; the file serves the next start. `flush` forces the file to the disk before
    the recovery point moves. So the file can lack only epochs whose records lie behind that point,
    and recovery finds those in the batches. Replacing a file waits for a busy disk even without
    fsync. So a worker writes the file of a new epoch, or of a log that starts later (`later`). A
    cut at the end is written at once: recovery reads only upwards, and would believe an entry of
    the old branch. `write`, `flush` and `close` may be called from any thread.
    """

    def __init__(self, path: str, file_system: FileSystem) -> None:
        self._path = path
        self._file_system = file_system
        self._file: CheckpointFile[EpochEntry] = CheckpointFile(
            path, file_system, _to_line, _from_fields
        )
        self.entries: list[EpochEntry] = self._file.read()
        self.latest_epoch = UNDEFINED_EPOCH
        """The epoch of the last entry, -1 if there is none. It is kept here because every append
        reads it.
        """
        self.unwritten = False
        """Whether the file lacks the last assignment."""
        self._unforced = bool(self.entries)  # the process before may have left it so
        self._closed = False
        self.writing = threading.Lock()
        """Held while the file is replaced, or its folder renamed."""
        self._note_latest_epoch()

    def assign(self, epoch: int, start_offset: int, *, later: bool = False) -> None:
        """Note that the leader of `epoch` begins at `start_offset`. Remove entries that contradict
        it, with a later epoch or a later offset. O(1) mostly.

        With `later` the file waits for a call of `write`.
        """
        assert epoch >= 0, epoch
        assert start_offset >= 0, start_offset
        entries = self.entries
        if entries and epoch == entries[-1].epoch and start_offset >= entries[-1].start_offset:
            return
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochEntry(epoch, start_offset))
        self._changed(later=later)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Return the largest known epoch not above `epoch`, and the offset behind its last record.
        O(entries).

        For the latest epoch that offset is the end of the log. (-1, -1) if `epoch` is newer than
        all. If `epoch` is older than all known ones, the result is `epoch` itself and the start of
        the first.
        """
        return end_offset_in(self.entries, epoch, log_end_offset)

    def epoch_for_offset(self, offset: int) -> int:
        """Return the epoch that wrote `offset`, -1 if it is not known. O(entries)."""
        return next(
            (entry.epoch for entry in reversed(self.entries) if entry.start_offset <= offset),
            UNDEFINED_EPOCH,
        )

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the epochs that began at `end_offset` or later: the log now ends there, and
        nothing of them is left.
        """
        if self.entries and self.entries[-1].start_offset >= end_offset >= 0:
            while self.entries and self.entries[-1].start_offset >= end_offset:
                self.entries.pop()
            self._changed()

    def truncate_from_start(self, start_offset: int, *, later: bool = False) -> None:
        """Note that the log now begins at `start_offset`. The epoch that wrote this offset begins
        there; earlier epochs are removed. `later` as in `assign`.
        """
        gone = [entry for entry in self.entries if entry.start_offset <= start_offset]
        if gone and gone[-1].start_offset < start_offset:
            self.entries[: len(gone)] = [EpochEntry(gone[-1].epoch, start_offset)]
            self._changed(later=later)
        elif len(gone) > 1:
            del self.entries[: len(gone) - 1]
            self._changed(later=later)

    def clear_and_flush(self) -> None:
        """Remove all entries."""
        self.entries.clear()
        self._changed()

    def write(self) -> None:
        """Replace the file, if it lacks something."""
        with self.writing:
            self._write()

    def flush(self) -> None:
        """Force the file to the disk, if it has changed since the last time. May block."""
        with self.writing:
            self._write()
            unforced, self._unforced = self._unforced and not self._closed, False
        if unforced:
            file = self._file_system.open(self._path)
            try:
                file.flush()
            finally:
                file.close()

    def close(self) -> None:
        """Stop writing the file, because its folder is to be removed."""
        with self.writing:
            self._closed = True

    def moved_to(self, path: str) -> None:
        """Note that the file lies at `path` now, because its folder was renamed. The caller holds
        `writing`.
        """
        self._path = self._file.path = path

    def _note_latest_epoch(self) -> None:
        self.latest_epoch = self.entries[-1].epoch if self.entries else UNDEFINED_EPOCH

    def _changed(self, *, later: bool = False) -> None:
        self._note_latest_epoch()
        self.unwritten = True
        if not later:
            self.write()

    def _write(self) -> None:
        if self.unwritten and not self._closed:
            # before the entries are looked at: what the loop changes from here on is to be written
            # again
            self.unwritten = False
            self._unforced = True
            try:
                self._file.write(tuple(self.entries), sync=False)
            except OSError:
                self.unwritten = True
                raise


def _to_line(entry: EpochEntry) -> str:
    return f"{entry.epoch} {entry.start_offset}"


def _from_fields(fields: list[str]) -> EpochEntry:
    epoch, start_offset = fields
    return EpochEntry(int(epoch), int(start_offset))
