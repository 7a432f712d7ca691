"""ControlledShutdown (key 7): a broker asks the controller to move its leaders away.

The broker sends it when it is about to stop.
"""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, Int64, String


class ControlledShutdownRequest(
    Message, key=ApiKey.CONTROLLED_SHUTDOWN, valid="0-3", flexible="3+"
):
    """Announce that a broker is about to stop (Kafka: ControlledShutdownRequest.json; book §6.4.2).

    Version 0 has a header without client id; no other request has that.
    """

    broker_id: int = field(
        Int32,
        "0+",
        "The broker that is about to stop. As the book shows, any sender may name any broker.",
    )
    broker_epoch: int = field(
        Int64,
        "2+",
        "The czxid of that broker's registration; -1: do not check (KIP-380).",
        default=-1,
        ignorable=True,
    )


class RemainingPartition(Struct):
    """A partition whose leader could not be moved."""

    topic_name: str = field(String, "0+", "The topic.")
    partition_index: int = field(Int32, "0+", "The partition.")


class ControlledShutdownResponse(
    Message, key=ApiKey.CONTROLLED_SHUTDOWN, valid="0-3", flexible="3+"
):
    """The partitions that the broker still leads (Kafka: ControlledShutdownResponse.json).

    The shutdown may go on if the error is 0 and no partition remains.
    """

    error_code: int = field(Int16, "0+", "The error, or 0.")
    remaining_partitions: list[RemainingPartition] = field(
        Array(RemainingPartition), "0+", "The partitions that the broker still leads."
    )
