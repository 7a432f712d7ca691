"""InitProducerId (key 22): give a producer its id and epoch (KIP-98).

Brokers recognise the batches of a producer by its id and epoch.
"""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import Int16, Int32, Int64, String


class InitProducerIdRequest(Message, key=ApiKey.INIT_PRODUCER_ID, valid="0-4", flexible="2+"):
    """The producer that wants an id and an epoch (Kafka: InitProducerIdRequest.json).

    A producer without a transactional id may send this to any broker, which takes the producer id
    from its own block of ids. A producer with a transactional id must send it to the transaction
    coordinator of that id.
    """

    transactional_id: str | None = field(
        String,
        "0+",
        "The transactional id, or null for a producer that is only idempotent.",
        nullable="0+",
    )
    transaction_timeout_ms: int = field(
        Int32, "0+", "The time after which the coordinator aborts an open transaction, in ms."
    )
    producer_id: int = field(
        Int64,
        "3+",
        "The current id of a producer that wants its epoch raised; -1: none (KIP-360).",
        default=-1,
    )
    producer_epoch: int = field(
        Int16, "3+", "The current epoch of that producer; -1: none (KIP-360).", default=-1
    )


class InitProducerIdResponse(Message, key=ApiKey.INIT_PRODUCER_ID, valid="0-4", flexible="2+"):
    """The producer's id and epoch (Kafka: InitProducerIdResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    producer_id: int = field(Int64, "0+", "The producer id, unique in the cluster.", default=-1)
    producer_epoch: int = field(
        Int16, "0+", "The epoch; a higher one fences producers with the same id."
    )
