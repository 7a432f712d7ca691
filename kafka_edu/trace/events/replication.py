"""Events of replication: who leads, who is in sync, how far each has come (spec R, D3).

A follower's fetch is known on both sides by (topic, partition, follower, fetch_offset); a change of
the ISR is known in ZooKeeper by its zk_version.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event


@event(joins=("topic", "partition", "leader_epoch", "controller_epoch"))
class BecameLeader(NamedTuple):
    """The partition's replica here leads from now on; its epoch starts at `start_offset`, its log
    end.
    """

    topic: str
    partition: int
    leader_epoch: int
    controller_epoch: int
    start_offset: int
    high_watermark: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    zk_version: int
    adding_replicas: tuple[int, ...] = ()
    """Of the replicas those that a reassignment brings: the partition is not under-replicated for
    want of them.
    """


@event(joins=("topic", "partition", "leader_epoch", "controller_epoch"))
class BecameFollower(NamedTuple):
    """The partition's replica here follows `leader` from now on. `leader` -1: nobody leads."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    controller_epoch: int
    log_end_offset: int
    high_watermark: int
    replicas: tuple[int, ...]


@event(joins=("topic", "partition", "leader_epoch"))
class ReplicaStopped(NamedTuple):
    """The controller had this broker stop its replica; `deleted`: its log goes too."""

    topic: str
    partition: int
    leader_epoch: int
    deleted: bool


@event()
class ReplicaMoveStarted(NamedTuple):
    """A replica began to move from one log dir of this broker to another: its log is being copied.
    `resumed`: the copy was there already when the broker started.
    """

    topic: str
    partition: int
    from_dir: str
    to_dir: str
    size: int
    """Bytes of the replica's log."""
    log_end_offset: int
    future_log_end_offset: int
    """The offset from which the copy goes on."""
    resumed: bool


@event()
class ReplicaMoveCompleted(NamedTuple):
    """The copy ended where the replica's log ended, and took its place. The old folder has a name
    with `-delete`.
    """

    topic: str
    partition: int
    from_dir: str
    to_dir: str
    log_end_offset: int
    copied_bytes: int
    took_ms: int


@event()
class ReplicaMoveEnded(NamedTuple):
    """A move between log dirs ended before its time: it was cancelled, or a dir failed. The
    replica stays where it is.
    """

    topic: str
    partition: int
    from_dir: str
    to_dir: str
    reason: str


@event()
class FutureLogTruncated(NamedTuple):
    """The copy of a moving replica was cut back: `reason` says where it and the replica's log
    part.
    """

    topic: str
    partition: int
    before: int
    after: int
    reason: str


@event(kind=Kind.GAUGE, thing=("topic", "partition"))
class ReplicaMoveProgress(NamedTuple):
    """How far the copy of a moving replica has come. `throttled`: the copier waits, because
    replica.alter.log.dirs.io.max.bytes.per.second is reached.
    """

    topic: str
    partition: int
    to_dir: str
    log_end_offset: int
    future_log_end_offset: int
    copied_bytes: int
    throttled: bool


@event()
class PartitionOffline(NamedTuple):
    """The disk below this replica failed; it serves nothing until the broker starts again."""

    topic: str
    partition: int


@event()
class ControllerEpochSeen(NamedTuple):
    """A request of a controller raised the epoch known here; requests of older controllers are
    refused from now on.
    """

    controller: int
    controller_epoch: int
    previous_epoch: int


@event()
class StaleControllerRefused(NamedTuple):
    """A request of a controller that has been replaced was refused (STALE_CONTROLLER_EPOCH)."""

    request: str
    controller: int
    controller_epoch: int
    current_epoch: int


@event(joins=("topic", "partition", "leader_epoch"))
class IsrChangeProposed(NamedTuple):
    """The leader wants another ISR and asks ZooKeeper to write it, if the znode still has
    `zk_version`. Until the answer the larger ISR holds.
    """

    topic: str
    partition: int
    leader_epoch: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    zk_version: int
    reason: str


@event(joins=("topic", "partition", "leader_epoch", "zk_version"))
class IsrShrunk(NamedTuple):
    """ZooKeeper took the smaller ISR; `zk_version` is the znode's new version."""

    topic: str
    partition: int
    leader_epoch: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    zk_version: int
    reason: str


@event(joins=("topic", "partition", "leader_epoch", "zk_version"))
class IsrExpanded(NamedTuple):
    """ZooKeeper took the larger ISR; `zk_version` is the znode's new version."""

    topic: str
    partition: int
    leader_epoch: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    zk_version: int
    reason: str


@event(joins=("topic", "partition", "leader_epoch"))
class IsrWriteFailed(NamedTuple):
    """The znode had another version: somebody else (the controller) wrote it. The leader leaves the
    ISR alone until the controller answers.
    """

    topic: str
    partition: int
    leader_epoch: int
    wanted: tuple[int, ...]
    zk_version: int


@event()
class IsrChangesPropagated(NamedTuple):
    """The controller learned, from a znode in /isr_change_notification, which ISRs have changed
    here.
    """

    partitions: tuple[str, ...]


@event(level=Level.HOPS, joins=("topic", "partition", "leader_epoch"))
class HighWatermarkAdvanced(NamedTuple):
    """More records are committed. On a follower `is_leader` is false, and the mark is one that the
    leader sent.

    Told at level `state` when a fact moves it (an ISR change, a new leader), or when it completes a
    produce that waited long or is the first of its leader epoch.
    """

    topic: str
    partition: int
    leader_epoch: int
    before: int
    after: int
    log_end_offset: int
    is_leader: bool


@event(joins=("topic", "partition", "leader"))
class LogTruncatedByEpoch(NamedTuple):
    """A follower cut its log from `before` back to `after`, where it and the leader part (KIP-101,
    KIP-279). The same offset: nothing to cut.

    `epoch` and `leader_end_offset` are the leader's answer; -1: the leader knows no epoch that old,
    and the high watermark was used. `complete` false: the leader gets another request about an
    older epoch.
    """

    topic: str
    partition: int
    before: int
    after: int
    epoch: int
    leader_end_offset: int
    leader: int
    high_watermark: int
    complete: bool


@event(joins=("topic", "partition", "leader"))
class LogTruncatedByRange(NamedTuple):
    """A follower's offset was outside the leader's log: it cut back to the leader's end, or dropped
    all and starts at the leader's log start.
    """

    topic: str
    partition: int
    before: int
    after: int
    leader: int
    reason: str


@event(joins=("topic", "partition", "leader_epoch"))
class UncleanTruncation(NamedTuple):
    """A replica cut off committed records. Its leader was elected uncleanly (LeaderElected says
    so), and had less.

    `records` counts what is lost: the committed records from `after` up to `high_watermark`. The
    records above that mark, up to the log's end `before`, were cut too. No producer with acks=all
    had an answer for them.

    `exact` says whether `high_watermark` is the mark of the election. Only a replica that led alone
    in the ISR, and runs since, knows that mark. A follower's mark lags behind the leader's. After a
    restart the mark is that of the last checkpoint, up to
    replica.high.watermark.checkpoint.interval.ms (5 s) old. Then `records` is what is lost at
    least, and how much more is unknown. Counted in offsets: a transaction's marker counts as a
    record.
    """

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    before: int
    after: int
    high_watermark: int
    records: int
    exact: bool = False


@event(level=Level.HOPS, joins=("topic", "partition", "follower", "fetch_offset"))
class FollowerFetched(NamedTuple):
    """Hop: the leader read for a follower. The fetch offset is the follower's log end: all before
    it is stored there.

    Told at level `state` when it completes a produce that waited long, or the first produce of a
    leader epoch.
    """

    topic: str
    partition: int
    follower: int
    fetch_offset: int
    leader_log_end_offset: int
    high_watermark: int
    """The leader's, before this fetch counts."""
    leader_epoch: int = -1


@event(level=Level.HOPS, joins=("topic", "partition", "follower", "fetch_offset"))
class FollowerAppended(NamedTuple):
    """Hop: a follower stored what the leader gave for `fetch_offset`. The first append of each
    leader epoch has level `state`.
    """

    topic: str
    partition: int
    follower: int
    fetch_offset: int
    log_end_offset: int
    high_watermark: int
    leader: int
    leader_epoch: int = -1


@event(level=Level.HOPS, joins=("topic", "partition"))
class ProduceAppended(NamedTuple):
    """Hop: a producer's batch is in the leader's log. `required_offset` is the high watermark that
    acks=all waits for.
    """

    topic: str
    partition: int
    leader_epoch: int
    first_offset: int
    required_offset: int
    required_acks: int
    high_watermark: int


@event(joins=("leader",))
class FetcherStarted(NamedTuple):
    """A fetcher towards one leader was started."""

    leader: int
    fetcher_id: int


@event(joins=("leader", "local"))
class FetcherConnected(NamedTuple):
    """A fetcher has a connection to its leader; `local` is this side's host:port, by which the
    leader names it.
    """

    leader: int
    host: str
    port: int
    local: str


@event(joins=("leader",))
class FetcherStopped(NamedTuple):
    """A fetcher has nothing left to follow, or the broker stops."""

    leader: int
    fetcher_id: int


@event(joins=("leader",))
class FetcherFailed(NamedTuple):
    """A fetcher got no answer from its leader, and tries again after replica.fetch.backoff.ms."""

    leader: int
    reason: str


@event(joins=("topic", "partition", "leader"))
class FollowerStuck(NamedTuple):
    """A follower cannot follow, and will not by itself. The leader refuses the end of its log,
    though that offset lies within the leader's log: the leader does not know the epoch with which
    the follower's log ends.
    """

    topic: str
    partition: int
    leader: int
    log_end_offset: int
    latest_epoch: int
    """The epoch of the follower's last record, by its leader-epoch-checkpoint."""
    directory: str
    """The folder of the follower's log."""


@event(joins=("topic", "partition", "leader"))
class FetcherPartitionDelayed(NamedTuple):
    """A fetcher leaves one partition aside for replica.fetch.backoff.ms, because of an error."""

    topic: str
    partition: int
    leader: int
    error: str
    delay_ms: int


@event(level=Level.HOPS)
class HwCheckpointed(NamedTuple):
    """The high watermarks of one log dir were written to its replication-offset-checkpoint. That
    comes every few seconds.
    """

    log_dir: str
    partitions: int


@event()
class FetchSessionOpened(NamedTuple):
    """A fetch session of KIP-227 began."""

    session_id: int
    privileged: bool
    partitions: int


@event()
class FetchSessionClosed(NamedTuple):
    """A fetch session ended: closed by its owner, evicted for another, or emptied."""

    session_id: int
    reason: str


class PartitionProgress(NamedTuple):
    """How far the replica of a partition on this broker is, at one moment."""

    log_start: int
    hw: int
    leo: int
    remote_leos: tuple[tuple[int, int], ...]
    """(broker, log end offset) of each other replica, as the leader knows it; empty on a
    follower.
    """
    min_isr: int
    """min.insync.replicas: with fewer replicas in the ISR, acks=all is refused."""
    remote_times: tuple[tuple[int, int, int], ...] = ()
    """(broker, last fetch, caught up) of each other replica, as the leader knows it: monotonic ms,
    -1: never in this leader's epoch. Caught up: when it last had all of the leader's records.
    """
    last_stable: int = -1
    """LSO: readers of read_committed get no further. It is below the HW while a transaction is
    open.
    """


@event(kind=Kind.SNAPSHOT)
class PartitionSnapshot(NamedTuple):
    """A partition that has a replica on this broker."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    progress: PartitionProgress
    zk_version: int
    proposed_isr: tuple[int, ...]
    adding_replicas: tuple[int, ...] = ()
    """As in BecameLeader."""


@event(kind=Kind.GAUGE, thing=("topic", "partition"))
class PartitionOffsets(NamedTuple):
    """A sample of how far a partition is: when it has moved, and up to ten times a second."""

    topic: str
    partition: int
    progress: PartitionProgress


@event(kind=Kind.SNAPSHOT)
class FetcherSnapshot(NamedTuple):
    """A fetcher, and how many partitions it follows."""

    leader: int
    fetcher_id: int
    partitions: int


@event(kind=Kind.GAUGE)
class FetchSessionsSampled(NamedTuple):
    """The fetch sessions of this broker now (Kafka's metrics: NumIncrementalFetchSessions,
    NumIncrementalFetchPartitionsCached, evictions).
    """

    sessions: int
    partitions: int
    evictions: int
