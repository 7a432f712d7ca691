"""TxnOffsetCommit (key 28): commit offsets as part of a transaction (KIP-98)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, Int64, String


class TxnOffsetCommitRequestPartition(Struct):
    """One partition, and the offset to commit for it."""

    partition_index: int = field(Int32, "0+", "The partition.")
    committed_offset: int = field(Int64, "0+", "The offset of the next record to read.")
    committed_leader_epoch: int = field(
        Int32,
        "2+",
        "The leader epoch of the last record read; -1 if unknown (KIP-320).",
        default=-1,
        ignorable=True,
    )
    committed_metadata: str | None = field(
        String, "0+", "Free text that the client stores with the offset.", nullable="0+"
    )


class TxnOffsetCommitRequestTopic(Struct):
    """Offsets of one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[TxnOffsetCommitRequestPartition] = field(
        Array(TxnOffsetCommitRequestPartition), "0+", "The partitions."
    )


class TxnOffsetCommitRequest(Message, key=ApiKey.TXN_OFFSET_COMMIT, valid="0-3", flexible="3+"):
    """The offsets to commit with the transaction (Kafka: TxnOffsetCommitRequest.json)."""

    transactional_id: str = field(String, "0+", "The producer's transactional id.")
    group_id: str = field(String, "0+", "The group.")
    producer_id: int = field(Int64, "0+", "The producer's id.")
    producer_epoch: int = field(Int16, "0+", "The producer's epoch.")
    generation_id: int = field(
        Int32, "3+", "The consumer's generation; -1: not given (KIP-447).", default=-1
    )
    member_id: str = field(String, "3+", "The consumer's member id; empty: not given (KIP-447).")
    group_instance_id: str | None = field(
        String,
        "3+",
        "The id that a static member chose itself; null: a dynamic member (KIP-345).",
        nullable="3+",
        default=None,
    )
    topics: list[TxnOffsetCommitRequestTopic] = field(
        Array(TxnOffsetCommitRequestTopic),
        "0+",
        "The offsets to commit with the transaction, by topic.",
    )


class TxnOffsetCommitResponsePartition(Struct):
    """The result for one partition."""

    partition_index: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")


class TxnOffsetCommitResponseTopic(Struct):
    """Results for one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[TxnOffsetCommitResponsePartition] = field(
        Array(TxnOffsetCommitResponsePartition), "0+", "The partitions."
    )


class TxnOffsetCommitResponse(Message, key=ApiKey.TXN_OFFSET_COMMIT, valid="0-3", flexible="3+"):
    """The result for each partition (Kafka: TxnOffsetCommitResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    topics: list[TxnOffsetCommitResponseTopic] = field(
        Array(TxnOffsetCommitResponseTopic), "0+", "The topics."
    )
