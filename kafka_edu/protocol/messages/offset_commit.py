"""OffsetCommit (key 8): a consumer stores the offsets up to which it has read."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, Int64, String


class OffsetCommitRequestPartition(Struct):
    """One partition, and the offset to commit for it."""

    partition_index: int = field(Int32, "0+", "The partition.")
    committed_offset: int = field(Int64, "0+", "The offset of the next record to read.")
    committed_leader_epoch: int = field(
        Int32,
        "6+",
        "The leader epoch of the last record read; -1 if unknown (KIP-320).",
        default=-1,
        ignorable=True,
    )
    commit_timestamp: int = field(
        Int64, "1", "When it was committed, in ms since 1970; -1: now.", default=-1, ignorable=True
    )
    committed_metadata: str | None = field(
        String, "0+", "Free text that the client stores with the offset.", nullable="0+"
    )


class OffsetCommitRequestTopic(Struct):
    """Offsets of one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[OffsetCommitRequestPartition] = field(
        Array(OffsetCommitRequestPartition), "0+", "The partitions."
    )


class OffsetCommitRequest(Message, key=ApiKey.OFFSET_COMMIT, valid="0-8", flexible="8+"):
    """The offsets to commit (Kafka: OffsetCommitRequest.json).

    A broker stores the offsets of version 0 in ZooKeeper, and those of later versions in
    `__consumer_offsets` (book §6.1).
    """

    group_id: str = field(String, "0+", "The group.")
    generation_id: int = field(
        Int32,
        "1+",
        "The member's generation; -1: an offset committed without group membership.",
        default=-1,
        ignorable=True,
    )
    member_id: str = field(
        String, "1+", "The member's id, given by the coordinator.", ignorable=True
    )
    group_instance_id: str | None = field(
        String,
        "7+",
        "The id that a static member chose itself; null: a dynamic member (KIP-345).",
        nullable="7+",
        default=None,
    )
    retention_time_ms: int = field(
        Int64,
        "2-4",
        "How long to keep the offset, in ms; -1: offsets.retention.minutes.",
        default=-1,
        ignorable=True,
    )
    topics: list[OffsetCommitRequestTopic] = field(
        Array(OffsetCommitRequestTopic), "0+", "The offsets to commit, by topic."
    )


class OffsetCommitResponsePartition(Struct):
    """The result for one partition."""

    partition_index: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")


class OffsetCommitResponseTopic(Struct):
    """Results for one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[OffsetCommitResponsePartition] = field(
        Array(OffsetCommitResponsePartition), "0+", "The partitions."
    )


class OffsetCommitResponse(Message, key=ApiKey.OFFSET_COMMIT, valid="0-8", flexible="8+"):
    """The result for each partition (Kafka: OffsetCommitResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "3+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    topics: list[OffsetCommitResponseTopic] = field(
        Array(OffsetCommitResponseTopic), "0+", "The topics."
    )
