"""EndTxn (key 26): commit or abort a transaction (KIP-98)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import Bool, Int16, Int32, Int64, String


class EndTxnRequest(Message, key=ApiKey.END_TXN, valid="0-3", flexible="3+"):
    """The transaction, and whether to commit or abort it (Kafka: EndTxnRequest.json)."""

    transactional_id: str = field(String, "0+", "The producer's transactional id.")
    producer_id: int = field(Int64, "0+", "The producer's id.")
    producer_epoch: int = field(Int16, "0+", "The producer's epoch.")
    committed: bool = field(Bool, "0+", "True to commit, False to abort.")


class EndTxnResponse(Message, key=ApiKey.END_TXN, valid="0-3", flexible="3+"):
    """Whether the transaction was ended (Kafka: EndTxnResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
