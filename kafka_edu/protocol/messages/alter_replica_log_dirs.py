"""AlterReplicaLogDirs (key 34): move replicas to other log dirs of their broker (KIP-113)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, String


class AlterReplicaLogDirTopic(Struct):
    """The partitions of one topic that move to the log dir."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[int] = field(Array(Int32), "0+", "The partitions.")


class AlterReplicaLogDir(Struct):
    """One log dir, and the partitions to move there."""

    path: str = field(String, "0+", "The absolute path of the log dir.")
    topics: list[AlterReplicaLogDirTopic] = field(
        Array(AlterReplicaLogDirTopic), "0+", "The partitions to move there."
    )


class AlterReplicaLogDirsRequest(
    Message, key=ApiKey.ALTER_REPLICA_LOG_DIRS, valid="0-2", flexible="2+"
):
    """The log dirs, and the replicas to move there (Kafka: AlterReplicaLogDirsRequest.json)."""

    dirs: list[AlterReplicaLogDir] = field(
        Array(AlterReplicaLogDir), "0+", "The log dirs to move to."
    )


class AlterReplicaLogDirPartitionResult(Struct):
    """The result for one partition."""

    partition_index: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")


class AlterReplicaLogDirTopicResult(Struct):
    """Results for one topic."""

    topic_name: str = field(String, "0+", "The topic.")
    partitions: list[AlterReplicaLogDirPartitionResult] = field(
        Array(AlterReplicaLogDirPartitionResult), "0+", "The partitions."
    )


class AlterReplicaLogDirsResponse(
    Message, key=ApiKey.ALTER_REPLICA_LOG_DIRS, valid="0-2", flexible="2+"
):
    """The result for each replica (Kafka: AlterReplicaLogDirsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    results: list[AlterReplicaLogDirTopicResult] = field(
        Array(AlterReplicaLogDirTopicResult), "0+", "The results."
    )
