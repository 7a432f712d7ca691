"""FindCoordinator (key 10): find the coordinator of a group or a transactional producer."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import Int8, Int16, Int32, String


class FindCoordinatorRequest(Message, key=ApiKey.FIND_COORDINATOR, valid="0-3", flexible="3+"):
    """The group id or transactional id whose coordinator is wanted.

    (Kafka: FindCoordinatorRequest.json.)
    """

    key: str = field(String, "0+", "The group, or the transactional id.")
    key_type: int = field(
        Int8, "1+", "0: the key is a group; 1: it is a transactional id (KIP-98)."
    )


class FindCoordinatorResponse(Message, key=ApiKey.FIND_COORDINATOR, valid="0-3", flexible="3+"):
    """The id and the address of the coordinator (Kafka: FindCoordinatorResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(
        String, "1+", "What went wrong, or null.", nullable="1+", ignorable=True
    )
    node_id: int = field(Int32, "0+", "The coordinator's broker id.")
    host: str = field(String, "0+", "The host.")
    port: int = field(Int32, "0+", "The port.")
