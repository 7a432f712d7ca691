"""DescribeGroups (key 15): return the state and the members of groups."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Bytes, Int16, Int32, String


class DescribeGroupsRequest(Message, key=ApiKey.DESCRIBE_GROUPS, valid="0-5", flexible="5+"):
    """The groups to describe (Kafka: DescribeGroupsRequest.json)."""

    groups: list[str] = field(Array(String), "0+", "The groups.")
    include_authorized_operations: bool = field(
        Bool, "3+", "Whether to return what the client may do with the groups (KIP-430)."
    )


class DescribedGroupMember(Struct):
    """One member of a group: its ids, its client and its assignment."""

    member_id: str = field(String, "0+", "The member's id, given by the coordinator.")
    group_instance_id: str | None = field(
        String,
        "4+",
        "The id that a static member chose itself; null: a dynamic member (KIP-345).",
        nullable="4+",
        default=None,
        ignorable=True,
    )
    client_id: str = field(String, "0+", "The member's client id.")
    client_host: str = field(String, "0+", "The member's address, `/127.0.0.1`.")
    member_metadata: bytes = field(Bytes, "0+", "The member's own data for the chosen protocol.")
    member_assignment: bytes = field(Bytes, "0+", "The member's assignment.")


class DescribedGroup(Struct):
    """One group: its state and its members, or its error."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    group_id: str = field(String, "0+", "The group.")
    group_state: str = field(String, "0+", "The group's state.")
    protocol_type: str = field(String, "0+", "The kind of group: `consumer`, `connect` …")
    protocol_data: str = field(
        String, "0+", "The chosen protocol; empty unless the group is stable."
    )
    members: list[DescribedGroupMember] = field(Array(DescribedGroupMember), "0+", "The members.")
    authorized_operations: int = field(
        Int32,
        "3+",
        "A bit for each allowed AclOperation; the lowest int32: not requested (KIP-430).",
        default=-2147483648,
        ignorable=True,
    )


class DescribeGroupsResponse(Message, key=ApiKey.DESCRIBE_GROUPS, valid="0-5", flexible="5+"):
    """The state and the members of each group (Kafka: DescribeGroupsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    groups: list[DescribedGroup] = field(
        Array(DescribedGroup), "0+", "The groups, in the order of the request."
    )
