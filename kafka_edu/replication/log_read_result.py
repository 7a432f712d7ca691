"""The result of reading one partition (Kafka: LogReadResult, LogReadInfo, FetchPartitionData)."""

from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import Part
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.log.transaction_index import AbortedTxn

EMPTY_RECORDS: Final = b""
NO_VERSION: Final = -1
NO_PREFERRED_REPLICA: Final = -1
"""The reader may continue to read from this broker."""


class EpochAndOffset(NamedTuple):
    """A leader epoch, and its end: the offset of the epoch's last record + 1."""

    epoch: int
    end_offset: int


class LogReadResult(NamedTuple):
    """The result of one read of one partition: the records, and the partition's offsets.

    The offsets are those from before this fetch. The leader records the reader's fetch, which may
    move the HW, only after the read, as in Kafka 2.0.
    """

    error: Errors
    records: Part
    size_in_bytes: int
    fetch_offset_metadata: LogOffsetMetadata
    """The requested offset, with its place in the segments; offset -1 after an error."""
    high_watermark: int
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    diverging_epoch: EpochAndOffset | None
    """The epoch and offset where the reader's log begins to differ from this log (Fetch v12,
    KIP-595).

    Set if the reader's last epoch ends in this log before the reader's fetch offset. The reader
    must then truncate its log.
    """

    aborted_transactions: tuple[AbortedTxn, ...] | None = None
    """The aborted transactions among these records, if the reader is a read_committed consumer;
    None for other readers.
    """
    version: int = NO_VERSION
    """The partition's version if the reader has read all records and the HW is at the log's end,
    else NO_VERSION. As long as the partition has this version, the same read gives the same result.
    """

    preferred_read_replica: int = NO_PREFERRED_REPLICA
    """The follower that the consumer should read from instead (KIP-392)."""

    def without_records(self) -> "LogReadResult":
        """Return a copy of this result that has the same offsets but no records."""
        return self._replace(records=EMPTY_RECORDS, size_in_bytes=0)


FetchResults = list[tuple[TopicPartition, LogReadResult]]
UNKNOWN_METADATA: Final = LogOffsetMetadata(-1)


def failed_read(error: Errors) -> LogReadResult:
    """Return a result with this error, without records, and with all offsets -1."""
    return LogReadResult(error, EMPTY_RECORDS, 0, UNKNOWN_METADATA, -1, -1, -1, -1, None)
