"""CreatePartitions (key 37): add partitions to topics (KIP-195)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int16, Int32, String


class CreatePartitionsAssignment(Struct):
    """The ids of the brokers that get the replicas of one new partition."""

    broker_ids: list[int] = field(Array(Int32), "0+", "Its brokers, the preferred leader first.")


class CreatePartitionsTopic(Struct):
    """One topic, its new number of partitions, and the brokers of the new partitions."""

    name: str = field(String, "0+", "The topic.")
    count: int = field(Int32, "0+", "The number of partitions after the change.")
    assignments: list[CreatePartitionsAssignment] | None = field(
        Array(CreatePartitionsAssignment),
        "0+",
        "The brokers of the new partitions; null: the controller chooses.",
        nullable="0+",
    )


class CreatePartitionsRequest(Message, key=ApiKey.CREATE_PARTITIONS, valid="0-3", flexible="2+"):
    """The new number of partitions of each topic (Kafka: CreatePartitionsRequest.json)."""

    topics: list[CreatePartitionsTopic] = field(Array(CreatePartitionsTopic), "0+", "The topics.")
    timeout_ms: int = field(Int32, "0+", "How long the broker may take to answer, in ms.")
    validate_only: bool = field(Bool, "0+", "True: only check the request and change nothing.")


class CreatePartitionsTopicResult(Struct):
    """The result for one topic."""

    name: str = field(String, "0+", "The topic.")
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(
        String, "0+", "What went wrong, or null.", nullable="0+", default=None
    )


class CreatePartitionsResponse(Message, key=ApiKey.CREATE_PARTITIONS, valid="0-3", flexible="2+"):
    """The result for each topic (Kafka: CreatePartitionsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    results: list[CreatePartitionsTopicResult] = field(
        Array(CreatePartitionsTopicResult), "0+", "The results."
    )
