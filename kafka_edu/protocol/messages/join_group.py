"""JoinGroup (key 11): join the next generation of a consumer group."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int16, Int32, String


class JoinGroupRequestProtocol(Struct):
    """One assignment protocol that the member supports, with the member's metadata for it."""

    name: str = field(String, "0+", "The protocol: an assignor's name.")
    metadata: bytes = field(
        Bytes, "0+", "The member's own data for this protocol; for a consumer, its subscription."
    )


class JoinGroupRequest(Message, key=ApiKey.JOIN_GROUP, valid="0-7", flexible="6+"):
    """Join a group, or join it again (Kafka: JoinGroupRequest.json).

    The coordinator sends its response when all members have joined. From version 4 on, the first
    response to a new member only contains its member id (KIP-394).
    """

    group_id: str = field(String, "0+", "The group.")
    session_timeout_ms: int = field(
        Int32,
        "0+",
        "The coordinator removes the member after this time without a heartbeat, in ms.",
    )
    rebalance_timeout_ms: int = field(
        Int32,
        "1+",
        "How long a rebalance waits for the member, in ms; -1: the session timeout (KIP-62).",
        default=-1,
        ignorable=True,
    )
    member_id: str = field(
        String, "0+", "The member's id, given by the coordinator; empty in the first request."
    )
    group_instance_id: str | None = field(
        String,
        "5+",
        "The id that a static member chose itself; null: a dynamic member (KIP-345).",
        nullable="5+",
        default=None,
    )
    protocol_type: str = field(String, "0+", "The kind of group: `consumer`, `connect` …")
    protocols: list[JoinGroupRequestProtocol] = field(
        Array(JoinGroupRequestProtocol),
        "0+",
        "The protocols that the member supports, its favourite first.",
    )


class JoinGroupResponseMember(Struct):
    """One member of the group."""

    member_id: str = field(String, "0+", "The member's id, given by the coordinator.")
    group_instance_id: str | None = field(
        String,
        "5+",
        "The id that a static member chose itself; null: a dynamic member (KIP-345).",
        nullable="5+",
        default=None,
        ignorable=True,
    )
    metadata: bytes = field(
        Bytes, "0+", "The member's own data for this protocol; for a consumer, its subscription."
    )


class JoinGroupResponse(Message, key=ApiKey.JOIN_GROUP, valid="0-7", flexible="6+"):
    """The generation that the member has joined (Kafka: JoinGroupResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "2+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    generation_id: int = field(Int32, "0+", "The new generation.", default=-1)
    protocol_type: str | None = field(
        String,
        "7+",
        "The kind of group: `consumer`, `connect` …",
        nullable="7+",
        default=None,
        ignorable=True,
    )
    protocol_name: str | None = field(
        String, "0+", "The chosen protocol: an assignor's name.", nullable="7+"
    )
    leader: str = field(String, "0+", "The group leader, the member that makes the assignment.")
    member_id: str = field(String, "0+", "The member's id, given by the coordinator.")
    members: list[JoinGroupResponseMember] = field(
        Array(JoinGroupResponseMember),
        "0+",
        "All members, in the response to the leader; empty for the others.",
    )
