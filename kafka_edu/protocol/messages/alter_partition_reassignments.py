"""AlterPartitionReassignments (key 45): move partitions to other brokers (KIP-455)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, String


class ReassignablePartition(Struct):
    """One partition, and the brokers that will have its replicas; null cancels its reassignment."""

    partition_index: int = field(Int32, "0+", "The partition.")
    replicas: list[int] | None = field(
        Array(Int32),
        "0+",
        "The new replicas, as broker ids; null: cancel the reassignment.",
        nullable="0+",
        default=None,
    )


class ReassignableTopic(Struct):
    """The partitions of one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[ReassignablePartition] = field(
        Array(ReassignablePartition), "0+", "The partitions."
    )


class AlterPartitionReassignmentsRequest(
    Message, key=ApiKey.ALTER_PARTITION_REASSIGNMENTS, valid="0", flexible="0+"
):
    """The partitions to move, and their new replicas.

    (Kafka: AlterPartitionReassignmentsRequest.json.)
    """

    timeout_ms: int = field(
        Int32, "0+", "How long the broker may take to answer, in ms.", default=60000
    )
    topics: list[ReassignableTopic] = field(Array(ReassignableTopic), "0+", "The topics.")


class ReassignablePartitionResponse(Struct):
    """The result for one partition."""

    partition_index: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")


class ReassignableTopicResponse(Struct):
    """Results for one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[ReassignablePartitionResponse] = field(
        Array(ReassignablePartitionResponse), "0+", "The partitions."
    )


class AlterPartitionReassignmentsResponse(
    Message, key=ApiKey.ALTER_PARTITION_REASSIGNMENTS, valid="0", flexible="0+"
):
    """The result for each partition (Kafka: AlterPartitionReassignmentsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    error_code: int = field(Int16, "0+", "The error of the whole request, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")
    responses: list[ReassignableTopicResponse] = field(
        Array(ReassignableTopicResponse), "0+", "The results."
    )
