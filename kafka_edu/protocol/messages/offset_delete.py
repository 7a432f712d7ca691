"""OffsetDelete (key 47): delete a group's committed offsets of single partitions (KIP-496)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, String


class OffsetDeleteRequestPartition(Struct):
    """One partition whose committed offset is deleted."""

    partition_index: int = field(Int32, "0+", "The partition.")


class OffsetDeleteRequestTopic(Struct):
    """Partitions of one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[OffsetDeleteRequestPartition] = field(
        Array(OffsetDeleteRequestPartition), "0+", "The partitions."
    )


class OffsetDeleteRequest(Message, key=ApiKey.OFFSET_DELETE, valid="0", flexible="none"):
    """The group, and the partitions whose offsets are deleted (Kafka: OffsetDeleteRequest.json)."""

    group_id: str = field(String, "0+", "The group.")
    topics: list[OffsetDeleteRequestTopic] = field(
        Array(OffsetDeleteRequestTopic), "0+", "The topics."
    )


class OffsetDeleteResponsePartition(Struct):
    """The result for one partition."""

    partition_index: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")


class OffsetDeleteResponseTopic(Struct):
    """Results for one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[OffsetDeleteResponsePartition] = field(
        Array(OffsetDeleteResponsePartition), "0+", "The partitions."
    )


class OffsetDeleteResponse(Message, key=ApiKey.OFFSET_DELETE, valid="0", flexible="none"):
    """The result for each partition (Kafka: OffsetDeleteResponse.json)."""

    error_code: int = field(Int16, "0+", "The error of the whole request, or 0.")
    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    topics: list[OffsetDeleteResponseTopic] = field(
        Array(OffsetDeleteResponseTopic), "0+", "The topics."
    )
