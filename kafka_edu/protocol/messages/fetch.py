"""Fetch (key 1): consumers and followers read record batches from the log."""

from kafka_edu.common.transport import Part
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int8, Int16, Int32, Int64, Records, String


class FetchPartition(Struct):
    """From where on, and how much, to read of one partition."""

    partition: int = field(Int32, "0+", "The partition.")
    current_leader_epoch: int = field(
        Int32,
        "9+",
        "The leader epoch the sender knows; fences a stale leader or a stale sender; -1: do not"
        " check (KIP-320).",
        default=-1,
        ignorable=True,
    )
    fetch_offset: int = field(
        Int64, "0+", "The offset to read from. A follower's tells the leader its LEO."
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
        Int32, "0+", "The most bytes of this partition (max.partition.fetch.bytes)."
    )


class FetchTopic(Struct):
    """The partitions of one topic to read."""

    topic: str = field(String, "0+", "The topic.")
    partitions: list[FetchPartition] = field(Array(FetchPartition), "0+", "Its partitions.")


class ForgottenTopic(Struct):
    """Partitions of one topic that leave the session (KIP-227)."""

    topic: str = field(String, "7+", "The topic.")
    partitions: list[int] = field(Array(Int32), "7+", "The partitions.")


class FetchRequest(Message, key=ApiKey.FETCH, valid="0-12", flexible="12+"):
    """Asks for records from given offsets on (Kafka: FetchRequest.json; book §6.3.2).

    From version 7 on a fetch may belong to a session (KIP-227): then it lists only the partitions
    that changed since the last one. From version 12 on a follower learns of divergence from the
    response (KIP-595) and needs no OffsetForLeaderEpoch.
    """

    cluster_id: str | None = field(
        String,
        "12+",
        "The cluster the sender takes this to be, or null; for raft only (KIP-595).",
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
        Int32, "0+", "Answer no sooner than this many bytes are there (fetch.min.bytes)."
    )
    max_bytes: int = field(
        Int32,
        "3+",
        "The most bytes of the whole response; the first batch comes even if it is larger"
        " (KIP-74).",
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
        "Counts the session's fetches: 0 opens a session, -1 asks without or closes (KIP-227).",
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
        "In a session, the partitions that are to be left out from now on (KIP-227).",
    )
    rack_id: str = field(
        String,
        "11+",
        "The consumer's rack, so that it may be sent to a follower there (KIP-392).",
        ignorable=True,
    )


class EpochEndOffset(Struct):
    """Where a leader epoch ends (KIP-595)."""

    epoch: int = field(
        Int32,
        "12+",
        "The largest epoch of the leader's log that is not above the follower's.",
        default=-1,
    )
    end_offset: int = field(
        Int64, "12+", "The offset behind that epoch's last record: truncate to it.", default=-1
    )


class LeaderIdAndEpoch(Struct):
    """A leader and the epoch of its election (KIP-595)."""

    leader_id: int = field(Int32, "12+", "The leader's broker id; -1 if unknown.", default=-1)
    leader_epoch: int = field(Int32, "12+", "Its epoch; -1 if unknown.", default=-1)


class SnapshotId(Struct):
    """A raft snapshot (KIP-630); a broker with ZooKeeper never sends one."""

    end_offset: int = field(Int64, "0+", "The offset behind the last record it holds.", default=-1)
    epoch: int = field(Int32, "0+", "The epoch of that record.", default=-1)


class AbortedTransaction(Struct):
    """An aborted transaction that reaches into the fetched range (KIP-98)."""

    producer_id: int = field(
        Int64, "4+", "The producer whose records to skip, up to its abort marker."
    )
    first_offset: int = field(Int64, "4+", "The offset of the transaction's first record.")


class FetchablePartitionResponse(Struct):
    """The result for one partition. Invariant: log start offset ≤ LSO ≤ HW."""

    partition: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")
    high_watermark: int = field(Int64, "0+", "The offset below which the whole ISR has everything.")
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
        "If the follower's log diverges: the largest epoch not above its own, and where that ends"
        " (KIP-595).",
        tag=0,
    )
    current_leader: LeaderIdAndEpoch = field(
        LeaderIdAndEpoch,
        "12+",
        "The leader and its epoch, if the sender's are out of date; raft only (KIP-595).",
        tag=1,
    )
    snapshot_id: SnapshotId = field(
        SnapshotId, "12+", "The snapshot to fetch instead of the log; raft only (KIP-630).", tag=2
    )
    aborted_transactions: list[AbortedTransaction] | None = field(
        Array(AbortedTransaction),
        "4+",
        "Transactions a read_committed consumer must skip here; null for read_uncommitted"
        " (KIP-98).",
        nullable="4+",
        ignorable=True,
    )
    preferred_read_replica: int = field(
        Int32, "11+", "The follower to read from instead; -1: stay (KIP-392).", default=-1
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
    """The records, and the watermarks beside them (Kafka: FetchResponse.json).

    In a session a partition is left out if it has neither records nor news.
    """

    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must keep silent because it went over a quota, in ms (KIP-13).",
        ignorable=True,
    )
    error_code: int = field(Int16, "7+", "An error of the session, or 0 (KIP-227).", ignorable=True)
    session_id: int = field(Int32, "7+", "The session this belongs to; 0: there is none (KIP-227).")
    responses: list[FetchableTopicResponse] = field(
        Array(FetchableTopicResponse), "0+", "The results, by topic."
    )
