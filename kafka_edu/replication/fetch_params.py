"""The parameters of one fetch (Kafka: FetchParams, FetchRequest.PartitionData)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.replication.replica_selector import ClientMetadata

CONSUMER_REPLICA_ID: Final = -1
DEBUGGING_REPLICA_ID: Final = -2
"""The replica id of a debugging tool, which may read any replica, also beyond the high
watermark.
"""

FIRST_VERSION_FROM_FOLLOWERS: Final = 11
"""From this version of Fetch on, a consumer may read from a follower (KIP-392)."""

NO_LEADER_EPOCH: Final = -1
"""The reader's fetch carries no leader epoch, so the fetch is not fenced."""

READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1


class FetchIsolation(StrEnum):
    """The limit up to which a reader may see records."""

    LOG_END = "log end"
    """A follower or a tool sees all records."""
    HIGH_WATERMARK = "high watermark"
    """A consumer sees the records that the whole ISR has."""
    TXN_COMMITTED = "last stable offset"
    """A read_committed consumer sees only records before the first record of an open transaction.
    The response lists the aborted transactions.
    """


def fetch_isolation(replica_id: int, isolation_level: int) -> FetchIsolation:
    """Return the end up to which this reader may read.

    A consumer sees records up to the high watermark, or with read_committed up to the last stable
    offset. Followers and tools see all records.
    """
    if replica_id != CONSUMER_REPLICA_ID:
        return FetchIsolation.LOG_END
    return (
        FetchIsolation.TXN_COMMITTED
        if isolation_level == READ_COMMITTED
        else FetchIsolation.HIGH_WATERMARK
    )


def check_isolation_level(isolation_level: int) -> None:
    """Raise UNKNOWN_SERVER_ERROR, as Kafka does, if the level is neither READ_UNCOMMITTED nor
    READ_COMMITTED.
    """
    if isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
        raise KafkaException(
            Errors.UNKNOWN_SERVER_ERROR, f"Unknown isolation level {isolation_level}"
        )


class FetchParams(NamedTuple):
    """The parameters that hold for all partitions of a fetch. Sizes are in bytes."""

    replica_id: int
    """A follower's broker id, or the negative id of a consumer or of a debugging tool."""
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    api_version: int
    isolation_level: int = READ_UNCOMMITTED
    client: ClientMetadata | None = None
    """The consumer, if the leader may direct the consumer to another replica (from v11 on)."""

    @property
    def from_follower(self) -> bool:
        return self.replica_id >= 0

    @property
    def isolation(self) -> FetchIsolation:
        return fetch_isolation(self.replica_id, self.isolation_level)

    @property
    def only_from_leader(self) -> bool:
        """Return whether only the leader may serve the read.

        Since v11 a follower may serve consumers too (KIP-392). Tools may read any replica.
        """
        return self.replica_id >= 0 or (
            self.replica_id == CONSUMER_REPLICA_ID
            and self.api_version < FIRST_VERSION_FROM_FOLLOWERS
        )

    @property
    def hard_max_bytes_limit(self) -> bool:
        """Return whether `max_bytes` may cut a batch in two.

        v0 to v2 may do so. Later versions return at least one whole batch, whatever its size.
        """
        return self.api_version <= 2


@dataclass(slots=True)
class PartitionFetch:
    """The request of a reader for one partition. A session keeps it until the reader changes it."""

    fetch_offset: int
    log_start_offset: int
    """The log start offset of the follower that fetches; -1 from a consumer."""
    max_bytes: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    place: LogOffsetMetadata | None = field(default=None, compare=False)
    """The place of `fetch_offset` in the log's segments, set by the last read that found no
    records.
    """


FetchInfos = Sequence[tuple[TopicPartition, PartitionFetch]]
