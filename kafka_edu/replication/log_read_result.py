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
"""The reader may go on reading here."""


class EpochAndOffset(NamedTuple):
    """An epoch and the offset where it ends."""

    epoch: int
    end_offset: int


class LogReadResult(NamedTuple):
    """The records, and the offsets as they were before the reader's own fetch was taken into
    account, as in Kafka 2.0.
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
    """Fetch v12: the reader's last epoch ends here in this log, before the reader's offset. The
    reader must truncate (KIP-595).
    """

    aborted_transactions: tuple[AbortedTxn, ...] | None = None
    """The aborted transactions among these records, for a read_committed reader; None for the
    others.
    """
    version: int = NO_VERSION
    """The partition's version, if the read found nothing because the reader has all there is, and
    the HW is at the log's end. Until the version changes, the same read gives the same result.
    """

    preferred_read_replica: int = NO_PREFERRED_REPLICA
    """The follower that the consumer should read from instead (KIP-392)."""

    def without_records(self) -> "LogReadResult":
        """Return the same offsets without records."""
        return self._replace(records=EMPTY_RECORDS, size_in_bytes=0)


FetchResults = list[tuple[TopicPartition, LogReadResult]]
UNKNOWN_METADATA: Final = LogOffsetMetadata(-1)


def failed_read(error: Errors) -> LogReadResult:
    """Return a read with this error: no records, every offset -1."""
    return LogReadResult(error, EMPTY_RECORDS, 0, UNKNOWN_METADATA, -1, -1, -1, -1, None)
