"""AddPartitionsToTxn (key 24): announce that a transaction will write to partitions (KIP-98)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, Int64, String


class AddPartitionsToTxnTopic(Struct):
    """The partitions of one topic to which the transaction will write."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[int] = field(Array(Int32), "0+", "The partitions.")


class AddPartitionsToTxnRequest(
    Message, key=ApiKey.ADD_PARTITIONS_TO_TXN, valid="0-3", flexible="3+"
):
    """The partitions that will be written (Kafka: AddPartitionsToTxnRequest.json)."""

    transactional_id: str = field(String, "0+", "The producer's transactional id.")
    producer_id: int = field(Int64, "0+", "The producer's id.")
    producer_epoch: int = field(Int16, "0+", "The producer's epoch.")
    topics: list[AddPartitionsToTxnTopic] = field(
        Array(AddPartitionsToTxnTopic),
        "0+",
        "The partitions that the transaction is going to write.",
    )


class AddPartitionsToTxnPartitionResult(Struct):
    """The result for one partition."""

    partition_index: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")


class AddPartitionsToTxnTopicResult(Struct):
    """Results for one topic."""

    name: str = field(String, "0+", "The topic.")
    results: list[AddPartitionsToTxnPartitionResult] = field(
        Array(AddPartitionsToTxnPartitionResult), "0+", "The results."
    )


class AddPartitionsToTxnResponse(
    Message, key=ApiKey.ADD_PARTITIONS_TO_TXN, valid="0-3", flexible="3+"
):
    """The result for each partition (Kafka: AddPartitionsToTxnResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    results: list[AddPartitionsToTxnTopicResult] = field(
        Array(AddPartitionsToTxnTopicResult), "0+", "The results."
    )
