"""SyncGroup (key 14): the group's leader sends the assignment, and each member gets its own
part.
"""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int16, Int32, String


class SyncGroupRequestAssignment(Struct):
    """The assignment of one member."""

    member_id: str = field(String, "0+", "The member's id, given by the coordinator.")
    assignment: bytes = field(
        Bytes, "0+", "The assignment of this member, in the format of the protocol."
    )


class SyncGroupRequest(Message, key=ApiKey.SYNC_GROUP, valid="0-5", flexible="4+"):
    """The assignment of all members from the group's leader; the other members send an empty list.

    (Kafka: SyncGroupRequest.json.)
    """

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
    protocol_type: str | None = field(
        String,
        "5+",
        "The kind of group: `consumer`, `connect` …",
        nullable="5+",
        default=None,
        ignorable=True,
    )
    protocol_name: str | None = field(
        String,
        "5+",
        "The chosen protocol: an assignor's name.",
        nullable="5+",
        default=None,
        ignorable=True,
    )
    assignments: list[SyncGroupRequestAssignment] = field(
        Array(SyncGroupRequestAssignment),
        "0+",
        "The assignment, from the leader; empty from the other members.",
    )


class SyncGroupResponse(Message, key=ApiKey.SYNC_GROUP, valid="0-5", flexible="4+"):
    """The assignment of the member that sent the request (Kafka: SyncGroupResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    protocol_type: str | None = field(
        String,
        "5+",
        "The kind of group: `consumer`, `connect` …",
        nullable="5+",
        default=None,
        ignorable=True,
    )
    protocol_name: str | None = field(
        String,
        "5+",
        "The chosen protocol: an assignor's name.",
        nullable="5+",
        default=None,
        ignorable=True,
    )
    assignment: bytes = field(
        Bytes, "0+", "The member's assignment, in the bytes that the leader wrote."
    )
