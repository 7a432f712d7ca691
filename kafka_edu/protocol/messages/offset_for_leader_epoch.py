"""OffsetForLeaderEpoch (key 23): find where a leader epoch ends in the leader's log (KIP-101)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, Int64, String


class OffsetForLeaderPartition(Struct):
    """One partition, and the leader epoch whose end is wanted."""

    partition: int = field(Int32, "0+", "The partition.")
    current_leader_epoch: int = field(
        Int32,
        "2+",
        "The leader epoch that the sender knows; -1: do not check (KIP-320).",
        default=-1,
        ignorable=True,
    )
    leader_epoch: int = field(Int32, "0+", "The epoch of the sender's last record.")


class OffsetForLeaderTopic(Struct):
    """Partitions of one topic."""

    topic: str = field(String, "0+", "The topic.")
    partitions: list[OffsetForLeaderPartition] = field(
        Array(OffsetForLeaderPartition), "0+", "The partitions."
    )


class OffsetForLeaderEpochRequest(
    Message, key=ApiKey.OFFSET_FOR_LEADER_EPOCH, valid="0-4", flexible="4+"
):
    """The leader epochs whose ends in the leader's log are wanted.

    (Kafka: OffsetForLeaderEpochRequest.json.) Followers send this request to find out where to
    truncate their logs. Consumers send it to notice that records were truncated.
    """

    replica_id: int = field(
        Int32,
        "3+",
        "The follower's broker id; -1 for a consumer; -2 in versions without this field.",
        default=-2,
        ignorable=True,
    )
    topics: list[OffsetForLeaderTopic] = field(
        Array(OffsetForLeaderTopic), "0+", "The lookups, by topic."
    )


class EpochEndOffset(Struct):
    """The end of one leader epoch in the leader's log: the epoch, and the offset after its last
    record.
    """

    error_code: int = field(Int16, "0+", "The error, or 0.")
    partition: int = field(Int32, "0+", "The partition.")
    leader_epoch: int = field(
        Int32,
        "1+",
        "The largest epoch of the leader's log that is not above the requested one; -1: none"
        " (KIP-279).",
        default=-1,
        ignorable=True,
    )
    end_offset: int = field(
        Int64,
        "0+",
        "The start of the next epoch, or the LEO: the offset to truncate to; -1: unknown.",
        default=-1,
    )


class OffsetForLeaderTopicResult(Struct):
    """Results for one topic."""

    topic: str = field(String, "0+", "The topic.")
    partitions: list[EpochEndOffset] = field(
        Array(EpochEndOffset), "0+", "The results, by partition."
    )


class OffsetForLeaderEpochResponse(
    Message, key=ApiKey.OFFSET_FOR_LEADER_EPOCH, valid="0-4", flexible="4+"
):
    """The end of each epoch (Kafka: OffsetForLeaderEpochResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "2+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    topics: list[OffsetForLeaderTopicResult] = field(
        Array(OffsetForLeaderTopicResult), "0+", "The results, by topic."
    )
