"""Open a log that is on disk, after a clean end or after a crash (Kafka: LogLoader.scala, before
3.0 the first third of Log.scala; spec S5).

After a crash the loader may find the damage on the left side of this list. The right side says what
the loader does.

    temporary files (.deleted, .cleaned, .tmp)          removed
    a compacted segment that was being put in place     completed: .swap becomes the segment, and
                                                        the segments that it replaces are removed
    a torn or garbled end of the log                    every batch from the recovery point on is
                                                        checked; from the first bad one on, the
                                                        log is cut off
    a segment that lost whole batches at its end        the log ends there, unless it is compacted:
    to a power failure, while a later segment remains   the offsets in between are lost
    an index that is missing, torn, at full length,     built again from the batches
    or that contradicts the batches
    segments that have each other's names               renamed
    a snapshot of producers with a wrong checksum       removed; an older one is used, and the
                                                        batch headers after it
    a leader-epoch-checkpoint that cannot be read, or   built again from the batches
    that names other epochs than the batches

After a clean shutdown (`clean_shutdown`) only the last bytes of the indexes and of the log are
read. After a crash, records below the recovery point are not read, because they are certainly on
the disk. If a repair shows more damage than a crash of the process alone can cause, a LogRepaired
event reports it. Loading blocks, so the log manager does it in worker threads. The log manager
emits the returned events later on the loop.

Each start checks the leader-epoch-checkpoint against the batches, even after a clean shutdown. The
check reads only one or two headers for each epoch. A wrong epoch would do great harm: a leader
refuses every fetch of a follower whose last epoch it does not know. In Kafka 2.8 this writes
thousands of log lines a second.
"""

from bisect import bisect_right
from collections.abc import Set

from kafka_edu.common.files import File, FileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.abstract_index import CorruptIndexError
from kafka_edu.log.checkpoint_file import CorruptCheckpointError
from kafka_edu.log.leader_epoch_file_cache import UNDEFINED_EPOCH, LeaderEpochFileCache
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LEADER_EPOCH_CHECKPOINT,
    LOG_SUFFIX,
    MOVING_TO_FILE,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    offset_of,
    segment_file,
)
from kafka_edu.log.log_repairs import (
    EPOCHS_REBUILT,
    INDEX_REBUILT,
    RECORDS_MISSING,
    SEGMENT_DROPPED,
    SEGMENT_RENAMED,
    TAIL_CUT,
    LogRepairs,
)
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.log.producer_state_manager import (
    ProducerStateManager,
    load_producers,
)
from kafka_edu.log.recovery_rule import RecoveryRule
from kafka_edu.log.segment_names import finish_renames, restore_names
from kafka_edu.record.file_records import iter_file_headers
from kafka_edu.record.record_batch import (
    MAGIC_V2,
    NO_PRODUCER_ID,
    BatchHeader,
    CorruptRecordError,
)
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.log import LogLoaded, LogRecovered

_TMP_SUFFIX = ".tmp"


def load_log(
    topic_partition: TopicPartition,
    log_dir: str,
    directory: str,
    file_system: FileSystem,
    config: LogConfig,
    *,
    log_start_offset: int = 0,
    recovery_point: int = 0,
    clean_shutdown: bool = False,
    now_ms: int = 0,
    max_producer_id_expiration_ms: int,
) -> tuple[Log, list[Event]]:
    """Open the log in `directory`, or create it if there is none. Return it, and the events of the
    repairs.

    Raises OSError.
    """
    loader = _LogLoader(
        topic_partition,
        log_dir,
        directory,
        file_system,
        config,
        now_ms,
        max_producer_id_expiration_ms,
    )
    return loader.load(log_start_offset, recovery_point, clean_shutdown)


class _LogLoader:
    def __init__(
        self,
        topic_partition: TopicPartition,
        log_dir: str,
        directory: str,
        file_system: FileSystem,
        config: LogConfig,
        now_ms: int,
        expiration_ms: int,
    ) -> None:
        self._topic_partition = topic_partition
        self._log_dir = log_dir
        self._repairs = LogRepairs(topic_partition, log_dir)
        self._directory = directory
        self._file_system = file_system
        self._config = config
        self._now_ms = now_ms
        self._log_start_offset = 0
        self._rule = RecoveryRule()
        self._segments: list[LogSegment] = []
        self._producers = ProducerStateManager(
            topic_partition, directory, file_system, expiration_ms
        )
        self._recovered: list[int] = []
        self._without_index: set[int] = set()
        """Base offsets of segments whose indexes must be built again, even below the recovery
        point.
        """
        self._deleted: set[int] = set()
        """Base offsets of segments that were being deleted."""
        self._truncated_bytes = 0
        self._indexed_end = -1
        """If the last index has entries for records that the log lacks, the offset after the last
        of these records; otherwise -1.
        """
        self._reasons: list[str] = []

    def load(
        self, log_start_offset: int, recovery_point: int, clean: bool
    ) -> tuple[Log, list[Event]]:
        self._log_start_offset = log_start_offset
        self._file_system.make_dirs(self._directory)
        newest_snapshot = max(self._producers.snapshot_offsets(), default=0)
        self._remove_temporary_files()
        self._complete_swaps()
        finish_renames(self._file_system, self._directory)
        epochs = self._load_epochs()
        self._open_segments(epochs, clean)
        bases = [segment.base_offset for segment in self._segments]
        to_read = self._rule.to_read(bases, recovery_point, clean)
        if clean and not to_read:
            self._check_end(epochs)
        else:
            self._recover_segments(frozenset(to_read), epochs)
        if not self._segments:
            self._segments.append(self._segment(log_start_offset))
        active = self._segments[-1]
        end = active.next_offset()
        if (
            end < log_start_offset
        ):  # all records on the disk are below the log start, so they count as deleted
            for segment in self._segments:
                if segment.size:
                    self._repairs.add(
                        SEGMENT_DROPPED,
                        segment.log.path,
                        f"the log starts at offset {log_start_offset} by its checkpoint",
                        size=segment.size,
                        from_offset=segment.base_offset,
                    )
                segment.change_suffix(DELETED_SUFFIX)
                segment.delete()
            active, end = self._segment(log_start_offset), log_start_offset
            self._segments = [active]
        active.begin(self._config.segment_index_bytes)
        start = max(log_start_offset, self._segments[0].base_offset)
        if (
            self._config.record_version < MAGIC_V2 and epochs.entries
        ):  # messages of older formats have no epoch
            epochs.clear_and_flush()
        epochs.truncate_from_end(end)
        epochs.truncate_from_start(start)
        self._check_epochs(epochs, start, end)
        self._check_missing(newest_snapshot, end)
        self._producers.remove_stray_snapshots([segment.base_offset for segment in self._segments])
        self._load_producers(self._segments, start, end)
        known = self._rule.at_start(recovery_point, start, end, clean)
        log = Log(
            self._topic_partition,
            self._log_dir,
            self._directory,
            self._file_system,
            self._config,
            self._segments,
            start,
            end,
            known,
            epochs,
            self._producers,
        )
        log.last_flushed_ms = self._now_ms
        return log, self._events(log, recovery_point, clean)

    def _events(self, log: Log, recovery_point: int, clean: bool) -> list[Event]:
        (topic, partition), segments = self._topic_partition, self._segments
        events: list[Event] = []
        if self._recovered:
            reason = "; ".join(self._reasons)
            read = len(self._recovered)
            events.append(
                LogRecovered(
                    topic=topic,
                    partition=partition,
                    recovery_point=recovery_point,
                    segments=read,
                    truncated_bytes=self._truncated_bytes,
                    log_end_offset=log.log_end_offset,
                    reason=reason,
                )
            )
        events += self._repairs.found
        producers = len(log.producer_state_manager.producers)
        events.append(
            LogLoaded(
                topic=topic,
                partition=partition,
                log_dir=log.log_dir,
                log_start_offset=log.log_start_offset,
                log_end_offset=log.log_end_offset,
                segments=len(segments),
                size=log.size,
                producers=producers,
                clean=clean,
            )
        )
        return events

    def _load_producers(
        self, segments: list[LogSegment], log_start_offset: int, log_end_offset: int
    ) -> None:
        load_producers(self._producers, segments, log_start_offset, log_end_offset, self._now_ms)
        self._repairs.add_snapshots(self._producers.dropped)
        self._producers.dropped.clear()

    def _segment(self, base_offset: int) -> LogSegment:
        return LogSegment(
            self._file_system,
            self._directory,
            base_offset,
            self._config.index_interval_bytes,
            self._now_ms,
        )

    def _remove_temporary_files(self) -> None:
        for name in self._file_system.list(self._directory):
            if (
                name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX, _TMP_SUFFIX))
                or name == MOVING_TO_FILE  # a move that continues writes it again
            ):
                base = offset_of(name)
                if base is not None and name.endswith(DELETED_SUFFIX):
                    self._deleted.add(base)
                self._file_system.remove(f"{self._directory}/{name}")

    def _complete_swaps(self) -> None:
        """Complete the replacement of segments by compacted ones, and build the new segments'
        indexes.
        """
        names = self._file_system.list(self._directory)
        for name in names:
            if name.endswith(SWAP_SUFFIX) and not name.endswith(LOG_SUFFIX + SWAP_SUFFIX):
                self._file_system.remove(f"{self._directory}/{name}")
        for name in names:
            base = offset_of(name)
            if name.endswith(LOG_SUFFIX + SWAP_SUFFIX) and base is not None:
                path = f"{self._directory}/{name}"
                file = self._file_system.open(path)
                last = max(
                    (h.last_offset for _, h in iter_file_headers(file, 0, file.size())),
                    default=base,
                )
                file.close()
                for old in names:
                    covered = offset_of(old)
                    if (
                        covered is not None
                        and base <= covered <= last
                        and old.endswith(SEGMENT_SUFFIXES)
                    ):
                        self._file_system.remove(f"{self._directory}/{old}")
                        self._deleted.add(covered)
                self._file_system.rename(path, path.removesuffix(SWAP_SUFFIX))

    def _load_epochs(self) -> LeaderEpochFileCache:
        path = f"{self._directory}/{LEADER_EPOCH_CHECKPOINT}"
        try:
            return LeaderEpochFileCache(path, self._file_system)
        except CorruptCheckpointError as error:
            self._reasons.append(str(error))
            self._file_system.remove(path)
            epochs = LeaderEpochFileCache(path, self._file_system)
            for name in self._file_system.list(self._directory):
                if name.endswith(LOG_SUFFIX):
                    file = self._file_system.open(f"{self._directory}/{name}")
                    _note_epochs(epochs, file)
                    file.close()
            self._epochs_rebuilt(epochs, str(error).removeprefix(path).lstrip())
            return epochs

    def _check_epochs(self, epochs: LeaderEpochFileCache, start: int, end: int) -> None:
        """Build the leader epochs again from the batches, if the epochs and the batches contradict
        each other.

        O(epochs), or O(batches) if they contradict each other.
        """
        if self._config.record_version < MAGIC_V2:
            return
        reason = self._false_epochs(epochs, start, end)
        if reason:
            epochs.clear_and_flush()
            for segment in self._segments:
                _note_epochs(epochs, segment.log)
            epochs.truncate_from_start(start)
            self._epochs_rebuilt(epochs, reason)

    def _false_epochs(self, epochs: LeaderEpochFileCache, start: int, end: int) -> str:
        """Return in words how the leader epochs contradict the batches; "" if they do not.

        The check reads the first batch of each epoch, and the first and the last batch of the log.
        """
        entries = epochs.entries
        first = self._header_at(start)
        if first is None or first.magic < MAGIC_V2 or first.partition_leader_epoch < 0:
            return ""
        if not entries or max(first.base_offset, start) < entries[0].start_offset:
            began = f" before offset {entries[0].start_offset}" if entries else ""
            return (
                f"it names no epoch{began}, and the batch at offset {first.base_offset} has epoch"
                f" {first.partition_leader_epoch}"
            )
        previous = UNDEFINED_EPOCH
        for epoch, start_offset in entries:
            before = self._header_at(start_offset - 1) if start_offset > start else None
            if before is not None and before.base_offset < start_offset:
                written = before.partition_leader_epoch
                if written >= epoch or (before.magic >= MAGIC_V2 and written != previous):
                    return (
                        f"it says that epoch {epoch} begins at offset {start_offset}"
                        + (f", behind epoch {previous}" if written < epoch else "")
                        + f", and the batch before has epoch {written}"
                    )
            previous = epoch
            header = self._header_at(start_offset)
            written = header.partition_leader_epoch if header is not None else epoch
            # in a compacted topic, all records of an epoch may have been removed
            if written < epoch or (written > epoch and not self._config.compact):
                return (
                    f"it says that epoch {epoch} begins at offset {start_offset}, and the batch"
                    f" there has epoch {written}"
                )
        last = self._segments[-1].last_batch()
        if last is not None and last[1].partition_leader_epoch > epochs.latest_epoch:
            return (
                f"its last epoch is {epochs.latest_epoch}, and the batch before offset {end} has"
                f" epoch {last[1].partition_leader_epoch}"
            )
        return ""

    def _header_at(self, offset: int) -> BatchHeader | None:
        """Return the header of the batch that contains `offset`, or of the next batch after it."""
        at = bisect_right([segment.base_offset for segment in self._segments], offset) - 1
        for segment in self._segments[max(at, 0) :]:
            try:
                header = segment.header_at(offset)
            except CorruptRecordError:
                return None  # it is flushed, so recovery did not read it; a reader gets the error
            if header is not None:
                return header
        return None

    def _epochs_rebuilt(self, epochs: LeaderEpochFileCache, reason: str) -> None:
        self._repairs.add(
            EPOCHS_REBUILT,
            LEADER_EPOCH_CHECKPOINT,
            reason,
            from_offset=epochs.entries[0].start_offset if epochs.entries else -1,
        )

    def _check_missing(self, newest: int, end: int) -> None:
        """Record a loss if the log ends earlier than its last index or its newest producer snapshot
        says.

        A snapshot is written at the end of a segment or of the log, and it is removed when the log
        is truncated below it. So the log was once at least as long as its snapshot says.
        """
        if self._repairs.lost_records:
            return  # a repair already reports the loss
        if self._indexed_end > end:
            self._repairs.add(
                RECORDS_MISSING,
                self._segments[-1].log.path,
                f"the log ends at offset {end}, and its index knows offset {self._indexed_end - 1}",
                from_offset=end,
                to_offset=self._indexed_end,
            )
        elif newest > end:
            self._repairs.add(
                RECORDS_MISSING,
                self._segments[-1].log.path,
                f"the log ends at offset {end}, and a snapshot of its producers was taken at"
                f" {newest}",
                from_offset=end,
                to_offset=newest,
            )

    def _check_end(self, epochs: LeaderEpochFileCache) -> None:
        """Recover the last segment if it does not end with a whole batch.

        This is not expected after a clean shutdown. But without this check, the next append would
        be written after invalid bytes.
        """
        if self._segments and (reason := self._segments[-1].torn_end()):
            self._recover(self._segments[-1], self._segments[:-1], epochs, reason, None)

    def _open_segments(self, epochs: LeaderEpochFileCache, clean: bool) -> None:
        """Open all segments. Build an index again if it may be wrong.

        After a crash the active segment's index is always built again, because it still has its
        full length. `_recover_segments` builds it later, in the order of the log. If that index
        were built first, an epoch that began in an earlier segment would seem to begin in the
        active segment.
        """
        names = self._file_system.list(self._directory)
        bases = sorted(
            base
            for base in (offset_of(name) for name in names if name.endswith(LOG_SUFFIX))
            if base is not None
        )
        for path, own in restore_names(self._file_system, self._directory, bases):
            reason = f"its records begin at offset {own}"
            self._repairs.add(SEGMENT_RENAMED, path, reason, from_offset=own)
        self._remove_orphans(names, bases)
        for number, base in enumerate(bases):
            segment = self._segment(base)
            following = bases[number + 1] if number + 1 < len(bases) else None
            try:
                segment.load()
            except CorruptIndexError as error:
                killed = not clean and base == bases[-1]
                for path, damage in segment.damaged_indexes(after_kill=killed):
                    self._repairs.add(INDEX_REBUILT, path, damage, from_offset=base)
                if killed:
                    self._indexed_end = segment.indexed_behind_end()
                if clean:
                    self._recover_flushed(segment, self._segments, epochs, str(error), following)
                else:
                    self._without_index.add(base)
            self._segments.append(segment)

    def _remove_orphans(self, names: list[str], bases: list[int]) -> None:
        """Remove the indexes of segments whose batches are missing, and report the segments."""
        known, reported = set(bases), set[int]()
        for name in names:
            base = offset_of(name)
            if (
                base is None
                or base in known
                or not name.endswith((INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX))
            ):
                continue
            self._file_system.remove(f"{self._directory}/{name}")
            if base not in reported | self._deleted:
                reported.add(base)
                after = bisect_right(bases, base)
                self._repairs.add(
                    RECORDS_MISSING,
                    segment_file(self._directory, base, LOG_SUFFIX),
                    f"{name} is there, and the segment's batches are not",
                    from_offset=base,
                    to_offset=bases[after] if after < len(bases) else -1,
                )

    def _recover_segments(self, to_read: Set[int], epochs: LeaderEpochFileCache) -> None:
        """Check the segments whose base offsets are in `to_read`, because their batches may not be
        on the disk.

        All records after a bad batch, or after missing offsets, are removed from the log.
        """
        for i, segment in enumerate(self._segments):
            after = self._segments[i + 1].base_offset if i + 1 < len(self._segments) else None
            on_disk = segment.base_offset not in to_read
            if on_disk and segment.base_offset not in self._without_index:
                continue
            if on_disk:
                self._recover_flushed(segment, self._segments[:i], epochs, "", after)
                continue
            cut = self._recover(segment, self._segments[:i], epochs, "", after)
            if cut or (after is not None and self._lost_batches(segment, after)):
                for lost in self._segments[i + 1 :]:
                    self._truncated_bytes += lost.size
                    self._repairs.add(
                        SEGMENT_DROPPED,
                        lost.log.path,
                        "nothing counts behind records that are bad or missing",
                        size=lost.size,
                        from_offset=lost.base_offset,
                    )
                    lost.change_suffix(DELETED_SUFFIX)
                    lost.delete()
                del self._segments[i + 1 :]
                return

    def _lost_batches(self, segment: LogSegment, after: int) -> bool:
        """Return whether batches at the end of the segment are missing.

        A power failure may cut a file at the end of a batch, and keep the next segment, which
        begins at `after`. Compaction leaves such gaps too, so in a compacted log a gap does not
        mean a loss.
        """
        end = segment.next_offset()
        if self._config.compact or end >= after:
            return False
        reason = f"the offsets {end:,} to {after - 1:,} are missing"
        self._reasons.append(reason)
        self._repairs.add(
            RECORDS_MISSING, segment.log.path, reason, from_offset=end, to_offset=after
        )
        return True

    def _recover(
        self,
        segment: LogSegment,
        before: list[LogSegment],
        epochs: LeaderEpochFileCache,
        reason: str,
        following: int | None,
    ) -> bool:
        """Check one segment, and build its indexes again. Return whether the end of the segment was
        cut off.

        The state of the producers is updated with each batch, because the segment's transaction
        index is made from it.
        `following` is the base offset of the next segment.
        """
        producers = self._producers
        self._load_producers(
            before, min(self._log_start_offset, segment.base_offset), segment.base_offset
        )

        def note(header: BatchHeader, batch: memoryview) -> None:
            _note_epoch(epochs, header)
            if header.producer_id != NO_PRODUCER_ID:
                aborted = producers.note(
                    header, header.base_offset, header.max_timestamp, lambda: batch
                )
                if aborted is not None:
                    segment.txn_index.append(aborted)
            producers.map_end_offset = header.next_offset

        cut, why = segment.recover(self._config.segment_index_bytes, note, following)
        producers.take_snapshot()
        producers.forget_first()
        if cut:
            self._repairs.add(
                TAIL_CUT, segment.log.path, why, size=cut, from_offset=producers.map_end_offset
            )
        segment.on_become_inactive()
        self._recovered.append(segment.base_offset)
        self._truncated_bytes += cut
        self._reasons += [r for r in (reason, why) if r]
        return cut > 0

    def _recover_flushed(
        self,
        segment: LogSegment,
        before: list[LogSegment],
        epochs: LeaderEpochFileCache,
        reason: str,
        following: int | None,
    ) -> None:
        """Check a segment below the recovery point, because its index is damaged.

        Missing records are reported. Records after them were flushed and stay, as in Kafka. Aborted
        transactions whose markers are missing stay in the index too, because some of their records
        may be in the log.
        """
        aborted = segment.txn_index.sound_entries()
        cut = self._recover(segment, before, epochs, reason, following)
        end = segment.next_offset()
        for entry in aborted:
            if following is not None and entry.last_offset >= end:
                segment.txn_index.append(entry)
        if not cut and following is not None:
            self._lost_batches(segment, following)


def _note_epochs(epochs: LeaderEpochFileCache, file: File) -> None:
    for _, header in iter_file_headers(file, 0, file.size()):
        _note_epoch(epochs, header)


def _note_epoch(epochs: LeaderEpochFileCache, header: BatchHeader) -> None:
    if header.partition_leader_epoch > epochs.latest_epoch:
        epochs.assign(header.partition_leader_epoch, header.base_offset)
