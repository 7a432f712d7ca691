"""DeleteTopics (key 20): delete topics; handled by the controller (KIP-4)."""

from uuid import UUID

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, String, Uuid


class DeleteTopicState(Struct):
    """One topic to delete, given by its name or its id."""

    name: str | None = field(String, "6+", "The topic; null: `topic_id` names it.", nullable="6+")
    topic_id: UUID = field(Uuid, "6+", "The id of the topic; zero: `name` names it.")


class DeleteTopicsRequest(Message, key=ApiKey.DELETE_TOPICS, valid="0-6", flexible="4+"):
    """The topics to delete (Kafka: DeleteTopicsRequest.json)."""

    topics: list[DeleteTopicState] = field(
        Array(DeleteTopicState), "6+", "The topics, by name or id (KIP-516)."
    )
    topic_names: list[str] = field(Array(String), "0-5", "The topics.", ignorable=True)
    timeout_ms: int = field(Int32, "0+", "How long the broker may take to answer, in ms.")


class DeletableTopicResult(Struct):
    """The result for one topic."""

    name: str | None = field(String, "0+", "The topic; null if an id is unknown.", nullable="6+")
    topic_id: UUID = field(
        Uuid, "6+", "The topic's id; zero if it has none (KIP-516).", ignorable=True
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(
        String, "5+", "What went wrong, or null.", nullable="5+", default=None, ignorable=True
    )


class DeleteTopicsResponse(Message, key=ApiKey.DELETE_TOPICS, valid="0-6", flexible="4+"):
    """The result for each topic (Kafka: DeleteTopicsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    responses: list[DeletableTopicResult] = field(Array(DeletableTopicResult), "0+", "The results.")
