"""ListPartitionReassignments (key 46): return the partitions that are being moved (KIP-455)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, String


class ListPartitionReassignmentsTopics(Struct):
    """Partitions of one topic."""

    name: str = field(String, "0+", "The topic.")
    partition_indexes: list[int] = field(Array(Int32), "0+", "The partitions.")


class ListPartitionReassignmentsRequest(
    Message, key=ApiKey.LIST_PARTITION_REASSIGNMENTS, valid="0", flexible="0+"
):
    """The partitions to list (Kafka: ListPartitionReassignmentsRequest.json)."""

    timeout_ms: int = field(
        Int32, "0+", "How long the broker may take to answer, in ms.", default=60000
    )
    topics: list[ListPartitionReassignmentsTopics] | None = field(
        Array(ListPartitionReassignmentsTopics),
        "0+",
        "The partitions to list; null: all.",
        nullable="0+",
        default=None,
    )


class OngoingPartitionReassignment(Struct):
    """One partition that is being moved: its replicas, the replicas that are added, and the
    replicas that are removed.
    """

    partition_index: int = field(Int32, "0+", "The partition.")
    replicas: list[int] = field(Array(Int32), "0+", "All current replicas, old and new.")
    adding_replicas: list[int] = field(Array(Int32), "0+", "The replicas that are being added.")
    removing_replicas: list[int] = field(
        Array(Int32), "0+", "The replicas that are removed at the end."
    )


class OngoingTopicReassignment(Struct):
    """The partitions of one topic that are being moved."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[OngoingPartitionReassignment] = field(
        Array(OngoingPartitionReassignment), "0+", "The partitions."
    )


class ListPartitionReassignmentsResponse(
    Message, key=ApiKey.LIST_PARTITION_REASSIGNMENTS, valid="0", flexible="0+"
):
    """The partitions that are being moved (Kafka: ListPartitionReassignmentsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    error_code: int = field(Int16, "0+", "The error of the whole request, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")
    topics: list[OngoingTopicReassignment] = field(
        Array(OngoingTopicReassignment), "0+", "The topics."
    )
