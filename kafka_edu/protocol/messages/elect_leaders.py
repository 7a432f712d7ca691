"""ElectLeaders (key 43): make the controller elect leaders of partitions (KIP-183, KIP-460)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int8, Int16, Int32, String


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic: str = field(String, "0+", "The topic.")
    partition_id: list[int] = field(Array(Int32), "0+", "The partitions.")


class ElectLeadersRequest(Message, key=ApiKey.ELECT_LEADERS, valid="0-2", flexible="2+"):
    """The partitions for which to elect a leader (Kafka: ElectLeadersRequest.json)."""

    election_type: int = field(Int8, "1+", "0 preferred, 1 unclean (KIP-460).")
    topic_partitions: list[TopicPartitions] | None = field(
        Array(TopicPartitions), "0+", "The partitions; null: all.", nullable="0+"
    )
    timeout_ms: int = field(
        Int32, "0+", "How long the broker may take to answer, in ms.", default=60000
    )


class PartitionResult(Struct):
    """The result for one partition."""

    partition_id: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")


class ReplicaElectionResult(Struct):
    """Results for one topic."""

    topic: str = field(String, "0+", "The topic.")
    partition_result: list[PartitionResult] = field(
        Array(PartitionResult), "0+", "The results, by partition."
    )


class ElectLeadersResponse(Message, key=ApiKey.ELECT_LEADERS, valid="0-2", flexible="2+"):
    """The result for each partition (Kafka: ElectLeadersResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    error_code: int = field(Int16, "1+", "The error of the whole request, or 0.", ignorable=True)
    replica_election_results: list[ReplicaElectionResult] = field(
        Array(ReplicaElectionResult), "0+", "The results, by topic."
    )
