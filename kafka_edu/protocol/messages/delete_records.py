"""DeleteRecords (key 21): delete the oldest records of partitions (KIP-107)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, Int64, String


class DeleteRecordsPartition(Struct):
    """One partition, and the offset below which its records are deleted."""

    partition_index: int = field(Int32, "0+", "The partition.")
    offset: int = field(
        Int64, "0+", "Records before this offset are deleted; -1: all before the high watermark."
    )


class DeleteRecordsTopic(Struct):
    """Partitions of one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[DeleteRecordsPartition] = field(
        Array(DeleteRecordsPartition), "0+", "The partitions."
    )


class DeleteRecordsRequest(Message, key=ApiKey.DELETE_RECORDS, valid="0-2", flexible="2+"):
    """The offsets below which records are deleted (Kafka: DeleteRecordsRequest.json)."""

    topics: list[DeleteRecordsTopic] = field(Array(DeleteRecordsTopic), "0+", "The topics.")
    timeout_ms: int = field(Int32, "0+", "How long the broker may take to answer, in ms.")


class DeleteRecordsPartitionResult(Struct):
    """The least log start offset of one partition's live replicas, or the partition's error."""

    partition_index: int = field(Int32, "0+", "The partition.")
    low_watermark: int = field(
        Int64, "0+", "The lowest log start offset among the replicas after the deletion."
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")


class DeleteRecordsTopicResult(Struct):
    """Results for one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[DeleteRecordsPartitionResult] = field(
        Array(DeleteRecordsPartitionResult), "0+", "The partitions."
    )


class DeleteRecordsResponse(Message, key=ApiKey.DELETE_RECORDS, valid="0-2", flexible="2+"):
    """For each partition, the least log start offset of its live replicas (Kafka:
    DeleteRecordsResponse.json).
    """

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    topics: list[DeleteRecordsTopicResult] = field(
        Array(DeleteRecordsTopicResult), "0+", "The topics."
    )
