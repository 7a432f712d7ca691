"""ListOffsets (key 2): find the start offset, the end offset, or the offset for a timestamp."""

from typing import Final

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int8, Int16, Int32, Int64, String

#: Timestamps with a special meaning: -1 means the log's end offset, -2 its start offset.
LATEST_TIMESTAMP: Final = -1
EARLIEST_TIMESTAMP: Final = -2


class ListOffsetsPartition(Struct):
    """One partition, and the timestamp for which an offset is wanted."""

    partition_index: int = field(Int32, "0+", "The partition.")
    current_leader_epoch: int = field(
        Int32,
        "4+",
        "The leader epoch that the sender knows; -1: do not check (KIP-320).",
        default=-1,
        ignorable=True,
    )
    timestamp: int = field(
        Int64,
        "0+",
        "Find the first record not older than this, in ms since 1970; -1 latest, -2 earliest.",
    )
    max_num_offsets: int = field(Int32, "0", "The maximum number of offsets to list.", default=1)


class ListOffsetsTopic(Struct):
    """Partitions of one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[ListOffsetsPartition] = field(
        Array(ListOffsetsPartition), "0+", "The partitions."
    )


class ListOffsetsRequest(Message, key=ApiKey.LIST_OFFSETS, valid="0-6", flexible="6+"):
    """Find offsets by time (Kafka: ListOffsetsRequest.json; book §3.3).

    The response to version 0 has a list of the base offsets of segments. From version 1 on
    (KIP-79), it has the offset and timestamp of one record.
    """

    replica_id: int = field(
        Int32, "0+", "The follower's broker id; -1 for a consumer, -2 for a debugging tool."
    )
    isolation_level: int = field(Int8, "2+", '0: "latest" is the HW; 1: it is the LSO (KIP-98).')
    topics: list[ListOffsetsTopic] = field(Array(ListOffsetsTopic), "0+", "The lookups, by topic.")


class ListOffsetsPartitionResponse(Struct):
    """The result for one partition."""

    partition_index: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")
    old_style_offsets: list[int] = field(
        Array(Int64),
        "0",
        "Base offsets of segments older than the timestamp, newest first, and the log end offset.",
    )
    timestamp: int = field(
        Int64,
        "1+",
        "The timestamp of the record that was found; -1 for earliest, for latest, and if"
        " nothing was found (KIP-79).",
        default=-1,
    )
    offset: int = field(
        Int64, "1+", "The offset that was found; -1 if there is none (KIP-79).", default=-1
    )
    leader_epoch: int = field(
        Int32,
        "4+",
        "The leader epoch of the record that was found; -1 if unknown (KIP-320).",
        default=-1,
    )


class ListOffsetsTopicResponse(Struct):
    """Results for one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[ListOffsetsPartitionResponse] = field(
        Array(ListOffsetsPartitionResponse), "0+", "The results, by partition."
    )


class ListOffsetsResponse(Message, key=ApiKey.LIST_OFFSETS, valid="0-6", flexible="6+"):
    """The offset that was found for each partition (Kafka: ListOffsetsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "2+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    topics: list[ListOffsetsTopicResponse] = field(
        Array(ListOffsetsTopicResponse), "0+", "The results, by topic."
    )
