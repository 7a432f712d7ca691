"""DescribeProducers (key 61): return the producers known to a partition's leader (KIP-664)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, Int64, String


class TopicRequest(Struct):
    """Partitions of one topic."""

    name: str = field(String, "0+", "The topic.")
    partition_indexes: list[int] = field(Array(Int32), "0+", "The partitions.")


class DescribeProducersRequest(Message, key=ApiKey.DESCRIBE_PRODUCERS, valid="0", flexible="0+"):
    """The partitions to describe (Kafka: DescribeProducersRequest.json)."""

    topics: list[TopicRequest] = field(Array(TopicRequest), "0+", "The topics.")


class ProducerState(Struct):
    """One producer as a partition's leader knows it: its epoch, its last batch and its
    transaction.
    """

    producer_id: int = field(Int64, "0+", "The producer's id.")
    producer_epoch: int = field(Int32, "0+", "The producer's epoch.")
    last_sequence: int = field(
        Int32, "0+", "The sequence number of the producer's last record; -1 if none.", default=-1
    )
    last_timestamp: int = field(
        Int64, "0+", "The timestamp of the producer's last batch, in ms since 1970.", default=-1
    )
    coordinator_epoch: int = field(
        Int32,
        "0+",
        "The epoch of the coordinator that wrote the producer's last marker; -1 if none.",
    )
    current_txn_start_offset: int = field(
        Int64,
        "0+",
        "The first offset of the producer's open transaction; -1 if none is open.",
        default=-1,
    )


class PartitionResponse(Struct):
    """One partition and its producers, or its error."""

    partition_index: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(
        String, "0+", "What went wrong, or null.", nullable="0+", default=None
    )
    active_producers: list[ProducerState] = field(
        Array(ProducerState), "0+", "The producers that the partition's leader remembers."
    )


class TopicResponse(Struct):
    """The partitions of one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[PartitionResponse] = field(Array(PartitionResponse), "0+", "The partitions.")


class DescribeProducersResponse(Message, key=ApiKey.DESCRIBE_PRODUCERS, valid="0", flexible="0+"):
    """The producers of each partition (Kafka: DescribeProducersResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    topics: list[TopicResponse] = field(Array(TopicResponse), "0+", "The topics.")
