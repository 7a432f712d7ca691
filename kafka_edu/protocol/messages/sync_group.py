"""SyncGroup (key 14): the leader hands in the assignment, and each member fetches its own."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int16, Int32, String


class SyncGroupRequestAssignment(Struct):
    """One member's assignment."""

    member_id: str = field(String, "0+", "The member's id, given by the coordinator.")
    assignment: bytes = field(Bytes, "0+", "What the member gets.")


class SyncGroupRequest(Message, key=ApiKey.SYNC_GROUP, valid="0-5", flexible="4+"):
    """The assignment, from the leader; a question, from the others (Kafka:
    SyncGroupRequest.json).
    """

    group_id: str = field(String, "0+", "The group.")
    generation_id: int = field(Int32, "0+", "The group's generation.")
    member_id: str = field(String, "0+", "The member's id, given by the coordinator.")
    group_instance_id: str | None = field(
        String,
        "3+",
        "The static member's own id; null: a dynamic one (KIP-345).",
        nullable="3+",
        default=None,
    )
    protocol_type: str | None = field(
        String,
        "5+",
        "What the group's members speak: `consumer`, `connect` …",
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
        Array(SyncGroupRequestAssignment), "0+", "What the leader assigns; empty from the others."
    )


class SyncGroupResponse(Message, key=ApiKey.SYNC_GROUP, valid="0-5", flexible="4+"):
    """The member's own assignment (Kafka: SyncGroupResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must keep silent because it went over a quota, in ms (KIP-13).",
        ignorable=True,
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    protocol_type: str | None = field(
        String,
        "5+",
        "What the group's members speak: `consumer`, `connect` …",
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
    assignment: bytes = field(Bytes, "0+", "The member's assignment, as the leader wrote it.")
