"""The segments of one log as one file: where it ends, what lies where, when it goes on in another
file (Kafka: LocalLog.scala, since 3.1).

Knows offsets, bytes and files. What the records mean — leaders' epochs, producers, transactions,
what is committed — is `Log`'s, which is a LocalLog. In Kafka it has one; here that would be one
call more for each batch and each fetch.

Owned by its Log. Next hop: LogSegments, then LogSegment.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import FileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_size
from kafka_edu.log.fetch_data_info import FetchDataInfo
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_file_names import DELETED_SUFFIX
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.log.log_segments import LogSegments
from kafka_edu.log.transaction_index import AbortedTxn
from kafka_edu.log.version_counter import VersionCounter
from kafka_edu.trace.events.log import LogFlushed, SegmentDeleted, SegmentRead, SegmentRolled
from kafka_edu.trace.tracer import Tracer

_NOTHING: Final = b""


class LocalLog(ABC):
    """`log_dir` is the folder that holds this log's own, `directory`."""

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
    ) -> None:
        self.topic_partition = topic_partition
        self.log_dir = log_dir
        self.directory = directory
        self.config = config
        self.log_start_offset = log_start_offset
        """Below it nothing is read, though the first segment may hold it. Log moves it."""
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        self.deleted_segments: list[LogSegment] = []
        """Renamed to `.deleted`; the log manager takes them from here and removes them later."""
        self.version = VersionCounter()
        """The partition's, once the log is attached to one."""
        self.flush_wanted = False
        """A segment was rolled and is not on the disk for sure yet."""
        self.last_flushed_ms = 0
        self.closed = False
        self._file_system = file_system
        self._segments = LogSegments(segments)
        self._trace: Tracer | None = None
        self._note: Callable[[], None] | None = None
        self._random: Random | None = None
        self._roll_jitter_ms = 0
        """How much earlier than segment.ms the active segment rolls; below segment.jitter.ms."""
        self._on_disk_failure: Callable[[str, OSError], None] | None = None

    def watch(
        self,
        trace: Tracer | None,
        note: Callable[[], None] | None = None,
        on_disk_failure: Callable[[str, OSError], None] | None = None,
    ) -> None:
        """From now on tell events; tell `note` when there are segments to flush or to remove, or a
        leader's epoch to write down; tell `on_disk_failure` when the disk below fails.
        """
        self._trace = trace
        self._note = note
        self._on_disk_failure = on_disk_failure

    def jitter_rolls(self, random: Random) -> None:
        """Draw a jitter for the active segment and for each one after it (segment.jitter.ms)."""
        self._random = random
        self._draw_roll_jitter()

    def _draw_roll_jitter(self) -> None:
        """A segment keeps its jitter, whatever the configuration becomes (Kafka:
        LogSegment.rollJitterMs).
        """
        most = min(self.config.segment_jitter_ms, self.config.segment_ms)
        self._roll_jitter_ms = (
            self._random.randrange(most) if self._random is not None and most > 0 else 0
        )

    @abstractmethod
    def _keep_state(self, end: int) -> None:
        """Write down, beside the segments, what is known of the records below `end`: a segment or
        the log is about to be closed there.
        """

    @property
    def segments(self) -> LogSegments:
        """All segments, ascending; the last is the active one."""
        return self._segments

    @property
    def active_segment(self) -> LogSegment:
        return self._segments.active

    @property
    def size(self) -> int:
        """Bytes of batches in all segments. O(segments)."""
        return self._segments.size

    @property
    def log_end_offset_metadata(self) -> LogOffsetMetadata:
        """The LEO and where the next batch will lie. O(1)."""
        active = self._segments.active
        return LogOffsetMetadata(self.log_end_offset, active.base_offset, active.log.size())

    def _storage_error(self, error: OSError) -> KafkaException:
        if self._on_disk_failure is not None:
            self._on_disk_failure(self.log_dir, error)
        return KafkaException(
            Errors.KAFKA_STORAGE_ERROR, f"{self.topic_partition} in {self.log_dir}: {error}"
        )

    @contextmanager
    def storage(self) -> Iterator[None]:
        """Turn an OSError of the block into KAFKA_STORAGE_ERROR, and take the log dir offline. For
        what is done rarely: it costs 1 µs.
        """
        try:
            yield
        except OSError as error:
            raise self._storage_error(error) from error

    def _segment_for(
        self, size: int, max_timestamp: int, first_offset: int, last_offset: int, now_ms: int
    ) -> LogSegment:
        """The active segment, or a new one if that cannot take what comes."""
        config, active = self.config, self._segments.active
        if size > config.segment_bytes:
            raise KafkaException(
                Errors.RECORD_LIST_TOO_LARGE,
                f"Message batch size is {size} bytes, above the maximum segment size of"
                f" {config.segment_bytes}.",
            )
        try:
            reason = active.should_roll(
                size,
                max_timestamp,
                last_offset,
                now_ms,
                config.segment_bytes,
                config.segment_ms - self._roll_jitter_ms,
            )
        except OSError as error:
            raise self._storage_error(error) from error
        if reason is None:
            return active
        return self.roll(now_ms, reason, first_offset)

    def roll(self, now_ms: int, reason: str = "asked for", expected_offset: int = 0) -> LogSegment:
        """Close the active segment and begin another at the LEO, or at `expected_offset` if that is
        above. The old one is to be flushed soon.
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

    def _delete_segments(self, segments: Sequence[LogSegment], reasons: Sequence[str]) -> None:
        """Take segments out of the log and rename their files; the log manager removes them after
        file.delete.delay.ms.
        """
        gone = list(segments)
        self._segments.remove(gone)
        for segment, reason in zip(gone, reasons, strict=True):
            with self.storage():
                segment.change_suffix(DELETED_SUFFIX)
            if self._trace is not None:
                self._trace(
                    SegmentDeleted(
                        topic=self.topic_partition.topic,
                        partition=self.topic_partition.partition,
                        base_offset=segment.base_offset,
                        size=segment.size,
                        reason=reason,
                    )
                )
        self.deleted_segments += gone
        if self._note is not None:
            self._note()

    def read(
        self,
        start_offset: int,
        max_length: int,
        *,
        max_offset: int | None = None,
        min_one_message: bool = False,
    ) -> FetchDataInfo:
        """A piece of one segment from the batch that holds `start_offset`, at most `max_length`
        bytes, none of it at `max_offset` (the HW) or above.

        The first batch may begin below `start_offset`, and the last may be cut off. With
        `min_one_message` the first is whole, however large. Raises OFFSET_OUT_OF_RANGE; and, where
        there is something to read, UNKNOWN_SERVER_ERROR for a negative `max_length`, as Kafka does.
        About 1 µs at the end of the log, 10 µs elsewhere: index, a header or two; no record is
        read.
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
        """The aborted transactions that reach into what `read` gave for `start_offset`, or, by the
        sparse index, not far behind. Raises CorruptIndexError.
        """
        with self.storage():
            return self._segments.aborted_transactions(start_offset, data, self.log_end_offset)

    def convert_to_offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """Where `offset` lies: the place of its batch, or of the end of the log. Raises
        OFFSET_OUT_OF_RANGE. O(1) for recent batches.
        """
        if offset == self.log_end_offset:
            return self.log_end_offset_metadata
        if not self.log_start_offset <= offset < self.log_end_offset:
            raise KafkaException(
                Errors.OFFSET_OUT_OF_RANGE, f"{self.topic_partition} does not have offset {offset}"
            )
        with self.storage():
            return self._segments.locate(offset) or self.log_end_offset_metadata

    def _cut_segments(self, offset: int, now_ms: int) -> None:
        """Cut off the batch that holds `offset`, not below the first segment's base, and all behind
        it.

        An offset inside a batch cannot be cut at: all of that batch goes, and the log ends where
        the batches that are left end.
        """
        doomed = self._segments.from_offset(offset)[1:]
        if doomed:
            self._delete_segments(doomed, ["truncation"] * len(doomed))
        active = self._segments.active
        with self.storage():
            active.truncate_to(offset, self.config.segment_index_bytes, now_ms)
            self.log_end_offset = active.next_offset()
        assert self.log_end_offset <= offset, (self.topic_partition, self.log_end_offset, offset)

    def _replace_segments(self, offset: int, now_ms: int) -> None:
        """Drop all segments; one that is empty and begins at `offset` takes their place."""
        self._delete_segments(self._segments, ["truncation"] * len(self._segments))
        with self.storage():
            self._segments.append(self._new_segment(offset, now_ms))
        self.log_end_offset = self.recovery_point = offset

    def unflushed_segments(self) -> list[LogSegment]:
        """Those that hold what lies behind the recovery point."""
        return self._segments.from_offset(self.recovery_point)

    def flushed(self, up_to: int, now_ms: int) -> None:
        """All below `up_to` is on the disk for sure."""
        self.last_flushed_ms = now_ms
        self.flush_wanted = False
        if self.recovery_point < up_to <= self.log_end_offset:
            self.recovery_point = up_to
            if self._trace is not None:
                topic, partition = self.topic_partition
                self._trace(LogFlushed(topic=topic, partition=partition, recovery_point=up_to))

    def close(self) -> None:
        """A clean end: the state kept, indexes trimmed, files closed."""
        if not self.closed:
            self.closed = True
            self._keep_state(self.log_end_offset)
            for segment in self._segments:
                segment.close()

    def close_handlers(self) -> None:
        """Let go of the files as they are: the disk failed, or the folder is to be removed."""
        if not self.closed:
            self.closed = True
            for segment in self._segments:
                segment.close_handlers()
