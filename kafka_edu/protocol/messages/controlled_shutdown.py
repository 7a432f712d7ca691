"""ControlledShutdown (key 7): make the controller elect other leaders for a stopping broker.

The broker sends this request before it stops.
"""

from typing import Final

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, Int64, String

EPOCH_NOT_CHECKED: Final = -1
"""The broker epoch in a request without an epoch. The controller does not check this epoch."""


class ControlledShutdownRequest(
    Message, key=ApiKey.CONTROLLED_SHUTDOWN, valid="0-3", flexible="3+"
):
    """The broker that will stop soon (Kafka: ControlledShutdownRequest.json; book §6.4.2).

    The header of version 0 has no client id. No other request has such a header.
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
        default=EPOCH_NOT_CHECKED,
        ignorable=True,
    )


class RemainingPartition(Struct):
    """A partition that this broker still leads, because no other broker could become its leader."""

    topic_name: str = field(String, "0+", "The topic.")
    partition_index: int = field(Int32, "0+", "The partition.")


class ControlledShutdownResponse(
    Message, key=ApiKey.CONTROLLED_SHUTDOWN, valid="0-3", flexible="3+"
):
    """The partitions that the broker still leads (Kafka: ControlledShutdownResponse.json).

    If the error is 0 and no partition remains, the broker may stop.
    """

    error_code: int = field(Int16, "0+", "The error, or 0.")
    remaining_partitions: list[RemainingPartition] = field(
        Array(RemainingPartition), "0+", "The partitions that the broker still leads."
    )
