"""This broker's replica of a partition, as those see it who read it (Kafka: the local one of
Replica.scala; since 2.4 within Partition.scala).

Whoever reads, consumer or follower, says by which leader epoch it does, and is fenced if that is
not the replica's (KIP-320). A follower, which must have all, may read to the log's end; a consumer
to the high watermark, or with read_committed to the last stable offset (`FetchIsolation`).

Who leads, what the followers have and where the high watermark so belongs is `Partition`'s, which
is a LocalReplica: no call more for a read.
"""

from kafka_edu.cluster.leader_and_isr import NO_LEADER
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_size
from kafka_edu.log.fetch_data_info import TimestampOffset
from kafka_edu.log.leader_epoch_file_cache import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
from kafka_edu.log.log import Log
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.log.transaction_index import AbortedTxn
from kafka_edu.log.version_counter import VersionCounter
from kafka_edu.protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_edu.replication.fetch_params import NO_LEADER_EPOCH, FetchIsolation
from kafka_edu.replication.log_read_result import (
    EMPTY_RECORDS,
    NO_VERSION,
    EpochAndOffset,
    LogReadResult,
)
from kafka_edu.trace.event import Level
from kafka_edu.trace.events.replication import HighWatermarkAdvanced
from kafka_edu.trace.tracer import Tracer


class LocalReplica:
    """Its log, its high watermark, and the leadership by which it is read. Its role is told by
    Partition.
    """

    def __init__(
        self, topic_partition: TopicPartition, broker_id: int, trace: Tracer | None
    ) -> None:
        self.topic_partition = topic_partition
        self.broker_id = broker_id
        self._trace = trace
        self.version = VersionCounter()
        """Moved by each change that a reader could notice."""
        self.log: Log | None = None
        self.high_watermark = LogOffsetMetadata(0)
        self.leader = NO_LEADER
        self.leader_epoch = -1
        self.role_told = 0
        """The number of the BecameLeader or BecameFollower that gave it its role, 0 if nobody
        watches.
        """
        self.high_watermark_told = 0
        """The number of the last HighWatermarkAdvanced, 0 if the last move was not told."""
        self.high_watermark_before = 0
        self.leader_epoch_start_offset = -1
        """The leader's LEO when its epoch began; -1 on a follower."""

    @property
    def is_leader(self) -> bool:
        return self.leader == self.broker_id

    @property
    def log_start_offset(self) -> int:
        """Of the local log; -1 without one."""
        return self.log.log_start_offset if self.log is not None else -1

    def local_log(self) -> Log:
        """The replica's log, leader or not. Raises REPLICA_NOT_AVAILABLE if there is none."""
        if self.log is None:
            raise KafkaException(
                Errors.REPLICA_NOT_AVAILABLE,
                f"{self.topic_partition} has no replica on broker {self.broker_id}",
            )
        return self.log

    def log_for_request(self, current_leader_epoch: int, only_from_leader: bool) -> Log:
        """The log to serve from, after fencing by epoch (KIP-320).

        Raises FENCED_LEADER_EPOCH (the client knows an older leader), UNKNOWN_LEADER_EPOCH (a newer
        than we do; we shall hear of it), NOT_LEADER_OR_FOLLOWER, REPLICA_NOT_AVAILABLE.
        NO_LEADER_EPOCH is not fenced; a lower one is.
        """
        if current_leader_epoch not in (NO_LEADER_EPOCH, self.leader_epoch):
            older = current_leader_epoch < self.leader_epoch
            raise KafkaException(
                Errors.FENCED_LEADER_EPOCH if older else Errors.UNKNOWN_LEADER_EPOCH
            )
        if only_from_leader and self.leader != self.broker_id:
            raise KafkaException(Errors.NOT_LEADER_OR_FOLLOWER)
        return self.local_log()

    def attach_log(self, log: Log, checkpointed_high_watermark: int) -> None:
        """The local replica's log is there. The HW starts from its checkpoint, moved into the log:
        the checkpoint may be older than a crash.
        """
        self.log = log
        log.version = self.version
        high_watermark = max(
            log.log_start_offset, min(checkpointed_high_watermark, log.log_end_offset)
        )
        self.high_watermark = LogOffsetMetadata(high_watermark)
        log.on_high_watermark_incremented(high_watermark)

    def _set_high_watermark(self, log: Log, new: LogOffsetMetadata) -> None:
        """Door: every move of the high watermark."""
        before, offset = self.high_watermark.message_offset, new.message_offset
        assert log.log_start_offset <= offset <= log.log_end_offset, (
            self.topic_partition,
            log.log_start_offset,
            offset,
            log.log_end_offset,
        )
        self.high_watermark = new
        log.on_high_watermark_incremented(offset)
        self.high_watermark_before = before
        self.high_watermark_told = 0
        trace = self._trace
        if trace is not None and (trace.hops or trace.cause) and offset > before:
            self._tell_high_watermark(trace, trace.level_of_cause)

    def _tell_high_watermark(self, trace: Tracer, level: Level) -> None:
        tp, log = self.topic_partition, self.local_log()
        self.high_watermark_told = trace(
            HighWatermarkAdvanced(
                topic=tp.topic,
                partition=tp.partition,
                leader_epoch=self.leader_epoch,
                before=self.high_watermark_before,
                after=self.high_watermark.message_offset,
                log_end_offset=log.log_end_offset,
                is_leader=self.is_leader,
            ),
            level,
        )

    def high_watermark_metadata(self) -> LogOffsetMetadata:
        """The HW with its place in the segments, found now if it is not known: a follower is told
        the bare offset.
        """
        if self.high_watermark.segment_base_offset < 0:
            self.high_watermark = self.local_log().convert_to_offset_metadata(
                self.high_watermark.message_offset
            )
        return self.high_watermark

    def end_for(self, isolation: FetchIsolation) -> LogOffsetMetadata:
        """Up to where a reader may see, with its place in the segments. O(1) for recent offsets.
        Raises REPLICA_NOT_AVAILABLE.
        """
        log = self.local_log()
        if isolation is FetchIsolation.LOG_END:
            return log.log_end_offset_metadata
        if (
            isolation is FetchIsolation.TXN_COMMITTED
            and log.last_stable_offset < self.high_watermark.message_offset
        ):
            return log.convert_to_offset_metadata(log.last_stable_offset)
        return self.high_watermark_metadata()

    def read_records(
        self,
        fetch_offset: int,
        max_bytes: int,
        *,
        current_leader_epoch: int,
        last_fetched_epoch: int,
        only_from_leader: bool,
        isolation: FetchIsolation,
        min_one_message: bool,
        hard_limit: bool,
    ) -> LogReadResult:
        """Read from the local log.

        A reader whose last epoch (`last_fetched_epoch`, -1: not said) ended earlier here is told
        where, and gets no records. Nothing beyond what `isolation` allows; with TXN_COMMITTED also
        which of it was aborted. Raises what `log_for_request` raises, and OFFSET_OUT_OF_RANGE.
        """
        log = self.log_for_request(current_leader_epoch, only_from_leader)
        high_watermark = self.high_watermark.message_offset
        log_start, log_end, stable = (
            log.log_start_offset,
            log.log_end_offset,
            log.last_stable_offset,
        )
        aborted: tuple[AbortedTxn, ...] | None = (
            () if isolation is FetchIsolation.TXN_COMMITTED else None
        )
        if last_fetched_epoch >= 0:
            epoch, end_offset = log.end_offset_for_epoch(last_fetched_epoch)
            if epoch == UNDEFINED_EPOCH or end_offset == UNDEFINED_EPOCH_OFFSET:
                raise KafkaException(
                    Errors.OFFSET_OUT_OF_RANGE, f"epoch {last_fetched_epoch} is not known here"
                )
            if fetch_offset < log_start:
                raise KafkaException(Errors.OFFSET_OUT_OF_RANGE)
            if epoch < last_fetched_epoch or end_offset < fetch_offset:
                at = LogOffsetMetadata(fetch_offset)
                diverging = EpochAndOffset(epoch, end_offset)
                return LogReadResult(
                    Errors.NONE,
                    EMPTY_RECORDS,
                    0,
                    at,
                    high_watermark,
                    log_start,
                    log_end,
                    stable,
                    diverging,
                    aborted,
                )
        if fetch_offset == log_end:  # as most of a follower's partitions most of the time
            at = log.log_end_offset_metadata
            return LogReadResult(
                Errors.NONE,
                EMPTY_RECORDS,
                0,
                at,
                high_watermark,
                log_start,
                log_end,
                stable,
                None,
                aborted,
                self.version.value if high_watermark == log_end else NO_VERSION,
            )
        max_offset = (
            None
            if isolation is FetchIsolation.LOG_END
            else high_watermark
            if aborted is None
            else stable
        )
        data = log.read(
            fetch_offset, max_bytes, max_offset=max_offset, min_one_message=min_one_message
        )
        records = data.records
        if data.first_entry_incomplete and not hard_limit:
            records = EMPTY_RECORDS
        at, size = data.fetch_offset_metadata, part_size(records)
        if size and aborted is not None:
            aborted = tuple(log.aborted_transactions(fetch_offset, data))
        return LogReadResult(
            Errors.NONE,
            records,
            size,
            at,
            high_watermark,
            log_start,
            log_end,
            stable,
            None,
            aborted,
        )

    def readable_bytes(
        self,
        start: LogOffsetMetadata,
        current_leader_epoch: int,
        only_from_leader: bool,
        isolation: FetchIsolation,
    ) -> int | None:
        """How many bytes lie between `start` and the end that the reader may see, for DelayedFetch.

        None if they lie on different segments: the reader is far behind, or the log was truncated.
        Raises what `log_for_request` raises.
        """
        log = self.log_for_request(current_leader_epoch, only_from_leader)
        offset = start.message_offset
        if (
            offset
            == (
                log.log_end_offset
                if isolation is FetchIsolation.LOG_END
                else self.high_watermark.message_offset
            )
            or offset < 0
        ):
            return 0
        end = self.end_for(isolation)
        if not end.on_same_segment(start):
            return None
        return end.position_diff(start) if offset < end.message_offset else 0

    def last_offset_for_leader_epoch(
        self, current_leader_epoch: int, leader_epoch: int, only_from_leader: bool
    ) -> EpochAndOffset:
        """The largest epoch ≤ `leader_epoch` in our log, and where it ends; (-1, -1) if it is newer
        than any (KIP-101).
        """
        log = self.log_for_request(current_leader_epoch, only_from_leader)
        return EpochAndOffset(*log.end_offset_for_epoch(leader_epoch))

    def fetch_offset_for_timestamp(
        self,
        timestamp: int,
        *,
        current_leader_epoch: int,
        only_from_leader: bool,
        isolation: FetchIsolation,
    ) -> TimestampOffset | None:
        """The first record with this timestamp or a later one; -1 is the end, -2 the start. None if
        there is none (that a consumer may see).

        Nothing beyond what `isolation` allows is found, and its end is the end. Raises
        OFFSET_NOT_AVAILABLE when a new leader's HW has not yet reached the start of its epoch: the
        answer could go backward (KIP-207).
        """
        log = self.log_for_request(current_leader_epoch, only_from_leader)
        last_fetchable = self.end_for(isolation).message_offset
        asks_consumer = isolation is not FetchIsolation.LOG_END
        behind = (
            asks_consumer
            and self.is_leader
            and self.leader_epoch_start_offset > self.high_watermark.message_offset
        )
        if timestamp == LATEST_TIMESTAMP:
            if behind:
                raise KafkaException(Errors.OFFSET_NOT_AVAILABLE)
            return TimestampOffset(-1, last_fetchable, self.leader_epoch)
        found = log.fetch_offset_by_timestamp(timestamp)
        if timestamp == EARLIEST_TIMESTAMP or (found is not None and found.offset < last_fetchable):
            return found
        if behind:
            raise KafkaException(Errors.OFFSET_NOT_AVAILABLE)
        return None
