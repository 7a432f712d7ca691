"""Heartbeat (key 12): a group member shows that it is alive."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import Int16, Int32, String


class HeartbeatRequest(Message, key=ApiKey.HEARTBEAT, valid="0-4", flexible="4+"):
    """A group member's message that it is alive (Kafka: HeartbeatRequest.json)."""

    group_id: str = field(String, "0+", "The group.")
    generation_id: int = field(Int32, "0+", "The group's generation.")
    member_id: str = field(String, "0+", "The member's id, given by the coordinator.")
    group_instance_id: str | None = field(
        String,
        "3+",
        "The id that a static member chose itself; null: a dynamic member (KIP-345).",
        nullable="3+",
        default=None,
    )


class HeartbeatResponse(Message, key=ApiKey.HEARTBEAT, valid="0-4", flexible="4+"):
    """Whether the group still has this member (Kafka: HeartbeatResponse.json).

    The error REBALANCE_IN_PROGRESS means that the member must join the group again.
    """

    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
