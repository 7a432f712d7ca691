"""The keys and values of the records in `__transaction_state`.

(Kafka: TransactionLogKey.json, TransactionLogValue.json.) Each key and value begins with its
version, an int16. A null value is a tombstone.
"""

from typing import Final

from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int8, Int16, Int32, Int64, String

#: The names of the states of a transaction. The index of a state is its number in the records.
TRANSACTION_STATES: Final = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)


class TransactionLogKey(Message, valid="0", flexible="none"):
    """The transactional id that the record describes."""

    transactional_id: str = field(String, "0", "The producer's transactional id.")


class PartitionsSchema(Struct):
    """The partitions of one topic to which the transaction writes."""

    topic: str = field(String, "0", "The topic.")
    partition_ids: list[int] = field(Array(Int32), "0", "The partitions.")


class TransactionLogValue(Message, valid="0", flexible="none"):
    """The state of a transactional id: its producer, and its present transaction."""

    producer_id: int = field(Int64, "0", "The producer's id.")
    producer_epoch: int = field(Int16, "0", "The producer's epoch.")
    transaction_timeout_ms: int = field(
        Int32, "0", "How long the transaction may stay open, in ms."
    )
    transaction_status: int = field(
        Int8,
        "0",
        "0 Empty, 1 Ongoing, 2 PrepareCommit, 3 PrepareAbort, 4 CompleteCommit, 5 CompleteAbort, 6"
        " Dead, 7 PrepareEpochFence.",
    )
    transaction_partitions: list[PartitionsSchema] | None = field(
        Array(PartitionsSchema),
        "0",
        "The partitions of the transaction; null if it has none.",
        nullable="0",
    )
    transaction_last_update_timestamp_ms: int = field(
        Int64, "0", "When the state changed last, in ms since 1970."
    )
    transaction_start_timestamp_ms: int = field(
        Int64, "0", "When the transaction began, in ms since 1970; -1 if it has not begun."
    )
