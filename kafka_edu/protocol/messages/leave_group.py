"""LeaveGroup (key 13): members leave, so that the group need not wait until their sessions end."""

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
        "The static member's own id; null: a dynamic one (KIP-345).",
        nullable="3+",
        default=None,
        ignorable=True,
    )


class LeaveGroupRequest(Message, key=ApiKey.LEAVE_GROUP, valid="0-4", flexible="4+"):
    """Who leaves (Kafka: LeaveGroupRequest.json)."""

    group_id: str = field(String, "0+", "The group.")
    member_id: str = field(
        String, "0-2", "The member's id, given by the coordinator.", ignorable=True
    )
    members: list[MemberIdentity] = field(Array(MemberIdentity), "3+", "Who leaves (KIP-345).")


class MemberResponse(Struct):
    """The result for one member."""

    member_id: str = field(
        String, "3+", "The member's id, given by the coordinator.", ignorable=True
    )
    group_instance_id: str | None = field(
        String,
        "3+",
        "The static member's own id; null: a dynamic one (KIP-345).",
        nullable="3+",
        ignorable=True,
    )
    error_code: int = field(Int16, "3+", "The error, or 0.", ignorable=True)


class LeaveGroupResponse(Message, key=ApiKey.LEAVE_GROUP, valid="0-4", flexible="4+"):
    """What came of it (Kafka: LeaveGroupResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must keep silent because it went over a quota, in ms (KIP-13).",
        ignorable=True,
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    members: list[MemberResponse] = field(
        Array(MemberResponse), "3+", "The members.", ignorable=True
    )
