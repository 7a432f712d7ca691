"""The leader epochs of a log, and the offset at which each epoch began (Kafka:
LeaderEpochFileCache.scala; KIP-101, KIP-279; spec R4).

Each leader has an epoch and writes it into its batches. For each epoch the cache keeps the epoch's
first offset. `<0, 0>, <1, 120>` means: the leader of epoch 0 wrote the offsets 0 to 119, and the
leader of epoch 1 has written from 120 on. A follower that comes back asks the leader where the
follower's last epoch ended, and truncates its log there. Before KIP-101, followers truncated to
their high watermark, which can lose records or make logs differ.
"""

import threading
from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_edu.common.files import FileSystem
from kafka_edu.log.checkpoint_file import CheckpointFile

UNDEFINED_EPOCH: Final = -1
UNDEFINED_EPOCH_OFFSET: Final = -1


class EpochEntry(NamedTuple):
    """A leader epoch and the offset of its first record."""

    epoch: int
    start_offset: int


def end_offset_in(
    entries: Sequence[EpochEntry], epoch: int, log_end_offset: int
) -> tuple[int, int]:
    """Return the largest epoch of `entries` that is not above `epoch`, and the offset after its
    last record. O(entries). The special cases are described at
    `LeaderEpochFileCache.end_offset_for`.
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
    )  # there are no entries, and a client has sent the epoch -2 or less


class LeaderEpochFileCache:
    """The epochs of one log, in memory and in the file `leader-epoch-checkpoint`. Owned by its Log.

    The entries ascend both in epoch and in offset. The entries in memory are used, and the file is
    read only at the next start. `flush` forces the file to the disk before the recovery point
    moves. So the file can lack only epochs whose records lie after the recovery point, and recovery
    finds these epochs in the batches.

    Replacing a file takes long on a busy disk, even without fsync. So with `later` a worker writes
    the file: after a new epoch, or when the log start has moved. After a truncation at the end the
    file is written at once. Otherwise recovery would keep the entries of the part that was cut off,
    because recovery only adds entries. `write`, `flush` and `close` may be called from any thread.
    """

    def __init__(self, path: str, file_system: FileSystem) -> None:
        self._path = path
        self._file_system = file_system
        self._file: CheckpointFile[EpochEntry] = CheckpointFile(
            path, file_system, _to_line, _from_fields
        )
        self.entries: list[EpochEntry] = self._file.read()
        self.latest_epoch = UNDEFINED_EPOCH
        """The epoch of the last entry; -1 if there is none. Every append reads it, so it is a field
        of its own.
        """
        self.unwritten = False
        """Whether the last change is not in the file yet."""
        self._unforced = bool(self.entries)  # an earlier process may not have forced the file
        self._closed = False
        self.writing = threading.Lock()
        """Held while the file is replaced, or its folder renamed."""
        self._note_latest_epoch()

    def assign(self, epoch: int, start_offset: int, *, later: bool = False) -> None:
        """Record that the leader of `epoch` writes from `start_offset` on. Mostly O(1).

        Entries with a later epoch or a later offset contradict the new entry, and are removed. With
        `later` the file is not written now, but by the next call of `write`.
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
        """Return the largest known epoch not above `epoch`, and the offset after its last record.

        For the latest epoch this offset is the end of the log. If `epoch` is newer than all known
        epochs, the result is (-1, -1). If `epoch` is older than all known epochs, the result is
        `epoch` itself and the start offset of the first known epoch. O(entries).
        """
        return end_offset_in(self.entries, epoch, log_end_offset)

    def epoch_for_offset(self, offset: int) -> int:
        """Return the epoch whose leader wrote `offset`; -1 if it is not known. O(entries)."""
        return next(
            (entry.epoch for entry in reversed(self.entries) if entry.start_offset <= offset),
            UNDEFINED_EPOCH,
        )

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the epochs that began at `end_offset` or later, because the log was truncated
        there.
        """
        if self.entries and self.entries[-1].start_offset >= end_offset >= 0:
            while self.entries and self.entries[-1].start_offset >= end_offset:
                self.entries.pop()
            self._changed()

    def truncate_from_start(self, start_offset: int, *, later: bool = False) -> None:
        """Record that the log now starts at `start_offset`. Remove the epochs that end before it.

        The epoch that wrote `start_offset` now counts as beginning at `start_offset`. For `later`
        see `assign`.
        """
        gone = [entry for entry in self.entries if entry.start_offset <= start_offset]
        if gone and gone[-1].start_offset < start_offset:
            self.entries[: len(gone)] = [EpochEntry(gone[-1].epoch, start_offset)]
            self._changed(later=later)
        elif len(gone) > 1:
            del self.entries[: len(gone) - 1]
            self._changed(later=later)

    def clear_and_flush(self) -> None:
        """Remove all entries, in memory and in the file."""
        self.entries.clear()
        self._changed()

    def write(self) -> None:
        """Write the file if the last change is not in it yet."""
        with self.writing:
            self._write()

    def flush(self) -> None:
        """Force the file to the disk if it has changed since the last time. May block."""
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
        """Stop writing the file, because its folder will be deleted."""
        with self.writing:
            self._closed = True

    def moved_to(self, path: str) -> None:
        """Record that the file lies at `path` now, because its folder was renamed. The caller holds
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
            # set this before the loop reads the entries: a change after this moment must be written
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
