"""What consumers say to each other through the coordinator, which only passes it on (Kafka:
ConsumerProtocol*.json; KIP-429).

Each is preceded by its version, an int16.
"""

from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int32, String


class OwnedTopicPartitions(Struct):
    """Partitions of one topic."""

    topic: str = field(String, "1+", "The topic.", ignorable=True)
    partitions: list[int] = field(Array(Int32), "1+", "The partitions.", ignorable=True)


class ConsumerProtocolSubscription(Message, valid="0-1", flexible="none"):
    """What a member wants, and has; the metadata of its JoinGroup."""

    topics: list[str] = field(Array(String), "0+", "What the member wants to consume.")
    user_data: bytes | None = field(
        Bytes, "0+", "Whatever the assignor wants to say.", nullable="0+", default=None
    )
    owned_partitions: list[OwnedTopicPartitions] = field(
        Array(OwnedTopicPartitions),
        "1+",
        "What it consumes at the moment (KIP-429).",
        ignorable=True,
    )


class AssignedTopicPartitions(Struct):
    """Partitions of one topic."""

    topic: str = field(String, "0+", "The topic.")
    partitions: list[int] = field(Array(Int32), "0+", "The partitions.")


class ConsumerProtocolAssignment(Message, valid="0-1", flexible="none"):
    """What a member gets; the assignment of its SyncGroup."""

    assigned_partitions: list[AssignedTopicPartitions] = field(
        Array(AssignedTopicPartitions), "0+", "What the member consumes."
    )
    user_data: bytes | None = field(
        Bytes, "0+", "Whatever the assignor wants to say.", nullable="0+", default=None
    )
