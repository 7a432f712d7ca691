"""A fetch as the replica manager takes it (Kafka: FetchParams, FetchRequest.PartitionData)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata

CONSUMER_REPLICA_ID: Final = -1
DEBUGGING_REPLICA_ID: Final = -2
"""A tool that reads any replica, beyond the high watermark."""

NO_LEADER_EPOCH: Final = -1
"""The reader does not say by which leader epoch it reads, and is not fenced."""

READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1


class FetchIsolation(StrEnum):
    """How far a reader may see."""

    LOG_END = "log end"
    """A follower, or a tool: everything."""
    HIGH_WATERMARK = "high watermark"
    """A consumer: what the whole ISR has."""
    TXN_COMMITTED = "last stable offset"
    """A read_committed consumer: what no open transaction can still change; it is told what was
    aborted.
    """


def fetch_isolation(replica_id: int, isolation_level: int) -> FetchIsolation:
    """Consumers see no further than the high watermark, and if they ask for it only what is stable;
    all others see everything.
    """
    if replica_id != CONSUMER_REPLICA_ID:
        return FetchIsolation.LOG_END
    return (
        FetchIsolation.TXN_COMMITTED
        if isolation_level == READ_COMMITTED
        else FetchIsolation.HIGH_WATERMARK
    )


def check_isolation_level(isolation_level: int) -> None:
    """Raises UNKNOWN_SERVER_ERROR, as Kafka does, for a level that is neither READ_UNCOMMITTED nor
    READ_COMMITTED.
    """
    if isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
        raise KafkaException(
            Errors.UNKNOWN_SERVER_ERROR, f"Unknown isolation level {isolation_level}"
        )


class FetchParams(NamedTuple):
    """What holds for the whole fetch. Sizes in bytes."""

    replica_id: int
    """A follower's broker id, or one of the constants above."""
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    api_version: int
    isolation_level: int = READ_UNCOMMITTED

    @property
    def from_follower(self) -> bool:
        return self.replica_id >= 0

    @property
    def isolation(self) -> FetchIsolation:
        return fetch_isolation(self.replica_id, self.isolation_level)

    @property
    def only_from_leader(self) -> bool:
        """Since v11 a follower may serve consumers (KIP-392); tools read anywhere."""
        return self.replica_id >= 0 or (
            self.replica_id == CONSUMER_REPLICA_ID and self.api_version < 11
        )

    @property
    def hard_max_bytes_limit(self) -> bool:
        """v0–2 cut in the middle of a batch; later ones get at least one whole batch, whatever its
        size.
        """
        return self.api_version <= 2


@dataclass(slots=True)
class PartitionFetch:
    """What is wanted of one partition. A session keeps it until the reader wants something else."""

    fetch_offset: int
    log_start_offset: int
    """A follower's own log start; -1 from a consumer."""
    max_bytes: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    place: LogOffsetMetadata | None = field(default=None, compare=False)
    """The place of `fetch_offset` in the segments, as the last read that found nothing saw it."""


FetchInfos = Sequence[tuple[TopicPartition, PartitionFetch]]
