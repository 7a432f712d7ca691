"""ListGroups (key 16): return the groups whose coordinator is this broker."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, String


class ListGroupsRequest(Message, key=ApiKey.LIST_GROUPS, valid="0-4", flexible="3+"):
    """The states of the wanted groups (Kafka: ListGroupsRequest.json)."""

    states_filter: list[str] = field(
        Array(String), "4+", "Return only groups in these states; empty: all (KIP-518)."
    )


class ListedGroup(Struct):
    """One group: its id, protocol type and state."""

    group_id: str = field(String, "0+", "The group.")
    protocol_type: str = field(String, "0+", "The kind of group: `consumer`, `connect` …")
    group_state: str = field(String, "4+", "The group's state.", ignorable=True)


class ListGroupsResponse(Message, key=ApiKey.LIST_GROUPS, valid="0-4", flexible="3+"):
    """The groups whose coordinator is the broker (Kafka: ListGroupsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    groups: list[ListedGroup] = field(
        Array(ListedGroup), "0+", "The groups that this broker coordinates."
    )
