"""Find offsets by time and by leader epoch (Kafka: ReplicaManager.fetchOffsetForTimestamp,
legacyFetchOffsetsForTimestamp and lastOffsetForLeaderEpoch; Log.legacyFetchOffsetsBefore).
"""

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.fetch_data_info import TimestampOffset
from kafka_edu.log.log import Log
from kafka_edu.protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_edu.replication.fetch_params import (
    CONSUMER_REPLICA_ID,
    DEBUGGING_REPLICA_ID,
    READ_UNCOMMITTED,
    FetchIsolation,
    check_isolation_level,
    fetch_isolation,
)
from kafka_edu.replication.log_read_result import EpochAndOffset
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partition_reads import end_for
from kafka_edu.replication.partitions import Partitions


class OffsetLookup:
    """The look-ups of ListOffsets and OffsetForLeaderEpoch, each for one partition."""

    def __init__(self, partitions: Partitions, time: Time) -> None:
        self._partitions = partitions
        self._time = time

    def fetch_offset_for_timestamp(
        self,
        topic_partition: TopicPartition,
        timestamp: int,
        replica_id: int,
        current_leader_epoch: int = -1,
        isolation_level: int = READ_UNCOMMITTED,
    ) -> TimestampOffset | None:
        """Return the offset for a timestamp in one partition, for ListOffsets from v1 on.

        The function of the same name in this module does the work. Raises the errors of that
        function and of `Partitions.get_or_raise`, and for a consumer those of
        `check_isolation_level`.
        """
        if replica_id == CONSUMER_REPLICA_ID:
            check_isolation_level(isolation_level)
        return fetch_offset_for_timestamp(
            self._partitions.get_or_raise(topic_partition),
            timestamp,
            current_leader_epoch=current_leader_epoch,
            only_from_leader=replica_id != DEBUGGING_REPLICA_ID,
            isolation=fetch_isolation(replica_id, isolation_level),
        )

    def legacy_fetch_offsets(
        self, topic_partition: TopicPartition, timestamp: int, max_offsets: int, replica_id: int
    ) -> list[int]:
        """Return offsets by time of one partition, for ListOffsets v0 (see
        `legacy_offsets_before`).

        Raises the errors of that function, of `Partition.log_for_request` and of
        `Partitions.get_or_raise`.
        """
        partition = self._partitions.get_or_raise(topic_partition)
        log = partition.log_for_request(-1, replica_id != DEBUGGING_REPLICA_ID)
        high_watermark = (
            partition.high_watermark.offset if replica_id == CONSUMER_REPLICA_ID else None
        )
        with log.storage():
            return legacy_offsets_before(
                log, timestamp, max_offsets, high_watermark, self._time.milliseconds()
            )

    def last_offset_for_leader_epoch(
        self, topic_partition: TopicPartition, leader_epoch: int, current_leader_epoch: int = -1
    ) -> EpochAndOffset:
        """Return where a leader epoch ends in one partition, for OffsetForLeaderEpoch.

        The function of the same name in this module does the work. Raises the errors of that
        function and of `Partitions.get_or_raise`.
        """
        partition = self._partitions.get_or_raise(topic_partition)
        return last_offset_for_leader_epoch(partition, current_leader_epoch, leader_epoch, True)


def fetch_offset_for_timestamp(
    partition: Partition,
    timestamp: int,
    *,
    current_leader_epoch: int,
    only_from_leader: bool,
    isolation: FetchIsolation,
) -> TimestampOffset | None:
    """Return the first record whose timestamp is `timestamp` or later.

    The timestamp -1 asks for the end, -2 for the start. None if there is no such record that
    the reader may see. The limit of `isolation` counts as the end. Raises OFFSET_NOT_AVAILABLE
    if a new leader's HW has not yet reached the start of its epoch. Without this error, a later
    answer could be smaller than an earlier answer (KIP-207).
    """
    log = partition.log_for_request(current_leader_epoch, only_from_leader)
    last_fetchable = end_for(partition, isolation).message_offset
    asks_consumer = isolation is not FetchIsolation.LOG_END
    behind = (
        asks_consumer
        and partition.is_leader
        and partition.leader_epoch_start_offset > log.high_watermark
    )
    if timestamp == LATEST_TIMESTAMP:
        if behind:
            raise KafkaException(Errors.OFFSET_NOT_AVAILABLE)
        return TimestampOffset(-1, last_fetchable, partition.leader_epoch)
    found = log.fetch_offset_by_timestamp(timestamp)
    if timestamp == EARLIEST_TIMESTAMP or (found is not None and found.offset < last_fetchable):
        return found
    if behind:
        raise KafkaException(Errors.OFFSET_NOT_AVAILABLE)
    return None


def last_offset_for_leader_epoch(
    partition: Partition, current_leader_epoch: int, leader_epoch: int, only_from_leader: bool
) -> EpochAndOffset:
    """Return the largest epoch ≤ `leader_epoch` in this log, and the offset where it ends.

    Return (-1, -1) if `leader_epoch` is newer than every epoch in the log (KIP-101).
    """
    log = partition.log_for_request(current_leader_epoch, only_from_leader)
    return EpochAndOffset(*log.end_offset_for_epoch(leader_epoch))


def legacy_offsets_before(
    log: Log, timestamp: int, max_offsets: int, high_watermark: int | None, wall_ms: int
) -> list[int]:
    """Return at most `max_offsets` offsets, newest first. O(segments).

    The candidates are the start of each segment, and the log end. From the newest on, candidates
    with a time after `timestamp` are dropped. The log end has the current time. The timestamp -1
    asks for the newest offsets, -2 for the oldest one. A segment's time is that of its last record,
    or of its file if the records have no times. (Kafka always uses the file.) `high_watermark` is
    given for a consumer, which never gets a higher offset than this one. Raises
    UNKNOWN_SERVER_ERROR for a negative `max_offsets`, as Kafka does.
    """
    if max_offsets < 0:
        raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, f"{max_offsets} offsets are requested")
    found = [
        (max(segment.base_offset, log.log_start_offset), segment.largest_timestamp)
        for segment in log.segments
    ]
    if log.active_segment.size:
        found.append((log.log_end_offset, wall_ms))
    if timestamp == EARLIEST_TIMESTAMP:
        found = found[:1]
    elif timestamp != LATEST_TIMESTAMP:
        while found and found[-1][1] > timestamp:
            found.pop()
    offsets = sorted([offset for offset, _ in found[::-1][:max_offsets]], reverse=True)
    if high_watermark is not None and offsets and offsets[0] > high_watermark:
        return [high_watermark, *(offset for offset in offsets if offset <= high_watermark)]
    return offsets
