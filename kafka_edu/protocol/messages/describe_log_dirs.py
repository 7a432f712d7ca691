"""DescribeLogDirs (key 35): return the contents and sizes of log dirs (KIP-113)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int16, Int32, Int64, String


class DescribableLogDirTopic(Struct):
    """Partitions of one topic."""

    topic: str = field(String, "0+", "The topic.")
    partition_index: list[int] = field(Array(Int32), "0+", "The partitions.")


class DescribeLogDirsRequest(Message, key=ApiKey.DESCRIBE_LOG_DIRS, valid="0-2", flexible="2+"):
    """The partitions to describe (Kafka: DescribeLogDirsRequest.json)."""

    topics: list[DescribableLogDirTopic] | None = field(
        Array(DescribableLogDirTopic), "0+", "The partitions; null: all.", nullable="0+"
    )


class DescribeLogDirsPartition(Struct):
    """One partition in the log dir: its size in bytes, and by how many offsets its log lags
    behind.
    """

    partition_index: int = field(Int32, "0+", "The partition.")
    partition_size: int = field(Int64, "0+", "The bytes of its segments.")
    offset_lag: int = field(
        Int64,
        "0+",
        "High watermark minus the log end offset. For a copy that is being moved: the log end"
        " offset of the replica minus that of the copy.",
    )
    is_future_key: bool = field(
        Bool, "0+", "Whether this is a copy that is being moved into this log dir (KIP-113)."
    )


class DescribeLogDirsTopic(Struct):
    """The partitions of one topic in the log dir."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[DescribeLogDirsPartition] = field(
        Array(DescribeLogDirsPartition), "0+", "The partitions."
    )


class DescribeLogDirsResult(Struct):
    """One log dir and its partitions, or its error."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    log_dir: str = field(String, "0+", "The absolute path of the log dir.")
    topics: list[DescribeLogDirsTopic] = field(Array(DescribeLogDirsTopic), "0+", "The topics.")


class DescribeLogDirsResponse(Message, key=ApiKey.DESCRIBE_LOG_DIRS, valid="0-2", flexible="2+"):
    """The contents of each log dir of the broker (Kafka: DescribeLogDirsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    results: list[DescribeLogDirsResult] = field(Array(DescribeLogDirsResult), "0+", "The results.")
