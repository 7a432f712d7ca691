"""Events of replication: which replica leads, which replicas are in sync, and how far each replica
has come (spec R, D3).

A follower's fetch has the same (topic, partition, follower, fetch_offset) in the events of both
brokers. A change of the ISR has the same `zk_version` in ZooKeeper and in the broker's event.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event
from kafka_edu.trace.events.transaction import UnstableTransaction


@event(joins=("topic", "partition", "leader_epoch", "controller_epoch"))
class BecameLeader(NamedTuple):
    """The partition's replica on this broker leads from now on. Its epoch starts at `start_offset`,
    which is the end of its log.
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
    """Those of `replicas` that a reassignment is adding. The partition does not count as
    under-replicated if only these replicas are missing from the ISR.
    """


@event(joins=("topic", "partition", "leader_epoch", "controller_epoch"))
class BecameFollower(NamedTuple):
    """The partition's replica on this broker follows `leader` from now on. If `leader` is -1, there
    is no leader.
    """

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
    """This broker stopped its replica of a partition, because the controller requested it. If
    `deleted`, the replica's log is deleted too.
    """

    topic: str
    partition: int
    leader_epoch: int
    deleted: bool


@event()
class ReplicaMoveStarted(NamedTuple):
    """A replica began to move from one log dir of this broker to another: its log is being copied.

    `resumed` says whether the copy existed already when the broker started.
    """

    topic: str
    partition: int
    from_dir: str
    to_dir: str
    size: int
    """The size of the replica's log in bytes."""
    log_end_offset: int
    future_log_end_offset: int
    """The offset from which the copy continues."""
    resumed: bool


@event()
class ReplicaMoveCompleted(NamedTuple):
    """The copy of a moving replica reached the end of the replica's log, and replaced that log. The
    name of the old folder ends with `-delete`.
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
    """A move between log dirs did not finish: it was cancelled, or a dir failed. The
    replica stays where it is.
    """

    topic: str
    partition: int
    from_dir: str
    to_dir: str
    reason: str


@event()
class FutureLogTruncated(NamedTuple):
    """The copy of a moving replica was cut back, because it did not match the replica's log.

    `reason` says why.
    """

    topic: str
    partition: int
    before: int
    after: int
    reason: str


@event(kind=Kind.GAUGE, thing=("topic", "partition"))
class ReplicaMoveProgress(NamedTuple):
    """How far the copy of a moving replica has come.

    `throttled` says whether the copier waits because replica.alter.log.dirs.io.max.bytes.per.second
    is reached.
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
    """The disk with this replica's log failed. The replica serves no requests until the broker is
    restarted.
    """

    topic: str
    partition: int


@event()
class ControllerEpochSeen(NamedTuple):
    """A request from a controller had a higher controller epoch than this broker knew. From now on
    the broker refuses requests with lower epochs.
    """

    controller: int
    controller_epoch: int
    previous_epoch: int


@event()
class StaleControllerRefused(NamedTuple):
    """The broker refused a request with STALE_CONTROLLER_EPOCH, because its sender is no longer the
    controller.
    """

    request: str
    controller: int
    controller_epoch: int
    current_epoch: int


@event(joins=("topic", "partition", "leader_epoch"))
class IsrChangeProposed(NamedTuple):
    """The leader wants to change the ISR, and requests a write of the znode, if the znode still has
    `zk_version`. Until the answer arrives, the leader uses the old ISR or the new ISR, whichever
    has more replicas.
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
    """The smaller ISR is written in ZooKeeper. `zk_version` is the znode's new version."""

    topic: str
    partition: int
    leader_epoch: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    zk_version: int
    reason: str


@event(joins=("topic", "partition", "leader_epoch", "zk_version"))
class IsrExpanded(NamedTuple):
    """The larger ISR is written in ZooKeeper. `zk_version` is the znode's new version."""

    topic: str
    partition: int
    leader_epoch: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    zk_version: int
    reason: str


@event(joins=("topic", "partition", "leader_epoch"))
class IsrWriteFailed(NamedTuple):
    """The new ISR was not written, because the znode had a different version: the controller or
    another client has written the znode. The leader does not change the ISR until it hears from the
    controller.
    """

    topic: str
    partition: int
    leader_epoch: int
    wanted: tuple[int, ...]
    zk_version: int


@event()
class IsrChangesPropagated(NamedTuple):
    """This broker wrote a znode in /isr_change_notification, which informs the controller that
    these ISRs have changed.
    """

    partitions: tuple[str, ...]


@event(level=Level.HOPS, joins=("topic", "partition", "leader_epoch"))
class HighWatermarkAdvanced(NamedTuple):
    """The high watermark advanced from `before` to `after`, so more records are committed. On a
    follower, `is_leader` is false, and the new mark came from the leader.

    The event has level `state` in two cases. In the first, a fact moved the mark (an ISR change, a
    new leader). In the second, the mark completes a produce that waited long, or the first produce
    of the leader epoch.
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
    """A follower cut its log back from `before` to `after`, the offset up to which its log agrees
    with the leader's (KIP-101, KIP-279). If both offsets are equal, nothing was cut.

    `epoch` and `leader_end_offset` are the leader's answer. If they are -1, the leader does not
    know such an old epoch, and the follower cut at its high watermark. If `complete` is false, the
    follower sends another request, about an older epoch.
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
    """A follower's fetch offset was outside the leader's log. Either the follower cut its log back
    to the end of the leader's log, or it dropped all records and starts again at the leader's log
    start.
    """

    topic: str
    partition: int
    before: int
    after: int
    leader: int
    reason: str


@event(joins=("topic", "partition", "leader_epoch"))
class UncleanTruncation(NamedTuple):
    """A replica cut off committed records, because its leader does not have them. That leader was
    elected uncleanly (see LeaderElected).

    `records` is the number of lost committed records, from `after` up to `high_watermark`. The
    records above the mark, up to the log's end `before`, were cut off too, but no producer with
    acks=all had received an answer for them.

    `exact` says whether `high_watermark` is the high watermark at the time of the election. Only a
    replica that was the leader, alone in the ISR, and was not restarted since then, knows this
    value. A follower's mark lags behind the leader's mark. After a restart the mark comes from the
    last checkpoint, which may be replica.high.watermark.checkpoint.interval.ms (5 s) old. If
    `exact` is false, `records` is a lower limit. Records are counted as offsets, so a transaction's
    marker counts as a record.
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
    """Hop: the leader read records for a follower. The fetch offset is the end of the follower's
    log, so the follower has stored all records below it.

    The event has level `state` if the fetch completes a produce that waited long, or the first
    produce of a leader epoch.
    """

    topic: str
    partition: int
    follower: int
    fetch_offset: int
    leader_log_end_offset: int
    high_watermark: int
    """The leader's high watermark before this fetch changes it."""
    leader_epoch: int = -1


@event(level=Level.HOPS, joins=("topic", "partition", "follower", "fetch_offset"))
class FollowerAppended(NamedTuple):
    """Hop: a follower stored the records that the leader sent for `fetch_offset`. The first append
    of each leader epoch has level `state`.
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
    """Hop: the leader appended a producer's batch to its log. A produce with acks=all waits until
    the high watermark reaches `required_offset`.
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
    """This broker started a fetcher, which fetches from one leader."""

    leader: int
    fetcher_id: int


@event(joins=("leader", "local"))
class FetcherConnected(NamedTuple):
    """A fetcher has connected to its leader. `local` is the fetcher's host:port. In the leader's
    events, this address identifies the connection.
    """

    leader: int
    host: str
    port: int
    local: str


@event(joins=("leader",))
class FetcherStopped(NamedTuple):
    """A fetcher was stopped, because it has no partitions left or because the broker stops."""

    leader: int
    fetcher_id: int


@event(joins=("leader",))
class FetcherFailed(NamedTuple):
    """A fetcher got no answer from its leader. It tries again after replica.fetch.backoff.ms."""

    leader: int
    reason: str


@event(joins=("topic", "partition", "leader"))
class FollowerStuck(NamedTuple):
    """A follower cannot follow its leader, and waiting will not help. The end of the follower's log
    lies within the leader's log, but the leader refuses this offset, because it does not know the
    epoch of the follower's last record.
    """

    topic: str
    partition: int
    leader: int
    log_end_offset: int
    latest_epoch: int
    """The epoch of the follower's last record, from its leader-epoch-checkpoint file."""
    directory: str
    """The folder of the follower's log."""


@event(joins=("topic", "partition", "leader"))
class FetcherPartitionDelayed(NamedTuple):
    """After an error in one partition, a fetcher does not fetch this partition for
    replica.fetch.backoff.ms.
    """

    topic: str
    partition: int
    leader: int
    error: str
    delay_ms: int


@event(level=Level.HOPS)
class HwCheckpointed(NamedTuple):
    """The broker wrote the high watermarks of one log dir into the file
    replication-offset-checkpoint. It does so every few seconds.
    """

    log_dir: str
    partitions: int


@event()
class FetchSessionOpened(NamedTuple):
    """The broker opened a fetch session (KIP-227)."""

    session_id: int
    privileged: bool
    partitions: int


@event()
class FetchSessionClosed(NamedTuple):
    """A fetch session ended: its client closed it, it was evicted for another session, or it had no
    partitions left.
    """

    session_id: int
    reason: str


@event()
class ReplicationThrottleBegan(NamedTuple):
    """A throttle began to hold replication back.

    `side` says whether this broker sends as leader, or fetches as follower. The partition is the
    first one that had to wait.
    """

    side: str
    bound: int
    """The limit in bytes per second: leader.replication.throttled.rate or
    follower.replication.throttled.rate.
    """
    rate: int
    """The present rate of all throttled partitions on this side, in bytes per second."""
    topic: str
    partition: int


@event()
class ReplicationThrottleEnded(NamedTuple):
    """A throttle does not hold replication back any more: for a whole window (11 s) no partition
    had to wait, or the throttle was removed.
    """

    side: str
    bound: int
    lasted_ms: int
    """The time from the first wait of a partition to the last one, in ms."""
    bytes: int
    """The number of throttled bytes on this side since the first wait."""
    reason: str


@event()
class ConsumerSentToFollower(NamedTuple):
    """The leader sent a consumer to a follower in the consumer's rack (KIP-392). The leader
    answered the fetch with the follower's broker id and without records.
    """

    topic: str
    partition: int
    client_id: str
    rack: str
    """The consumer's rack (client.rack)."""
    follower: int
    fetch_offset: int
    follower_log_end_offset: int
    """The follower's log end offset, as the leader knows it from the follower's last fetch."""
    leader_log_end_offset: int


class PartitionProgress(NamedTuple):
    """The offsets of a partition's replica on this broker at one moment. Events have this value as
    a field.
    """

    log_start: int
    hw: int
    leo: int
    remote_leos: tuple[tuple[int, int], ...]
    """Pairs (broker, log end offset) of the other replicas, as the leader knows them. Empty on a
    follower.
    """
    min_isr: int
    """The topic's min.insync.replicas. With fewer replicas in the ISR, a produce with acks=all is
    refused.
    """
    remote_times: tuple[tuple[int, int, int], ...] = ()
    """(broker, time of its last fetch, time when it last had all of the leader's records) of each
    other replica, as the leader knows it. Times are monotonic ms. -1 means: not yet in this
    leader's epoch.
    """
    last_stable: int = -1
    """The last stable offset (LSO): readers with read_committed get only records below it. It is
    below the high watermark while a transaction is open.
    """
    unstable: tuple[UnstableTransaction, ...] = ()
    """The first transactions that are open, or whose marker is not replicated yet. The first one
    holds the last stable offset back.
    """
    unstable_transactions: int = 0
    """The number of all such transactions."""


@event(kind=Kind.SNAPSHOT)
class PartitionSnapshot(NamedTuple):
    """The state of a partition's replica on this broker, sent to a new subscriber."""

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
    """The replicas that a reassignment is adding, as in BecameLeader."""


@event(kind=Kind.GAUGE, thing=("topic", "partition"))
class PartitionOffsets(NamedTuple):
    """A sample of a replica's offsets. It is taken after they have changed, at most ten times a
    second.
    """

    topic: str
    partition: int
    progress: PartitionProgress


@event(kind=Kind.SNAPSHOT)
class FetcherSnapshot(NamedTuple):
    """A fetcher and the number of its partitions, sent to a new subscriber."""

    leader: int
    fetcher_id: int
    partitions: int


@event(kind=Kind.GAUGE)
class FetchSessionsSampled(NamedTuple):
    """A sample of this broker's fetch sessions (Kafka's metrics: NumIncrementalFetchSessions,
    NumIncrementalFetchPartitionsCached, evictions).
    """

    sessions: int
    partitions: int
    evictions: int


@event(kind=Kind.GAUGE, thing=("side",))
class ReplicationQuotaSampled(NamedTuple):
    """A sample of the rate of throttled replication and of its limit (`bound`), in bytes per
    second. It is taken for each side (leader, follower) on which a replica of this broker is
    throttled. The limit is 9223372036854775807 if the broker has none (Kafka's metric: byte-rate of
    LeaderReplication, FollowerReplication).
    """

    side: str
    rate: int
    bound: int
