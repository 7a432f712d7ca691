"""LeaveGroup (key 13): members leave their group.

A group whose members leave in this way need not wait until their sessions expire.
"""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, String


class MemberIdentity(Struct):
    """One member that leaves."""

    member_id: str = field(String, "3+", "The member's id, given by the coordinator.")
    group_instance_id: str | None = field(
        String,
        "3+",
        "The id that a static member chose itself; null: a dynamic member (KIP-345).",
        nullable="3+",
        default=None,
        ignorable=True,
    )


class LeaveGroupRequest(Message, key=ApiKey.LEAVE_GROUP, valid="0-4", flexible="4+"):
    """The members that leave (Kafka: LeaveGroupRequest.json)."""

    group_id: str = field(String, "0+", "The group.")
    member_id: str = field(
        String, "0-2", "The member's id, given by the coordinator.", ignorable=True
    )
    members: list[MemberIdentity] = field(
        Array(MemberIdentity), "3+", "The members that leave (KIP-345)."
    )


class MemberResponse(Struct):
    """The result for one member that leaves."""

    member_id: str = field(
        String, "3+", "The member's id, given by the coordinator.", ignorable=True
    )
    group_instance_id: str | None = field(
        String,
        "3+",
        "The id that a static member chose itself; null: a dynamic member (KIP-345).",
        nullable="3+",
        ignorable=True,
    )
    error_code: int = field(Int16, "3+", "The error, or 0.", ignorable=True)


class LeaveGroupResponse(Message, key=ApiKey.LEAVE_GROUP, valid="0-4", flexible="4+"):
    """The result for each member (Kafka: LeaveGroupResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    members: list[MemberResponse] = field(
        Array(MemberResponse), "3+", "The members.", ignorable=True
    )
