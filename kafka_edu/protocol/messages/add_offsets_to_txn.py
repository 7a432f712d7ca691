"""AddOffsetsToTxn (key 25): announce that a transaction will commit a group's offsets (KIP-98)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import Int16, Int32, Int64, String


class AddOffsetsToTxnRequest(Message, key=ApiKey.ADD_OFFSETS_TO_TXN, valid="0-3", flexible="3+"):
    """The transaction, and the group whose offsets it will commit.

    (Kafka: AddOffsetsToTxnRequest.json.)
    """

    transactional_id: str = field(String, "0+", "The producer's transactional id.")
    producer_id: int = field(Int64, "0+", "The producer's id.")
    producer_epoch: int = field(Int16, "0+", "The producer's epoch.")
    group_id: str = field(
        String, "0+", "The group whose offsets the transaction is going to commit."
    )


class AddOffsetsToTxnResponse(Message, key=ApiKey.ADD_OFFSETS_TO_TXN, valid="0-3", flexible="3+"):
    """Whether the group was added to the transaction (Kafka: AddOffsetsToTxnResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
