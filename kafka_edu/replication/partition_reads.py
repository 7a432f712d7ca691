"""Read one partition's log for a consumer or a follower (Kafka: Partition.readRecords and
fetchOffsetSnapshot).

A follower must have all records, so it may read to the log's end. A consumer may read up to the
high watermark, or with read_committed up to the last stable offset (`FetchIsolation`). A reader
whose leader epoch is not that of the replica is fenced (`Partition.log_for_request`).

Owned by the broker's loop. Next hop: Log.
"""

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.transport import Part, part_size
from kafka_edu.log.leader_epoch_file_cache import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
from kafka_edu.log.log import Log
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.log.transaction_index import AbortedTxn
from kafka_edu.replication.fetch_params import FetchIsolation
from kafka_edu.replication.high_watermark import located_high_watermark
from kafka_edu.replication.log_read_result import (
    EMPTY_RECORDS,
    NO_VERSION,
    UNKNOWN_METADATA,
    EpochAndOffset,
    LogReadResult,
)
from kafka_edu.replication.partition import Partition


def end_for(partition: Partition, isolation: FetchIsolation) -> LogOffsetMetadata:
    """Return the offset up to which a reader may read, with its place in the log's segments.

    O(1) for recent offsets. Raises REPLICA_NOT_AVAILABLE.
    """
    log = partition.local_log()
    if isolation is FetchIsolation.LOG_END:
        return log.log_end_offset_metadata
    if isolation is FetchIsolation.TXN_COMMITTED and log.last_stable_offset < log.high_watermark:
        return log.convert_to_offset_metadata(log.last_stable_offset)
    return located_high_watermark(log)


def read_records(
    partition: Partition,
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
    """Read from this broker's log, but no record beyond the limit of `isolation`.

    `last_fetched_epoch` is the epoch of the reader's last record (-1: not given). If that epoch
    ends earlier in this log, the result has no records and says where the epoch ends. With
    TXN_COMMITTED the result also lists the aborted transactions. Raises the errors of
    `log_for_request`, and OFFSET_OUT_OF_RANGE.
    """
    log = partition.log_for_request(current_leader_epoch, only_from_leader)
    high_watermark, log_start, log_end, stable = (
        log.high_watermark,
        log.log_start_offset,
        log.log_end_offset,
        log.last_stable_offset,
    )
    aborted: tuple[AbortedTxn, ...] | None = (
        () if isolation is FetchIsolation.TXN_COMMITTED else None
    )
    diverging = None
    if last_fetched_epoch >= 0:
        diverging = _diverging_epoch(log, fetch_offset, last_fetched_epoch)
    records: Part = EMPTY_RECORDS
    size, version = 0, NO_VERSION
    if diverging is not None:
        at = LogOffsetMetadata(fetch_offset)
    elif fetch_offset == log_end:  # true for most reads of a follower
        at = log.log_end_offset_metadata
        if high_watermark == log_end:
            version = partition.version.value
    else:
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
        at = data.fetch_offset_metadata
        if hard_limit or not data.first_entry_incomplete:
            records, size = data.records, part_size(data.records)
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
        diverging,
        aborted,
        version,
    )


def _diverging_epoch(log: Log, fetch_offset: int, last_fetched_epoch: int) -> EpochAndOffset | None:
    """Return where the epoch of the reader's last record ends in this log, if it ends before that
    record. Otherwise return None. Raises OFFSET_OUT_OF_RANGE.
    """
    epoch, end_offset = log.end_offset_for_epoch(last_fetched_epoch)
    if epoch == UNDEFINED_EPOCH or end_offset == UNDEFINED_EPOCH_OFFSET:
        raise KafkaException(
            Errors.OFFSET_OUT_OF_RANGE, f"epoch {last_fetched_epoch} is not known here"
        )
    if fetch_offset < log.log_start_offset:
        raise KafkaException(Errors.OFFSET_OUT_OF_RANGE)
    if epoch < last_fetched_epoch or end_offset < fetch_offset:
        return EpochAndOffset(epoch, end_offset)
    return None


def read_elsewhere(
    partition: Partition, current_leader_epoch: int, replica_id: int
) -> LogReadResult:
    """Return the result for a consumer that should read from broker `replica_id`: this broker's
    offsets and no records. Raises the errors of `log_for_request`.
    """
    log = partition.log_for_request(current_leader_epoch, False)
    return LogReadResult(
        Errors.NONE,
        EMPTY_RECORDS,
        0,
        UNKNOWN_METADATA,
        log.high_watermark,
        log.log_start_offset,
        log.log_end_offset,
        log.last_stable_offset,
        None,
        preferred_read_replica=replica_id,
    )


def readable_bytes(
    partition: Partition,
    start: LogOffsetMetadata,
    current_leader_epoch: int,
    only_from_leader: bool,
    isolation: FetchIsolation,
) -> int | None:
    """Return how many bytes lie between `start` and the end that the reader may see.

    None if `start` and that end lie on different segments, because the reader is far behind or the
    log was truncated. DelayedFetch uses this function. Raises the errors of `log_for_request`.
    """
    log = partition.log_for_request(current_leader_epoch, only_from_leader)
    offset = start.message_offset
    if (
        offset
        == (log.log_end_offset if isolation is FetchIsolation.LOG_END else log.high_watermark)
        or offset < 0
    ):
        return 0
    end = end_for(partition, isolation)
    if not end.on_same_segment(start):
        return None
    return end.position_diff(start) if offset < end.message_offset else 0


def reaches(partition: Partition, start: LogOffsetMetadata) -> bool:
    """Return whether `start` still lies inside the log.

    False if the log has since been truncated below `start`.
    """
    return partition.log is not None and start.message_offset <= partition.log.log_end_offset


def may_skip(partition: Partition, replica_id: int, read: LogReadResult) -> bool:
    """Return whether the reader's session may skip this partition until its version changes.

    A consumer's session may skip it after each read that has a version. A follower must also be in
    the ISR, because any fetch of a follower outside the ISR may let it join. And the leader must
    already know the follower's LEO.
    """
    if read.version == NO_VERSION:
        return False
    if replica_id < 0:
        return True
    follower = partition.follower(replica_id)
    return (
        follower is not None
        and replica_id in partition.isr_state.expected
        and follower.log_end_offset.message_offset == read.log_end_offset
    )
