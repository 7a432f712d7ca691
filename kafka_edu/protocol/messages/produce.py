"""Produce (key 0): a producer sends record batches to the leaders of partitions."""

from kafka_edu.common.transport import Part
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, Int64, Records, String


class PartitionProduceData(Struct):
    """The records to append to one partition."""

    index: int = field(Int32, "0+", "The partition.")
    records: Part | None = field(
        Records,
        "0+",
        "Record batches, in the form that they will have in the log.",
        nullable="0+",
        default=None,
    )


class TopicProduceData(Struct):
    """The records to append to partitions of one topic."""

    name: str = field(String, "0+", "The topic.")
    partition_data: list[PartitionProduceData] = field(
        Array(PartitionProduceData), "0+", "The records, by partition."
    )


class ProduceRequest(Message, key=ApiKey.PRODUCE, valid="0-9", flexible="9+"):
    """The records to append to partitions (Kafka: ProduceRequest.json; book §6.1).

    The receiver must be the leader of these partitions. Versions 0 and 1 contain message sets of
    magic 0, version 2 those of magic 1. From version 3 on, the request contains record batches of
    magic 2 (KIP-98). With acks=0 there is no response.
    """

    transactional_id: str | None = field(
        String,
        "3+",
        "The producer's transactional id, or null outside transactions (KIP-98).",
        nullable="3+",
        default=None,
    )
    acks: int = field(
        Int16,
        "0+",
        "When to answer: 0 never, 1 when the leader has the records, -1 when the whole ISR"
        " has them.",
    )
    timeout_ms: int = field(Int32, "0+", "How long the leader may wait for the ISR, in ms.")
    topic_data: list[TopicProduceData] = field(
        Array(TopicProduceData), "0+", "The records, by topic."
    )


class BatchIndexAndErrorMessage(Struct):
    """A record because of which the batch was refused (KIP-467)."""

    batch_index: int = field(Int32, "8+", "The position of the record in the batch, from 0.")
    batch_index_error_message: str | None = field(
        String, "8+", "What is wrong with the record, or null.", nullable="8+", default=None
    )


class PartitionProduceResponse(Struct):
    """The result for one partition."""

    index: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")
    base_offset: int = field(
        Int64, "0+", "The offset of the first record; -1 if there is an error."
    )
    log_append_time_ms: int = field(
        Int64,
        "2+",
        "When the leader appended the records, in ms since 1970, if the topic uses log-append"
        " time; else -1 (KIP-32).",
        default=-1,
        ignorable=True,
    )
    log_start_offset: int = field(
        Int64,
        "5+",
        "The first offset that the log still has. With it, an idempotent producer can tell"
        " loss from expiry (KIP-192).",
        default=-1,
        ignorable=True,
    )
    record_errors: list[BatchIndexAndErrorMessage] = field(
        Array(BatchIndexAndErrorMessage),
        "8+",
        "The invalid records, because of which the batch was refused (KIP-467).",
        ignorable=True,
    )
    error_message: str | None = field(
        String,
        "8+",
        "What is wrong with the batch as a whole, or null (KIP-467).",
        nullable="8+",
        default=None,
        ignorable=True,
    )


class TopicProduceResponse(Struct):
    """Results for one topic."""

    name: str = field(String, "0+", "The topic.")
    partition_responses: list[PartitionProduceResponse] = field(
        Array(PartitionProduceResponse), "0+", "The results, by partition."
    )


class ProduceResponse(Message, key=ApiKey.PRODUCE, valid="0-9", flexible="9+"):
    """The result for each partition (Kafka: ProduceResponse.json).

    A result has the offset of the first appended record, or an error.
    """

    responses: list[TopicProduceResponse] = field(
        Array(TopicProduceResponse), "0+", "The results, by topic."
    )
    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
