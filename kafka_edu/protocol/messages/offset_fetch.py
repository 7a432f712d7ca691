"""OffsetFetch (key 9): return the committed offsets of a group."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int16, Int32, Int64, String


class OffsetFetchRequestTopic(Struct):
    """Partitions of one topic."""

    name: str = field(String, "0+", "The topic.")
    partition_indexes: list[int] = field(Array(Int32), "0+", "The partitions.")


class OffsetFetchRequest(Message, key=ApiKey.OFFSET_FETCH, valid="0-7", flexible="6+"):
    """The group and the wanted partitions (Kafka: OffsetFetchRequest.json).

    For version 0 a broker reads the offsets from ZooKeeper, for later versions from
    `__consumer_offsets`.
    """

    group_id: str = field(String, "0+", "The group.")
    topics: list[OffsetFetchRequestTopic] | None = field(
        Array(OffsetFetchRequestTopic),
        "0+",
        "The offsets to return; null: all offsets of the group.",
        nullable="2+",
    )
    require_stable: bool = field(
        Bool, "7+", "Whether to refuse offsets that an open transaction may still change (KIP-447)."
    )


class OffsetFetchResponsePartition(Struct):
    """The committed offset of one partition, or its error."""

    partition_index: int = field(Int32, "0+", "The partition.")
    committed_offset: int = field(Int64, "0+", "The committed offset; -1 if there is none.")
    committed_leader_epoch: int = field(
        Int32,
        "5+",
        "The leader epoch of the last record read; -1 if unknown (KIP-320).",
        default=-1,
        ignorable=True,
    )
    metadata: str | None = field(
        String, "0+", "The text that the client stored with the offset.", nullable="0+"
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")


class OffsetFetchResponseTopic(Struct):
    """Committed offsets of one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[OffsetFetchResponsePartition] = field(
        Array(OffsetFetchResponsePartition), "0+", "The partitions."
    )


class OffsetFetchResponse(Message, key=ApiKey.OFFSET_FETCH, valid="0-7", flexible="6+"):
    """The committed offsets (Kafka: OffsetFetchResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "3+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    topics: list[OffsetFetchResponseTopic] = field(
        Array(OffsetFetchResponseTopic), "0+", "The topics."
    )
    error_code: int = field(Int16, "2+", "The error of the whole request, or 0.", ignorable=True)
