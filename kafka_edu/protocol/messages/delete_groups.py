"""DeleteGroups (key 42): delete empty groups and their offsets (KIP-229)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, String


class DeleteGroupsRequest(Message, key=ApiKey.DELETE_GROUPS, valid="0-2", flexible="2+"):
    """The groups to delete (Kafka: DeleteGroupsRequest.json)."""

    groups_names: list[str] = field(Array(String), "0+", "The groups.")


class DeletableGroupResult(Struct):
    """The result for one group."""

    group_id: str = field(String, "0+", "The group.")
    error_code: int = field(Int16, "0+", "The error, or 0.")


class DeleteGroupsResponse(Message, key=ApiKey.DELETE_GROUPS, valid="0-2", flexible="2+"):
    """The result for each group (Kafka: DeleteGroupsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    results: list[DeletableGroupResult] = field(Array(DeletableGroupResult), "0+", "The results.")
