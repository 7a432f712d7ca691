"""The data that consumers exchange through the group coordinator. The coordinator does not decode
it.

(Kafka: ConsumerProtocol*.json; KIP-429.) Each value begins with its version, an int16.
"""

from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int32, String


class OwnedTopicPartitions(Struct):
    """The partitions of one topic that the member has at present."""

    topic: str = field(String, "1+", "The topic.", ignorable=True)
    partitions: list[int] = field(Array(Int32), "1+", "The partitions.", ignorable=True)


class ConsumerProtocolSubscription(Message, valid="0-1", flexible="none"):
    """A member's subscribed topics and current partitions: the metadata in its JoinGroup
    request.
    """

    topics: list[str] = field(Array(String), "0+", "The topics that the member subscribes to.")
    user_data: bytes | None = field(
        Bytes, "0+", "Free data of the assignor.", nullable="0+", default=None
    )
    owned_partitions: list[OwnedTopicPartitions] = field(
        Array(OwnedTopicPartitions),
        "1+",
        "The partitions that the member consumes at the moment (KIP-429).",
        ignorable=True,
    )


class AssignedTopicPartitions(Struct):
    """The partitions of one topic that the member gets."""

    topic: str = field(String, "0+", "The topic.")
    partitions: list[int] = field(Array(Int32), "0+", "The partitions.")


class ConsumerProtocolAssignment(Message, valid="0-1", flexible="none"):
    """The partitions assigned to a member: the assignment in its SyncGroup response."""

    assigned_partitions: list[AssignedTopicPartitions] = field(
        Array(AssignedTopicPartitions), "0+", "The partitions that the member consumes from now on."
    )
    user_data: bytes | None = field(
        Bytes, "0+", "Free data of the assignor.", nullable="0+", default=None
    )
