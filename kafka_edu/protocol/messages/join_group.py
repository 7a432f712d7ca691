"""JoinGroup (key 11): a member wants to take part in the group's next generation."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int16, Int32, String


class JoinGroupRequestProtocol(Struct):
    """One protocol the member can do."""

    name: str = field(String, "0+", "The protocol: an assignor's name.")
    metadata: bytes = field(
        Bytes, "0+", "What the member says of itself; for a consumer its subscription."
    )


class JoinGroupRequest(Message, key=ApiKey.JOIN_GROUP, valid="0-7", flexible="6+"):
    """Joins a group, or joins again (Kafka: JoinGroupRequest.json).

    The answer waits until the group has gathered. A new member is first told its id, from version 4
    on (KIP-394).
    """

    group_id: str = field(String, "0+", "The group.")
    session_timeout_ms: int = field(
        Int32, "0+", "Without a heartbeat for so long the member is out, in ms."
    )
    rebalance_timeout_ms: int = field(
        Int32,
        "1+",
        "How long a rebalance waits for the member, in ms; -1: as long as the session (KIP-62).",
        default=-1,
        ignorable=True,
    )
    member_id: str = field(String, "0+", "The id that the coordinator gave; empty at first.")
    group_instance_id: str | None = field(
        String,
        "5+",
        "The static member's own id; null: a dynamic one (KIP-345).",
        nullable="5+",
        default=None,
    )
    protocol_type: str = field(
        String, "0+", "What the group's members speak: `consumer`, `connect` …"
    )
    protocols: list[JoinGroupRequestProtocol] = field(
        Array(JoinGroupRequestProtocol), "0+", "What the member can do, its favourite first."
    )


class JoinGroupResponseMember(Struct):
    """One member of the group."""

    member_id: str = field(String, "0+", "The member's id, given by the coordinator.")
    group_instance_id: str | None = field(
        String,
        "5+",
        "The static member's own id; null: a dynamic one (KIP-345).",
        nullable="5+",
        default=None,
        ignorable=True,
    )
    metadata: bytes = field(
        Bytes, "0+", "What the member says of itself; for a consumer its subscription."
    )


class JoinGroupResponse(Message, key=ApiKey.JOIN_GROUP, valid="0-7", flexible="6+"):
    """The new generation (Kafka: JoinGroupResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "2+",
        "How long the client must keep silent because it went over a quota, in ms (KIP-13).",
        ignorable=True,
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    generation_id: int = field(Int32, "0+", "The new generation.", default=-1)
    protocol_type: str | None = field(
        String,
        "7+",
        "What the group's members speak: `consumer`, `connect` …",
        nullable="7+",
        default=None,
        ignorable=True,
    )
    protocol_name: str | None = field(
        String, "0+", "The chosen protocol: an assignor's name.", nullable="7+"
    )
    leader: str = field(String, "0+", "The member that assigns.")
    member_id: str = field(String, "0+", "The member's id, given by the coordinator.")
    members: list[JoinGroupResponseMember] = field(
        Array(JoinGroupResponseMember), "0+", "All members, for the leader; nobody for the others."
    )
