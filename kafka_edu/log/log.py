"""A log: one partition's replica on this broker's disk (Kafka: Log.scala; seed 004; spec S1–S3).

A log is a folder of segments, ascending by base offset. Only the last one, the active segment, is
written to. A leader checks the records that producers send, and gives them offsets. A follower
stores its leader's bytes unchanged. A read copies no bytes: it returns a region of a file, which
sendfile sends from the page cache (book §3.3, spec S6).

    log start offset ≤ recovery point, HW ≤ log end offset (LEO); log start offset ≤ LSO ≤ HW

All records below the recovery point are certainly on the disk. Consumers see records below the high
watermark (HW), which belongs to Partition. Consumers with read_committed see records below the last
stable offset (LSO). The LSO is the first record of the oldest transaction that is open or not yet
settled. Without such a transaction it is the HW.

Times on one core for a batch of 64 KiB: an append as leader takes about 30 µs (25 µs for the CRC
and the write), and a read takes 1 to 10 µs. The broker's loop owns the log. Only flushing segments,
and renaming and removing the files of old segments, happen in worker threads. Next hop:
LogValidator, then LogSegment. Since 3.1 Kafka has two classes for this: LocalLog for the segments,
UnifiedLog for the rest.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer, FileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_size
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.fetch_data_info import FetchDataInfo, TimestampOffset
from kafka_edu.log.leader_epoch_file_cache import LeaderEpochFileCache
from kafka_edu.log.log_append_info import LogAppendInfo
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_file_names import DELETED_SUFFIX, LEADER_EPOCH_CHECKPOINT, SWAP_SUFFIX
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.log.log_repairs import LogRepairs
from kafka_edu.log.log_retention import deletable_segments
from kafka_edu.log.log_segment import MAX_RELATIVE_OFFSET, LogSegment
from kafka_edu.log.log_segments import LogSegments
from kafka_edu.log.log_validator import (
    ValidBatch,
    check_leader_batches,
    validate,
    validate_for_old_format,
)
from kafka_edu.log.producer_state_entry import BatchMetadata
from kafka_edu.log.producer_state_manager import ProducerStateManager, load_producers
from kafka_edu.log.recovery_rule import RecoveryRule
from kafka_edu.log.transaction_index import AbortedTxn
from kafka_edu.log.version_counter import VersionCounter
from kafka_edu.protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_edu.record.control_record import read_end_transaction_marker
from kafka_edu.record.record_batch import (
    CONTROL_BIT,
    HEADER_START,
    LOG_OVERHEAD,
    MAGIC_V2,
    NO_PRODUCER_ID,
    BatchHeader,
    iter_headers,
)
from kafka_edu.trace.event import Level
from kafka_edu.trace.events.log import (
    BatchValidated,
    DuplicateBatch,
    LeaderEpochAssigned,
    LogFlushed,
    LogStartOffsetIncremented,
    LogTruncated,
    SegmentAppended,
    SegmentDeleted,
    SegmentRead,
    SegmentRolled,
)
from kafka_edu.trace.events.transaction import (
    AbortedTransactionIndexed,
    BatchFenced,
    LastStableOffsetMoved,
    TransactionOpened,
)
from kafka_edu.trace.tracer import Tracer

NO_LOG_APPEND_TIME: Final = -1
_NOTHING: Final = b""


class Log:
    """The log of one partition on this broker. The function `load_log` makes it.

    `directory` is the folder of its files, and `log_dir` is the folder that contains `directory`.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        log_dir: str,
        directory: str,
        file_system: FileSystem,
        config: LogConfig,
        segments: Sequence[LogSegment],
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        leader_epoch_cache: LeaderEpochFileCache,
        producer_state_manager: ProducerStateManager,
    ) -> None:
        self.topic_partition = topic_partition
        self.log_dir = log_dir
        self.directory = directory
        self.config = config
        self.log_start_offset = log_start_offset
        """The first offset that can be read. The first segment may begin at a lower offset."""
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        """All records below this offset are certainly on the disk."""
        self._rule = RecoveryRule()
        self.deleted_segments: list[LogSegment] = []
        """Segments whose files are renamed to `.deleted`. The log manager takes them from this list
        and removes their files later.
        """
        self.unrenamed_segments: list[LogSegment] = []
        """Segments that do not belong to the log any more, but whose files are not renamed yet. A
        worker of the log manager does that. Ascending, and below the log's first segment.
        """
        self._replaced: list[tuple[LogSegment, tuple[LogSegment, ...]]] = []
        """(compacted segment, segments that it replaces), as long as the files are not renamed
        yet.
        """
        self._renaming = threading.Lock()
        self.version = VersionCounter()
        """The counter of changes that a reader could notice. Shared with the Partition, once it has
        attached this log.
        """
        self.flush_wanted = False
        """Whether a segment was closed that may not be on the disk yet."""
        self.last_flushed_ms = 0
        self.closed = False
        self._file_system = file_system
        self._segments = LogSegments(segments)
        self._trace: Tracer | None = None
        self._note: Callable[[], None] | None = None
        self._random: Random | None = None
        self._roll_jitter_ms = 0
        """The active segment rolls this many ms before segment.ms is over. Less than
        segment.jitter.ms.
        """
        self._on_disk_failure: Callable[[str, OSError], None] | None = None
        self.high_watermark = log_start_offset
        """The HW: the same offset as in `high_watermark_metadata`, because every request reads
        it.
        """
        self.high_watermark_metadata = LogOffsetMetadata(log_start_offset)
        """The HW, with its place in the segments if that is known. Retention deletes no segment
        that reaches above the HW.
        """
        self.last_stable_offset = log_start_offset
        self.leader_epoch_cache = leader_epoch_cache
        self.producer_state_manager = producer_state_manager
        self.epochs_wanted = False
        """Whether the file of leader epochs lacks an epoch that has records in the log.

        If so, a worker of the log manager writes the file.
        """
        self._held_back_at: int | None = None
        """The LSO if an open transaction holds it below the HW, else None."""
        self._check_offsets()

    def watch(
        self,
        trace: Tracer | None,
        note: Callable[[], None] | None = None,
        on_disk_failure: Callable[[str, OSError], None] | None = None,
    ) -> None:
        """Set the tracer and two callbacks.

        `note` is called when there are segments to flush, rename or remove, or when the file of
        leader epochs must be written. `on_disk_failure` is called when the disk of this log fails.
        """
        self._trace = trace
        self._note = note
        self._on_disk_failure = on_disk_failure

    def update_config(self, config: LogConfig) -> None:
        """Set the topic's new configuration, which applies to later appends, rolls and deletions.

        Records that are already stored are not changed.
        """
        before, self.config = self.config, config
        self.version.value += 1
        if config.record_version < MAGIC_V2 <= before.record_version:
            self._forget_epochs()

    @property
    def segments(self) -> LogSegments:
        """Return all segments, ascending. The last one is active."""
        return self._segments

    @property
    def active_segment(self) -> LogSegment:
        return self._segments.active

    @property
    def size(self) -> int:
        """Return the number of bytes of batches in all segments. O(segments)."""
        return self._segments.size

    @property
    def latest_epoch(self) -> int:
        """Return the latest leader epoch in the log; -1 if none is known."""
        return self.leader_epoch_cache.latest_epoch

    @property
    def first_unstable_offset(self) -> int | None:
        """Return the first offset of the oldest transaction that is open or whose marker is not
        replicated.

        The last stable offset has to stop there. Return None if nothing holds it back from the high
        watermark. A learner may have replaced this rule.
        """
        return self.producer_state_manager.first_unstable(self.high_watermark)

    @property
    def log_end_offset_metadata(self) -> LogOffsetMetadata:
        """Return the LEO with the place where the next batch will be written. O(1)."""
        active = self._segments.active
        return LogOffsetMetadata(self.log_end_offset, active.base_offset, active.log.size())

    def _keep_state(self, end: int) -> None:
        """Write a snapshot of the producer state at offset `end`, before a segment or the log is
        closed.
        """
        self.producer_state_manager.map_end_offset = end
        self.producer_state_manager.take_snapshot()

    def _check_offsets(self) -> None:
        assert (
            self.log_start_offset
            <= self.last_stable_offset
            <= self.high_watermark
            <= self.log_end_offset
        ), self._offsets()
        assert self.recovery_point <= self.log_end_offset, self._offsets()

    def _offsets(self) -> str:
        start, point, hw, end = (
            self.log_start_offset,
            self.recovery_point,
            self.high_watermark,
            self.log_end_offset,
        )
        return (
            f"{self.topic_partition}: log start {start}, recovery point {point}, LSO"
            f" {self.last_stable_offset}, HW {hw}, LEO {end}"
        )

    def _storage_error(self, error: OSError) -> KafkaException:
        if self._on_disk_failure is not None:
            self._on_disk_failure(self.log_dir, error)
        return KafkaException(
            Errors.KAFKA_STORAGE_ERROR, f"{self.topic_partition} in {self.log_dir}: {error}"
        )

    @contextmanager
    def storage(self) -> Iterator[None]:
        """Turn an OSError in the `with` block into KAFKA_STORAGE_ERROR, and take the log dir
        offline.

        Use it for rare calls only, because it takes 1 µs.
        """
        try:
            yield
        except OSError as error:
            raise self._storage_error(error) from error

    def append_as_leader(
        self,
        records: Buffer,
        leader_epoch: int,
        now_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> LogAppendInfo:
        """Check the records, give them the next offsets, and write them.

        O(1) except for the CRC, the write, and unpacking or checking the records. If there is no
        whole batch (only Produce v0–2 may send that), both offsets in the result are -1. For a
        duplicate they are the offsets of the batch that was written before. Only a coordinator may
        write a control batch, and only the epochs of a control batch are checked. Raises the errors
        of LogValidator and ProducerStateManager, RECORD_LIST_TOO_LARGE if the batch is larger than
        segment.bytes, and KAFKA_STORAGE_ERROR.
        """
        config = self.config
        if config.record_version < MAGIC_V2:
            return self._append_in_old_format(records, now_ms, origin)
        batch = validate(records, self.topic_partition, config, now_ms, origin)
        if batch is None:
            return LogAppendInfo(-1, -1, -1, NO_LOG_APPEND_TIME, self.log_start_offset)
        header = batch.header
        if header.attributes & CONTROL_BIT:
            self.producer_state_manager.check_marker(header, read_end_transaction_marker(records))
        elif header.producer_id != NO_PRODUCER_ID:
            duplicate = self._check_producer(header, origin)
            if duplicate is not None:
                if self._trace is not None:
                    topic, partition = self.topic_partition
                    self._trace(
                        DuplicateBatch(
                            topic=topic,
                            partition=partition,
                            producer_id=header.producer_id,
                            producer_epoch=header.producer_epoch,
                            base_sequence=header.base_sequence,
                            first_offset=duplicate.first_offset,
                        )
                    )
                return LogAppendInfo(
                    duplicate.first_offset,
                    duplicate.last_offset,
                    duplicate.timestamp,
                    duplicate.timestamp,
                    self.log_start_offset,
                    duplicate=True,
                )
        return self._append_batch(batch, leader_epoch, now_ms)

    def _check_producer(self, header: BatchHeader, origin: AppendOrigin) -> BatchMetadata | None:
        """Check the batch of a producer with an id, as ProducerStateManager.check does."""
        manager = self.producer_state_manager
        try:
            return manager.check(header, origin)
        except KafkaException as refused:
            known = manager.producers.get(header.producer_id)
            is_fenced = refused.error is Errors.INVALID_PRODUCER_EPOCH
            if is_fenced and known is not None and self._trace is not None:
                self._trace(
                    BatchFenced(
                        topic=self.topic_partition.topic,
                        partition=self.topic_partition.partition,
                        producer_id=header.producer_id,
                        producer_epoch=header.producer_epoch,
                        current_epoch=known.producer_epoch,
                        base_sequence=header.base_sequence,
                    )
                )
            raise

    def _append_in_old_format(
        self, records: Buffer, now_ms: int, origin: AppendOrigin
    ) -> LogAppendInfo:
        """Append the records as messages of format v0 or v1, for a message.format.version below
        0.11.

        These formats have no producer ids and no leader epochs.
        """
        first_offset = self.log_end_offset
        converted = validate_for_old_format(
            records, self.topic_partition, self.config, now_ms, origin, first_offset
        )
        if converted is None:
            return LogAppendInfo(-1, -1, -1, NO_LOG_APPEND_TIME, self.log_start_offset)
        stored, count = converted
        info = self._append_entries(memoryview(stored), list(iter_headers(stored)), now_ms)
        assert self.log_end_offset == first_offset + count, self._offsets()
        return info._replace(
            first_offset=first_offset,
            log_append_time=now_ms if self.config.log_append_time else NO_LOG_APPEND_TIME,
        )

    def _append_batch(self, batch: ValidBatch, leader_epoch: int, now_ms: int) -> LogAppendInfo:
        header, head, rest, max_timestamp, rebuilt = batch
        size = header.batch_length + LOG_OVERHEAD
        base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        HEADER_START.pack_into(head, 0, base_offset, header.batch_length, leader_epoch)
        if leader_epoch > self.leader_epoch_cache.latest_epoch:
            self.maybe_assign_epoch_start_offset(leader_epoch, base_offset)
        segment = self._segment_for(size, max_timestamp, base_offset, last_offset, now_ms)
        trace = self._trace
        hops = trace is not None and trace.hops
        if hops and trace is not None:
            topic, partition = self.topic_partition
            trace(
                BatchValidated(
                    topic=topic,
                    partition=partition,
                    records=header.records_count,
                    size=size,
                    rebuilt=rebuilt,
                )
            )
        entries = segment.offset_index.entries
        try:
            position = segment.append((head, rest), base_offset, last_offset, max_timestamp)
        except OSError as error:
            raise self._storage_error(error) from error
        self.log_end_offset = last_offset + 1
        self.version.value += 1
        if header.producer_id != NO_PRODUCER_ID:
            self._note_producer(
                segment, header, base_offset, max_timestamp, (head, rest), now_ms, leads=True
            )
        self.producer_state_manager.map_end_offset = last_offset + 1
        if hops and trace is not None:
            indexed = segment.offset_index.entries > entries
            trace(
                SegmentAppended(
                    topic=topic,
                    partition=partition,
                    first_offset=base_offset,
                    last_offset=last_offset,
                    segment_base_offset=segment.base_offset,
                    position=position,
                    size=size,
                    indexed=indexed,
                )
            )
        if last_offset + 1 - self.recovery_point >= self.config.flush_messages:
            self.flush(now_ms)
        return LogAppendInfo(
            base_offset,
            last_offset,
            max_timestamp,
            max_timestamp if self.config.log_append_time else NO_LOG_APPEND_TIME,
            self.log_start_offset,
            size,
        )

    def _note_producer(
        self,
        segment: LogSegment,
        header: BatchHeader,
        base_offset: int,
        max_timestamp: int,
        parts: Sequence[Buffer],
        now_ms: int,
        *,
        leads: bool,
    ) -> None:
        manager, trace = self.producer_state_manager, self._trace
        aborted = manager.note(header, base_offset, max_timestamp, lambda: b"".join(parts), now_ms)
        if (
            trace is not None
            and (leads or trace.hops)
            and manager.has_opened(header.producer_id, base_offset)
        ):
            trace(
                TransactionOpened(
                    topic=self.topic_partition.topic,
                    partition=self.topic_partition.partition,
                    producer_id=header.producer_id,
                    producer_epoch=header.producer_epoch,
                    first_offset=base_offset,
                ),
                Level.STATE if leads else Level.HOPS,
            )
        if aborted is not None:
            with self.storage():
                segment.txn_index.append(aborted)
            if self._trace is not None:
                self._trace(
                    AbortedTransactionIndexed(
                        topic=self.topic_partition.topic,
                        partition=self.topic_partition.partition,
                        producer_id=aborted.producer_id,
                        first_offset=aborted.first_offset,
                        last_offset=aborted.last_offset,
                        last_stable_offset=aborted.last_stable_offset,
                    )
                )

    def append_as_follower(self, records: Buffer, now_ms: int) -> LogAppendInfo:
        """Append the batches that the leader sent, unchanged, in one write. O(batches).

        The batches keep the leader's offsets and epochs. If the end of the last batch is missing,
        this batch is left out. Raises CORRUPT_MESSAGE if a checksum is wrong, and
        OFFSET_OUT_OF_RANGE if a batch begins below the LEO.
        """
        view = memoryview(records)
        batches = check_leader_batches(view, self.log_end_offset)
        if not batches:
            return LogAppendInfo(-1, -1, -1, NO_LOG_APPEND_TIME, self.log_start_offset)
        return self._append_entries(view, batches, now_ms)

    def _append_entries(
        self, view: memoryview, batches: Sequence[tuple[int, BatchHeader]], now_ms: int
    ) -> LogAppendInfo:
        """Write batches that already have their offsets, in one call."""
        max_timestamp = max(header.max_timestamp for _, header in batches)
        position, header = batches[-1]
        size = position + header.batch_length + LOG_OVERHEAD
        first_offset, last_offset = batches[0][1].base_offset, header.last_offset
        # In formats v0 and v1, a message with compressed records does not name their first offset.
        # So a new segment begins at the LEO, or low enough that the last offset still fits into an
        # index entry.
        is_known = batches[0][1].magic == MAGIC_V2
        begins_at = first_offset if is_known else last_offset - MAX_RELATIVE_OFFSET
        segment = self._segment_for(size, max_timestamp, begins_at, last_offset, now_ms)
        latest_epoch = self.leader_epoch_cache.latest_epoch
        for _, header in batches:
            if (
                header.magic < MAGIC_V2 and latest_epoch >= 0
            ):  # older message format: the epochs are no longer complete
                self._forget_epochs()
                latest_epoch = -1
            if header.partition_leader_epoch > latest_epoch:
                self.maybe_assign_epoch_start_offset(
                    header.partition_leader_epoch, header.base_offset
                )
                latest_epoch = header.partition_leader_epoch
        entries = segment.offset_index.entries
        try:
            at = segment.append_batches(view[:size], batches)
        except OSError as error:
            raise self._storage_error(error) from error
        self.log_end_offset = last_offset + 1
        self.version.value += 1
        for position, header in batches:
            if header.producer_id != NO_PRODUCER_ID:
                end = position + header.batch_length + LOG_OVERHEAD
                self._note_producer(
                    segment,
                    header,
                    header.base_offset,
                    header.max_timestamp,
                    (view[position:end],),
                    now_ms,
                    leads=False,
                )
        self.producer_state_manager.map_end_offset = last_offset + 1
        trace = self._trace
        if trace is not None and trace.hops:
            topic, partition = self.topic_partition
            indexed = segment.offset_index.entries > entries
            trace(
                SegmentAppended(
                    topic=topic,
                    partition=partition,
                    first_offset=first_offset,
                    last_offset=last_offset,
                    segment_base_offset=segment.base_offset,
                    position=at,
                    size=size,
                    indexed=indexed,
                )
            )
        if last_offset + 1 - self.recovery_point >= self.config.flush_messages:
            self.flush(now_ms)
        return LogAppendInfo(
            first_offset,
            last_offset,
            max_timestamp,
            NO_LOG_APPEND_TIME,
            self.log_start_offset,
            size,
        )

    def _segment_for(
        self, size: int, max_timestamp: int, first_offset: int, last_offset: int, now_ms: int
    ) -> LogSegment:
        """Return the active segment, or a new one if the active segment cannot take the batch."""
        config, active = self.config, self._segments.active
        if size > config.segment_bytes:
            raise KafkaException(
                Errors.RECORD_LIST_TOO_LARGE,
                f"Message batch size is {size} bytes, above the maximum segment size of"
                f" {config.segment_bytes}.",
            )
        try:
            reason = self.roll_reason(size, max_timestamp, last_offset, now_ms)
        except OSError as error:
            raise self._storage_error(error) from error
        if reason is None:
            return active
        return self.roll(now_ms, reason, first_offset)

    def roll_reason(
        self, size: int, max_timestamp: int, last_offset: int, now_ms: int
    ) -> str | None:
        """Return why the active segment cannot take a batch of `size` bytes; None if it can.

        Raises OSError.
        """
        return self._segments.active.should_roll(
            size, max_timestamp, last_offset, now_ms, self.config.segment_bytes, self.roll_ms
        )

    def roll(self, now_ms: int, reason: str = "asked for", expected_offset: int = 0) -> LogSegment:
        """Close the active segment and create a new one at the LEO, or at `expected_offset` if that
        is higher.

        The log manager flushes the closed segment later.
        """
        new_base = max(expected_offset, self.log_end_offset)
        closed = self._segments.active
        if new_base == closed.base_offset:
            if closed.size:
                raise AssertionError(f"{self.topic_partition}: a second segment at {new_base}")
            with self.storage():
                closed.begin(self.config.segment_index_bytes)
            return closed
        with self.storage():
            closed.on_become_inactive()
            self._keep_state(new_base)
            segment = self._new_segment(new_base, now_ms)
        self._segments.append(segment)
        self.version.value += 1
        self._draw_roll_jitter()
        self.flush_wanted = True
        if self._trace is not None:
            topic, partition = self.topic_partition
            self._trace(
                SegmentRolled(
                    topic=topic,
                    partition=partition,
                    base_offset=new_base,
                    reason=reason,
                    closed_base_offset=closed.base_offset,
                    closed_bytes=closed.size,
                )
            )
        if self._note is not None:
            self._note()
        return segment

    def _new_segment(self, base_offset: int, now_ms: int) -> LogSegment:
        segment = LogSegment(
            self._file_system, self.directory, base_offset, self.config.index_interval_bytes, now_ms
        )
        segment.begin(self.config.segment_index_bytes)
        return segment

    @property
    def roll_ms(self) -> int:
        """Return how many ms of record time the active segment may span before it rolls."""
        return self.config.max_segment_ms - self._roll_jitter_ms

    def jitter_rolls(self, random: Random) -> None:
        """Use `random` for the roll jitter of the active segment and of all later ones
        (segment.jitter.ms).
        """
        self._random = random
        self._draw_roll_jitter()

    def _draw_roll_jitter(self) -> None:
        """Draw the roll jitter of the new segment.

        The segment keeps it even when the configuration changes (Kafka: LogSegment.rollJitterMs).
        """
        most = min(self.config.segment_jitter_ms, self.config.segment_ms)
        self._roll_jitter_ms = (
            self._random.randrange(most) if self._random is not None and most > 0 else 0
        )

    def read(
        self,
        start_offset: int,
        max_length: int,
        *,
        max_offset: int | None = None,
        min_one_message: bool = False,
    ) -> FetchDataInfo:
        """Return the part of one segment that begins with the batch containing `start_offset`.

        The part has at most `max_length` bytes, and no record at or above the offset `max_offset`
        (the HW or LSO). The first batch may begin below `start_offset`, and the last batch may be
        cut off. With `min_one_message` the first batch is never cut off, however large it is.
        Raises OFFSET_OUT_OF_RANGE. If there is something to read, a negative `max_length` raises
        UNKNOWN_SERVER_ERROR, as in Kafka. Takes about 1 µs at the end of the log, and 10 µs
        elsewhere for the index and one or two headers. Records are not read.
        """
        log_end = self.log_end_offset
        if not self.log_start_offset <= start_offset <= log_end:
            raise KafkaException(
                Errors.OFFSET_OUT_OF_RANGE,
                f"{self.topic_partition} has offsets {self.log_start_offset} to {log_end}, and not"
                f" {start_offset}",
            )
        limit = log_end if max_offset is None or max_offset > log_end else max_offset
        if start_offset >= limit:
            return FetchDataInfo(self.convert_to_offset_metadata(start_offset), _NOTHING)
        if max_length < 0:
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR,
                f"Invalid max size {max_length} for log read from {self.topic_partition}",
            )
        try:
            found = self._segments.read(start_offset, max_length, limit, log_end, min_one_message)
        except OSError as error:
            raise self._storage_error(error) from error
        if found is None:
            return FetchDataInfo(self.log_end_offset_metadata, _NOTHING)
        segment, data = found
        trace = self._trace
        if trace is not None and trace.hops:
            topic, partition = self.topic_partition
            place = data.fetch_offset_metadata
            trace(
                SegmentRead(
                    topic=topic,
                    partition=partition,
                    start_offset=start_offset,
                    segment_base_offset=segment.base_offset,
                    position=place.relative_position_in_segment,
                    size=part_size(data.records),
                )
            )
        return data

    def aborted_transactions(self, start_offset: int, data: FetchDataInfo) -> list[AbortedTxn]:
        """Return the aborted transactions that overlap the records `data`, which `read` returned
        for `start_offset`.

        Because the index is sparse, some of these transactions may lie a little after the records.
        Raises CorruptIndexError.
        """
        with self.storage():
            return self._segments.aborted_transactions(
                start_offset, data, self.log_end_offset, self.producer_state_manager.stable
            )

    def convert_to_offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """Return the offset with the place (segment and position) where its batch begins. For the
        LEO, return the place of the log's end.

        Raises OFFSET_OUT_OF_RANGE. O(1) for recent batches.
        """
        if offset == self.log_end_offset:
            return self.log_end_offset_metadata
        if not self.log_start_offset <= offset < self.log_end_offset:
            raise KafkaException(
                Errors.OFFSET_OUT_OF_RANGE, f"{self.topic_partition} does not have offset {offset}"
            )
        with self.storage():
            return self._segments.locate(offset) or self.log_end_offset_metadata

    def fetch_offset_by_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """Return the first record whose timestamp is `timestamp` or later; None if there is no such
        record.

        -2 asks for the log's start, -1 for its end. The search takes two binary searches and a walk
        over some batches. Raises UNSUPPORTED_FOR_MESSAGE_FORMAT if the topic stores format v0,
        whose messages have no timestamps.
        """
        if timestamp == EARLIEST_TIMESTAMP:
            return TimestampOffset(
                -1,
                self.log_start_offset,
                self.leader_epoch_cache.epoch_for_offset(self.log_start_offset),
            )
        if timestamp == LATEST_TIMESTAMP:
            return TimestampOffset(-1, self.log_end_offset, self.latest_epoch)
        if self.config.record_version == 0:
            raise KafkaException(
                Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT,
                "Cannot search offsets based on timestamp because message format version for"
                f" partition {self.topic_partition} is"
                f" {self.config.values['message.format.version']} which is earlier than the minimum"
                " required version 0.10.0-IV0",
            )
        with self.storage():
            return self._segments.find_by_timestamp(timestamp, self.log_start_offset)

    def maybe_assign_epoch_start_offset(
        self, leader_epoch: int, start_offset: int, *, begins: bool = False
    ) -> None:
        """Record that the leader of `leader_epoch` writes from `start_offset` on.

        A log of an older format keeps no epochs, because its messages do not contain any. A worker
        of the log manager writes the file of epochs soon. With `begins` the epoch has no records
        yet, and the worker writes the file when `write_leader_epochs` is called. Without a log
        manager the file is written now.
        """
        if self.config.record_version < MAGIC_V2:
            return
        epochs = self.leader_epoch_cache
        before = epochs.latest_epoch
        with self.storage():
            epochs.assign(leader_epoch, start_offset, later=self._note is not None)
        self.version.value += 1
        self._note_epochs(has_records=not begins)
        if self._trace is not None and leader_epoch != before:
            topic, partition = self.topic_partition
            self._trace(
                LeaderEpochAssigned(
                    topic=topic,
                    partition=partition,
                    leader_epoch=leader_epoch,
                    start_offset=start_offset,
                )
            )

    def _note_epochs(self, *, has_records: bool) -> None:
        """Notify the log manager if the file of leader epochs must be written."""
        if self._note is not None and self.leader_epoch_cache.unwritten:
            self.epochs_wanted = self.epochs_wanted or has_records
            self._note()

    def _forget_epochs(self) -> None:
        with self.storage():
            self.leader_epoch_cache.clear_and_flush()
        self.version.value += 1

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """Return the largest known epoch not above `leader_epoch`, and where its records end
        (KIP-101).

        Return (-1, -1) if `leader_epoch` is newer than all known epochs.
        """
        return self.leader_epoch_cache.end_offset_for(leader_epoch, self.log_end_offset)

    def update_high_watermark(self, offset: int) -> None:
        """Set the HW to an offset whose place in the segments is not known yet."""
        self.update_high_watermark_metadata(LogOffsetMetadata(offset))

    def update_high_watermark_metadata(self, new: LogOffsetMetadata) -> None:
        """Set the HW. Every change of the HW's offset is made by this method."""
        assert self.log_start_offset <= new.message_offset <= self.log_end_offset, (
            new,
            self._offsets(),
        )
        self.high_watermark_metadata = new
        self.high_watermark = new.message_offset
        self.version.value += 1
        self.producer_state_manager.on_high_watermark_updated(new.message_offset)
        self._update_last_stable_offset()

    def locate_high_watermark(self) -> LogOffsetMetadata:
        """Look up the place of the HW in the segments. Store it, and return the HW with its
        place.
        """
        self.high_watermark_metadata = self.convert_to_offset_metadata(self.high_watermark)
        return self.high_watermark_metadata

    def _keep_high_watermark_within(self, start: int, end: int) -> None:
        """Raise or lower the HW so that it lies between the log's new start and end.

        The LSO is updated in any case, because it depends on start and end too.
        """
        hw = self.high_watermark_metadata
        within = max(min(hw.message_offset, end), start)
        self.update_high_watermark_metadata(
            hw if within == hw.message_offset else LogOffsetMetadata(within)
        )

    def _update_last_stable_offset(self) -> None:
        """Compute the LSO again, because the HW, the oldest transaction or the log start has
        changed.

        O(1) if there is no transaction.
        """
        high_watermark = self.high_watermark
        unstable = self.producer_state_manager.first_unstable(high_watermark)
        stable = (
            high_watermark
            if unstable is None or unstable >= high_watermark
            else max(unstable, self.log_start_offset)
        )
        before, self.last_stable_offset = self.last_stable_offset, stable
        trace = self._trace
        if (
            trace is not None
            and stable != before
            and (stable != high_watermark or before == self._held_back_at or trace.hops)
        ):
            held_back = stable != high_watermark or before == self._held_back_at
            trace(
                LastStableOffsetMoved(
                    topic=self.topic_partition.topic,
                    partition=self.topic_partition.partition,
                    from_offset=before,
                    to_offset=stable,
                    high_watermark=high_watermark,
                ),
                Level.STATE if held_back else Level.HOPS,
            )
        self._held_back_at = stable if stable < high_watermark else None

    def delete_old_segments(self, now_ms: int) -> int:
        """Delete the segments that retention allows (`deletable_segments`), and return their
        number.

        If all segments are to be deleted, a new segment is created first. O(segments).
        """
        with self.storage():
            reasons = self.deletion_reasons(now_ms)
        if reasons:
            if len(reasons) == len(self._segments):
                self.roll(now_ms, reasons[-1])
            later = self._note is not None
            self._delete_segments(self._segments[: len(reasons)], reasons, later=later)
            self._increment_log_start_offset(max(self.log_start_offset, self._segments.first_base))
        return len(reasons)

    def deletion_reasons(self, now_ms: int) -> list[str]:
        """Return why retention deletes the oldest segments, one reason for each. Raises OSError."""
        return deletable_segments(
            self._segments,
            self.log_start_offset,
            self.high_watermark,
            self.log_end_offset,
            self.config,
            now_ms,
        )

    def _delete_segments(
        self, segments: Sequence[LogSegment], reasons: Sequence[str], *, later: bool = False
    ) -> None:
        """Remove segments from the log and rename their files to `.deleted`.

        With `later` a worker of the log manager renames them. The log manager removes the files
        after file.delete.delay.ms.
        """
        gone = list(segments)
        self._segments.remove(gone)
        self.unrenamed_segments += gone
        if not later:
            with self.storage():
                self.rename_deleted_segments()
        if self._trace is not None:
            for segment, reason in zip(gone, reasons, strict=True):
                self._trace(
                    SegmentDeleted(
                        topic=self.topic_partition.topic,
                        partition=self.topic_partition.partition,
                        base_offset=segment.base_offset,
                        size=segment.size,
                        reason=reason,
                    )
                )
        if self._note is not None:
            self._note()

    def rename_deleted_segments(self) -> None:
        """Rename the files of removed segments to `.deleted`, the oldest segment first.

        Because of this order, a kill between two renames leaves no gap in the log. Raises OSError.
        May be called from any thread.
        """
        while self.unrenamed_segments:
            with self._renaming:
                if not self.unrenamed_segments or self.closed:
                    return
                segment = self.unrenamed_segments[0]
                segment.change_suffix(DELETED_SUFFIX)
                self.deleted_segments.append(segment)
                del self.unrenamed_segments[0]

    def rename_dir(self, directory: str) -> None:
        """Rename the log's folder before returning (Kafka: Log.renameDir).

        Readers and writers continue to use the files that they have open. If a worker opens a file
        by its old path at that moment, it gets FileNotFoundError, and the log manager repeats the
        worker's task. Raises KAFKA_STORAGE_ERROR.
        """
        epochs = self.leader_epoch_cache
        with self.storage(), self._renaming, epochs.writing:
            self._file_system.rename(self.directory, directory)
            self.directory = directory
            for segment in (*self._segments, *self.unrenamed_segments, *self.deleted_segments):
                segment.moved_to(directory)
            epochs.moved_to(f"{directory}/{LEADER_EPOCH_CHECKPOINT}")
            self.producer_state_manager.moved_to(directory)

    def take_over(self, replaced: "Log") -> None:
        """Take over the high watermark, the log start and the last epochs of the log `replaced`.

        This log is a copy of `replaced`, and takes its place. Both logs end at the same offset.

        A copy learns epochs only from records. If the leader of the last epoch has not written any
        record yet, the copy lacks this epoch.
        """
        self.update_high_watermark(replaced.high_watermark)
        self._increment_log_start_offset(replaced.log_start_offset)
        for epoch, start_offset in replaced.leader_epoch_cache.entries:
            if epoch > self.latest_epoch:
                self.maybe_assign_epoch_start_offset(epoch, start_offset)

    def replace_segments(self, gone: Sequence[LogSegment], new: LogSegment) -> None:
        """Replace the segments `gone` with the compacted segment `new`. Reads of the old segments
        that have begun continue.

        The files keep their names until `settle_replaced_segments`. If the broker is killed before
        that, the log has the old segments again, and no record is lost.
        """
        self._segments.replace(gone, new)
        self._replaced.append((new, tuple(gone)))
        self.version.value += 1

    def settle_replaced_segments(self) -> None:
        """Rename the files of compacted segments to their final names, and those of the replaced
        segments to `.deleted`.

        Raises OSError. May be called from any thread.
        """
        while self._replaced:
            with self._renaming:
                if not self._replaced or self.closed:
                    return
                new, gone = self._replaced[0]
                new.change_suffix(SWAP_SUFFIX)  # from now on a starting broker uses the new one
                for segment in gone:
                    segment.change_suffix(DELETED_SUFFIX)
                    self.deleted_segments.append(segment)
                new.change_suffix("")
                del self._replaced[0]

    def note_deleted_segments(self) -> None:
        """Notify the log manager that files of deleted segments must be removed."""
        if self._note is not None:
            self._note()

    @property
    def first_base_on_disk(self) -> int:
        """Return the offset at which the log would start if the process died now.

        The result is the base offset of the first segment whose files are not renamed to
        `.deleted`.
        """
        for segment in self.unrenamed_segments[:1]:
            return segment.base_offset
        return self._segments.first_base

    def maybe_increment_log_start_offset(self, new_start: int) -> bool:
        """Raise the log start offset to `new_start`. Return False if it was not below `new_start`.

        So the records below `new_start` are deleted, for a DeleteRecords request or because the
        leader's log starts there. Raises OFFSET_OUT_OF_RANGE if `new_start` is above the HW.
        """
        if new_start > self.high_watermark:
            raise KafkaException(
                Errors.OFFSET_OUT_OF_RANGE,
                f"{self.topic_partition} cannot start at {new_start}, above the high watermark"
                f" {self.high_watermark}",
            )
        return self._increment_log_start_offset(new_start)

    def _increment_log_start_offset(self, new_start: int) -> bool:
        before = self.log_start_offset
        if new_start <= before:
            return False
        self.log_start_offset = new_start
        self._keep_high_watermark_within(new_start, self.log_end_offset)
        self.recovery_point = self._rule.after_deletion(self.recovery_point, new_start)
        with self.storage():
            self.leader_epoch_cache.truncate_from_start(new_start, later=self._note is not None)
        self._note_epochs(has_records=True)
        if self._trace is not None:
            topic, partition = self.topic_partition
            self._trace(
                LogStartOffsetIncremented(
                    topic=topic, partition=partition, from_offset=before, to_offset=new_start
                )
            )
        self._check_offsets()
        return True

    def truncate_to(self, offset: int, now_ms: int = 0) -> bool:
        """Cut off the batch that contains `offset` and all later batches. Return False if the log
        has no such batch.

        A follower calls this before it fetches.
        """
        before, size = self.log_end_offset, self.size
        if offset >= before:
            with self.storage():
                self.leader_epoch_cache.truncate_from_end(
                    offset
                )  # removes an epoch that began at the end and has no records
            self.version.value += 1
            return False
        if offset < self._segments.first_base:
            self.truncate_fully_and_start_at(offset, now_ms)
            return True
        self._cut_segments(offset, now_ms)
        self.log_start_offset = min(self.log_start_offset, self.log_end_offset)
        self._after_truncation(now_ms)
        self._tell_truncated(before, size - self.size, False)
        return True

    def _cut_segments(self, offset: int, now_ms: int) -> None:
        """Cut off the batch that contains `offset` and all later batches, in this and later
        segments.

        `offset` must not be below the first segment's base offset. A batch cannot be cut in two: if
        `offset` lies inside one, the whole batch is removed, and the log ends where the remaining
        batches end.
        """
        doomed = self._segments.from_offset(offset)[1:]
        self._delete_segments(doomed, ["truncation"] * len(doomed))
        active = self._segments.active
        with self.storage():
            active.truncate_to(offset, self.config.segment_index_bytes, now_ms)
            self.log_end_offset = active.next_offset()
        assert self.log_end_offset <= offset, (self.topic_partition, self.log_end_offset, offset)

    def truncate_fully_and_start_at(self, offset: int, now_ms: int = 0) -> None:
        """Delete all records. The log is then empty, and its next offset is `offset`."""
        before, size = self.log_end_offset, self.size
        self._replace_segments(offset, now_ms)
        self.log_start_offset = offset
        with self.storage():
            self.leader_epoch_cache.clear_and_flush()
            self.producer_state_manager.truncate_fully_and_start_at(offset)
        self.update_high_watermark(offset)
        self._check_offsets()
        self._tell_truncated(before, size, True)

    def _replace_segments(self, offset: int, now_ms: int) -> None:
        """Delete all segments, and create an empty one that begins at `offset`."""
        self._delete_segments(self._segments, ["truncation"] * len(self._segments))
        with self.storage():
            self._segments.append(self._new_segment(offset, now_ms))
        self.log_end_offset = self.recovery_point = offset

    def _after_truncation(self, now_ms: int) -> None:
        end = self.log_end_offset
        self.recovery_point = self._rule.after_truncation(self.recovery_point, end)
        with self.storage():
            self.leader_epoch_cache.truncate_from_end(end)
            load_producers(
                self.producer_state_manager, self._segments, self.log_start_offset, end, now_ms
            )
        self._tell_dropped_snapshots()
        self._keep_high_watermark_within(self.log_start_offset, end)
        self._check_offsets()

    def _tell_dropped_snapshots(self) -> None:
        dropped = self.producer_state_manager.dropped
        if dropped and self._trace is not None:
            repairs = LogRepairs(self.topic_partition, self.log_dir)
            repairs.add_snapshots(dropped)
            for repair in repairs.found:
                self._trace(repair)
        dropped.clear()

    def _tell_truncated(self, before: int, removed: int, fully: bool) -> None:
        if self._trace is not None:
            topic, partition = self.topic_partition
            self._trace(
                LogTruncated(
                    topic=topic,
                    partition=partition,
                    from_offset=before,
                    to_offset=self.log_end_offset,
                    bytes=removed,
                    fully=fully,
                )
            )

    def unflushed_segments(self) -> list[LogSegment]:
        """Return the segments that contain records after the recovery point."""
        return self._segments.from_offset(self.recovery_point)

    def flushed(self, up_to: int, now_ms: int) -> None:
        """Record that all records below `up_to` are certainly on the disk."""
        self.last_flushed_ms = now_ms
        self.flush_wanted = False
        before = self.recovery_point
        point = self._rule.after_flush(before, up_to, self.log_end_offset)
        if point != before:
            self.recovery_point = point
            if self._trace is not None:
                topic, partition = self.topic_partition
                self._trace(LogFlushed(topic=topic, partition=partition, recovery_point=point))

    def flush(self, now_ms: int = 0) -> None:
        """Force the whole log to the disk now. Blocks.

        The log manager does not call this: it lets a worker flush, between `unflushed_segments` and
        `flushed`.
        """
        end = self.log_end_offset
        with self.storage():
            for segment in self.unflushed_segments():
                segment.flush()
            self.leader_epoch_cache.flush()
        self.flushed(end, now_ms)

    def close(self) -> None:
        """Close the log properly, so that it needs no recovery at the broker's next start.

        Rename the files of deleted segments, write the file of epochs and the snapshot of the
        producers, cut the indexes to their entries, and close all files.
        """
        if not self.closed:
            self.rename_deleted_segments()
            self.leader_epoch_cache.flush()
            self.closed = True
            self._keep_state(self.log_end_offset)
            for segment in self._segments:
                segment.close()

    def release_indexes(self) -> None:
        """Unmap the indexes, because this log is not read or written any more."""
        for segment in self._segments:
            segment.release_indexes()

    def close_handlers(self) -> None:
        """Close the files without writing, because the disk has failed or the folder will be
        deleted.
        """
        if not self.closed:
            self.closed = True
            for segment in (*self._segments, *self.unrenamed_segments):
                segment.close_handlers()
