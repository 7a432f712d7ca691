"""Fetch (key 1): read record batches from the log; consumers and followers send it."""

from kafka_edu.common.transport import Part
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int8, Int16, Int32, Int64, Records, String


class FetchPartition(Struct):
    """One partition: the offset to read from, and the maximum number of bytes to read."""

    partition: int = field(Int32, "0+", "The partition.")
    current_leader_epoch: int = field(
        Int32,
        "9+",
        "The leader epoch that the sender knows, which fences a stale leader or sender; -1:"
        " do not check (KIP-320).",
        default=-1,
        ignorable=True,
    )
    fetch_offset: int = field(
        Int64,
        "0+",
        "The offset to read from. In a fetch of a follower, this is also the follower's LEO.",
    )
    last_fetched_epoch: int = field(
        Int32,
        "12+",
        "The epoch of the last record the follower has; -1 if there is none (KIP-595).",
        default=-1,
    )
    log_start_offset: int = field(
        Int64,
        "5+",
        "The follower's log start offset, for the low watermark; -1 for a consumer (KIP-107).",
        default=-1,
        ignorable=True,
    )
    partition_max_bytes: int = field(
        Int32, "0+", "The maximum number of bytes of this partition (max.partition.fetch.bytes)."
    )


class FetchTopic(Struct):
    """The partitions of one topic to read."""

    topic: str = field(String, "0+", "The topic.")
    partitions: list[FetchPartition] = field(Array(FetchPartition), "0+", "Its partitions.")


class ForgottenTopic(Struct):
    """The partitions of one topic that are removed from the fetch session (KIP-227)."""

    topic: str = field(String, "7+", "The topic.")
    partitions: list[int] = field(Array(Int32), "7+", "The partitions.")


class FetchRequest(Message, key=ApiKey.FETCH, valid="0-12", flexible="12+"):
    """Read records from given offsets on (Kafka: FetchRequest.json; book §6.3.2).

    From version 7 on, a fetch may belong to a session (KIP-227). A fetch in a session lists only
    the partitions that have changed since the last fetch. From version 12 on, the response says
    where a follower's log diverges from the leader's (KIP-595), so the follower needs no
    OffsetForLeaderEpoch.
    """

    cluster_id: str | None = field(
        String,
        "12+",
        "The cluster that the sender expects, or null; only for raft (KIP-595).",
        nullable="12+",
        default=None,
        tag=0,
        ignorable=True,
    )
    replica_id: int = field(Int32, "0+", "The follower's broker id; -1 for a consumer.")
    max_wait_ms: int = field(
        Int32, "0+", "How long the broker may wait for `min_bytes`, in ms (fetch.max.wait.ms)."
    )
    min_bytes: int = field(
        Int32, "0+", "Wait until this many bytes are available (fetch.min.bytes)."
    )
    max_bytes: int = field(
        Int32,
        "3+",
        "The maximum number of bytes of the whole response. The first batch is returned even"
        " if it is larger (KIP-74).",
        default=0x7FFFFFFF,
        ignorable=True,
    )
    isolation_level: int = field(
        Int8, "4+", "0 read_uncommitted, 1 read_committed (KIP-98).", ignorable=True
    )
    session_id: int = field(
        Int32,
        "7+",
        "The fetch session, or 0 to have none or to open one (KIP-227).",
        ignorable=True,
    )
    session_epoch: int = field(
        Int32,
        "7+",
        "The number of this fetch in the session: 0 opens a session, -1 means no session or"
        " closes it (KIP-227).",
        default=-1,
        ignorable=True,
    )
    topics: list[FetchTopic] = field(
        Array(FetchTopic),
        "0+",
        "The partitions to read; in a session, those that are new or changed.",
    )
    forgotten_topics_data: list[ForgottenTopic] = field(
        Array(ForgottenTopic),
        "7+",
        "In a session, the partitions to remove from it (KIP-227).",
    )
    rack_id: str = field(
        String,
        "11+",
        "The consumer's rack. The leader may name a follower there to read from (KIP-392).",
        ignorable=True,
    )


class EpochEndOffset(Struct):
    """A leader epoch, and the offset where it ends in the leader's log (KIP-595)."""

    epoch: int = field(
        Int32,
        "12+",
        "The largest epoch of the leader's log that is not above the follower's.",
        default=-1,
    )
    end_offset: int = field(
        Int64,
        "12+",
        "The offset after that epoch's last record; the follower truncates to it.",
        default=-1,
    )


class LeaderIdAndEpoch(Struct):
    """A leader and the epoch of its election (KIP-595)."""

    leader_id: int = field(Int32, "12+", "The leader's broker id; -1 if unknown.", default=-1)
    leader_epoch: int = field(Int32, "12+", "Its epoch; -1 if unknown.", default=-1)


class SnapshotId(Struct):
    """A Raft snapshot (KIP-630). A broker with ZooKeeper never sends one."""

    end_offset: int = field(
        Int64, "0+", "The offset after the last record of the snapshot.", default=-1
    )
    epoch: int = field(Int32, "0+", "The epoch of that record.", default=-1)


class AbortedTransaction(Struct):
    """An aborted transaction that overlaps the fetched records (KIP-98)."""

    producer_id: int = field(
        Int64, "4+", "The producer whose records must be skipped, up to its abort marker."
    )
    first_offset: int = field(Int64, "4+", "The offset of the transaction's first record.")


class FetchablePartitionResponse(Struct):
    """The result for one partition. In it, log start offset ≤ LSO ≤ HW."""

    partition: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")
    high_watermark: int = field(
        Int64,
        "0+",
        "The high watermark: every replica of the ISR has all records below this offset.",
    )
    last_stable_offset: int = field(
        Int64,
        "4+",
        "The offset below which every transaction is decided; -1 if unknown (KIP-98).",
        default=-1,
        ignorable=True,
    )
    log_start_offset: int = field(
        Int64,
        "5+",
        "The first offset that the log still has (KIP-107).",
        default=-1,
        ignorable=True,
    )
    diverging_epoch: EpochEndOffset = field(
        EpochEndOffset,
        "12+",
        "Set if the follower's log diverges: the largest epoch that is not above the"
        " follower's, and where it ends (KIP-595).",
        tag=0,
    )
    current_leader: LeaderIdAndEpoch = field(
        LeaderIdAndEpoch,
        "12+",
        "The leader and its epoch, if the sender knows an old one; only for raft (KIP-595).",
        tag=1,
    )
    snapshot_id: SnapshotId = field(
        SnapshotId,
        "12+",
        "The snapshot to fetch instead of the log; only for raft (KIP-630).",
        tag=2,
    )
    aborted_transactions: list[AbortedTransaction] | None = field(
        Array(AbortedTransaction),
        "4+",
        "Transactions whose records a read_committed consumer must skip; null for"
        " read_uncommitted (KIP-98).",
        nullable="4+",
        ignorable=True,
    )
    preferred_read_replica: int = field(
        Int32,
        "11+",
        "The follower to read from instead; -1: keep reading from this broker (KIP-392).",
        default=-1,
    )
    record_set: Part | None = field(
        Records, "0+", "Record batches; the last may be cut short.", nullable="0+", default=None
    )


class FetchableTopicResponse(Struct):
    """Results for one topic."""

    topic: str = field(String, "0+", "The topic.")
    partition_responses: list[FetchablePartitionResponse] = field(
        Array(FetchablePartitionResponse), "0+", "The results, by partition."
    )


class FetchResponse(Message, key=ApiKey.FETCH, valid="0-12", flexible="12+"):
    """The records and the offsets of each partition (Kafka: FetchResponse.json).

    In a fetch session, a partition without records and without changes is left out.
    """

    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    error_code: int = field(Int16, "7+", "An error of the session, or 0 (KIP-227).", ignorable=True)
    session_id: int = field(Int32, "7+", "The fetch session; 0: there is none (KIP-227).")
    responses: list[FetchableTopicResponse] = field(
        Array(FetchableTopicResponse), "0+", "The results, by topic."
    )
