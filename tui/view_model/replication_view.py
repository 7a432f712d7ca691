"""The state of the Replication screen: how far each replica has come, and since when it lags.

It also has the history of the ISR, the leader epochs of each log, and the truncations. Leader, ISR
and replicas of a partition come from `ClusterView`, which orders the reports of several processes.
This reducer must therefore get each event after ClusterView.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_edu.common.words import plural
from kafka_edu.instruments.sentences import sentence
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind
from kafka_edu.trace.events.controller import (
    ControllerPartitionSnapshot,
    LeaderElected,
    ReplicaRemovedFromIsr,
    TopicDeletionChanged,
)
from kafka_edu.trace.events.log import (
    LeaderEpochAssigned,
    LogCreated,
    LogDeleted,
    LogState,
    LogTruncated,
)
from kafka_edu.trace.events.replication import (
    BecameFollower,
    BecameLeader,
    IsrExpanded,
    IsrShrunk,
    LogTruncatedByEpoch,
    LogTruncatedByRange,
    PartitionOffsets,
    PartitionProgress,
    PartitionSnapshot,
    UncleanTruncation,
)
from kafka_edu.trace.events.server import ProduceAnswered
from kafka_edu.trace.events.trace import SnapshotEnds

from .cluster_view import ClusterView
from .figures import duration
from .partition_view import PartitionKey, PartitionView

PROGRESS_EVENTS: Final = (PartitionSnapshot, PartitionOffsets)
ISR_EVENTS: Final = (
    LeaderElected,
    ReplicaRemovedFromIsr,
    BecameLeader,
    IsrShrunk,
    IsrExpanded,
    ControllerPartitionSnapshot,
    PartitionSnapshot,
)
EPOCH_EVENTS: Final = (LogState, LeaderEpochAssigned, LogTruncated)
TRUNCATION_EVENTS: Final = (
    LogTruncatedByEpoch,
    LogTruncatedByRange,
    UncleanTruncation,
    ProduceAnswered,
)

KEPT_STEPS: Final = 40
KEPT_EPOCHS: Final = 64
KEPT_TRUNCATIONS: Final = 200
KEPT_ANSWERS: Final = 256
RECENT_US: Final = 60_000_000
"""For how many µs a truncation counts as recent."""
LATE_MS: Final = 1_000
"""A follower lags if it has not caught up for more ms than this.

An idle follower fetches every replica.fetch.wait.max.ms, 500 ms.
"""

NO_LEADER_LIVES, BELOW_MIN_ISR, UNDER_REPLICATED, LAGS, WELL, ISR_UNKNOWN = 4, 3, 2, 1, 0, -1
TROUBLES: Final = {
    NO_LEADER_LIVES: "no live leader",
    BELOW_MIN_ISR: "below min ISR",
    UNDER_REPLICATED: "under-replicated",
    LAGS: "a replica lags",
    WELL: "in sync",
    ISR_UNKNOWN: "? its ISR is not known",
}


class IsrStep(NamedTuple):
    """One state of the ISR, from `at_us` until the next step."""

    at_us: int
    isr: tuple[int, ...]
    because: str
    """Why the ISR changed to this one. Empty for the first known ISR."""
    at_least: bool
    """Whether this ISR may have begun before `at_us`, because it is the first known one."""
    envelope: Envelope


class Truncation(NamedTuple):
    """One truncation: a replica removed records from the end of its log."""

    at_us: int
    broker: int
    leader: int
    epoch: int
    """The leader epoch at which the two logs began to differ; -1: not known."""
    before: int
    after: int
    committed: int
    """How many of the removed records are known to have been committed."""
    exact: bool
    """Whether `committed` is the exact number. If not, it is a lower bound."""
    unclean: bool
    """Whether the leader was elected uncleanly. Then committed records can be lost."""
    reason: str
    envelope: Envelope
    acknowledged: int = 0
    """How many of the removed records were acknowledged to producers with acks=1.

    ProduceAnswered reports them. At level state few of these events are emitted. So 0 does not mean
    that no record was acknowledged.
    """

    @property
    def records(self) -> int:
        return self.before - self.after

    def words(self) -> str:
        """Return the truncation as a text with its numbers.

        An example: `broker 2 cut off 22 records, 81,262 → 81,240, none committed; producers with
        acks=1 may have had an answer for them`.
        """
        if self.committed:
            at_least = "" if self.exact else "at least "
            kind = f"{at_least}{self.committed:,} of them committed"
        else:
            kind = "none known to be committed" if self.unclean else "none committed"
            if self.acknowledged:
                kind += f", yet {self.acknowledged:,} or more acknowledged with acks=1"
            else:
                kind += "; producers with acks=1 may have got an acknowledgement for them"
        return (
            f"broker {self.broker} cut off {plural(self.records, 'record')},"
            f" {self.before:,} → {self.after:,}, {kind}"
        )

    def brief(self) -> str:
        """Return the truncation as a short text, for the answer line.

        In a narrow window the end is cut off. So the most important part comes first: acknowledged
        records that are lost.
        """
        if self.committed:
            kind = f"{'' if self.exact else 'at least '}{self.committed:,} of them committed"
        else:
            some = f"{self.acknowledged:,} or more" if self.acknowledged else "maybe"
            none = "none known to be committed" if self.unclean else "none committed"
            kind = f"{some} acknowledged with acks=1, {none}"
        return f"broker {self.broker} cut off {plural(self.records, 'record')}, {kind}"


class ReplicaView:
    """One replica: what its broker reports, and what its leader knows. -1 means unknown."""

    def __init__(self, broker: int) -> None:
        self.broker = broker
        self.leo = -1
        self.hw = -1
        self.log_start = -1
        self.remote_leo = -1
        """The replica's LEO as the leader knows it, from the last fetch."""
        self.last_fetch_ms = -1
        self.caught_up_ms = -1
        self.sampled = False
        """Whether the replica's broker has sent a sample or a snapshot. Offsets from a fact alone
        are soon out of date.
        """
        self.epochs: dict[int, int] = {}
        """Leader epoch → its start offset in this log, in ascending order."""

    @property
    def end(self) -> int:
        """The log end offset as far as it is known; -1: not known.

        The broker's own report may be older than its last fetch: a paused broker reports nothing.
        """
        return max(self.leo if self.sampled else -1, self.remote_leo)


class PartitionReplication:
    """The replicas, the ISR's history and the truncations of one partition."""

    def __init__(self, key: PartitionKey) -> None:
        self.key = key
        self.replicas: dict[int, ReplicaView] = {}
        self.steps: deque[IsrStep] = deque(maxlen=KEPT_STEPS)
        self.truncations: deque[Truncation] = deque(maxlen=KEPT_STEPS)
        self.sampled_us = 0
        """When the leader last reported on its followers, in µs."""
        self.unclean_epoch = -1
        """The last leader epoch that began with an unclean election."""

    def __getitem__(self, broker: int) -> ReplicaView:
        if broker not in self.replicas:
            self.replicas[broker] = ReplicaView(broker)
        return self.replicas[broker]

    def left_isr_us(self, broker: int) -> int | None:
        """Return when a broker left the ISR, in µs.

        None if it is in the ISR, or the time is not known.
        """
        left: int | None = None
        for step in reversed(self.steps):
            if broker in step.isr:
                return left
            left = step.at_us
        return None  # not even a member of the first known ISR


class ReplicationView:
    """The replication state of all partitions. It changes only through `apply`."""

    READS: Final = frozenset(
        {
            *PROGRESS_EVENTS,
            *ISR_EVENTS,
            *EPOCH_EVENTS,
            *TRUNCATION_EVENTS,
            BecameFollower,
            LogCreated,
            LogDeleted,
            SnapshotEnds,
            TopicDeletionChanged,
        }
    )
    """The types of events that change this view."""

    def __init__(self, cluster: ClusterView) -> None:
        self.cluster = cluster
        self.by_key: dict[PartitionKey, PartitionReplication] = {}
        self.truncations: deque[Truncation] = deque(maxlen=KEPT_TRUNCATIONS)
        """The last truncations of all partitions, the newest last."""
        self._answered: OrderedDict[tuple[PartitionKey, int], deque[tuple[int, int]]]
        self._answered = OrderedDict()
        """(Partition, broker) → the ranges of offsets that the broker acknowledged with acks=1."""

    @property
    def now_us(self) -> int:
        return self.cluster.glow.now_us

    def __getitem__(self, key: PartitionKey) -> PartitionReplication:
        if key not in self.by_key:
            self.by_key[key] = PartitionReplication(key)
        return self.by_key[key]

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event. O(1), except the end of a snapshot: O(partitions)."""
        teller = envelope.broker
        if teller is None:
            return
        match envelope.event:
            case PartitionOffsets() as e:
                key = PartitionKey(e.topic, e.partition)
                self._progress(key, teller, e.progress, envelope.mono_us)
            case PartitionSnapshot() as e:
                key = PartitionKey(e.topic, e.partition)
                self._progress(key, teller, e.progress, envelope.mono_us)
            case ProduceAnswered(acks=1) as e:
                self._acknowledged(e, teller)
            case BecameFollower() as e:
                replica = self[PartitionKey(e.topic, e.partition)][teller]
                replica.leo, replica.hw = e.log_end_offset, e.high_watermark
            case BecameLeader() as e:
                self._became_leader(e, teller)
            case LeaderElected(unclean=True) as e:
                self[PartitionKey(e.topic, e.partition)].unclean_epoch = e.leader_epoch
            case LogState() as e:
                replica = self[PartitionKey(e.topic, e.partition)][teller]
                replica.epochs = dict(e.leader_epochs[-KEPT_EPOCHS:])
            case LogCreated() as e:
                self[PartitionKey(e.topic, e.partition)].replicas.pop(teller, None)
            case LeaderEpochAssigned() as e:
                self._epoch(self[PartitionKey(e.topic, e.partition)][teller], e)
            case LogTruncated() as e:
                replica = self[PartitionKey(e.topic, e.partition)][teller]
                replica.epochs = {n: at for n, at in replica.epochs.items() if at < e.to_offset}
            case LogDeleted() as e:
                self[PartitionKey(e.topic, e.partition)].replicas.pop(teller, None)
            case LogTruncatedByEpoch() as e if e.before != e.after:
                self._truncated_by_epoch(envelope, e, teller)
            case LogTruncatedByRange() as e if e.before != e.after:
                self._truncated_by_range(envelope, e, teller)
            case UncleanTruncation() as e:
                self._uncleanly(e, teller)
            case SnapshotEnds() | TopicDeletionChanged(step="complete"):
                known = self.cluster.partitions.by_key
                self.by_key = {key: p for key, p in self.by_key.items() if key in known}
            case _:
                pass
        if isinstance(envelope.event, ISR_EVENTS):
            self._isr(envelope, PartitionKey(envelope.event.topic, envelope.event.partition))

    def _progress(
        self, key: PartitionKey, teller: int, progress: PartitionProgress, at_us: int
    ) -> None:
        p = self[key]
        replica = p[teller]
        replica.sampled = True
        replica.leo, replica.hw, replica.log_start = (
            progress.leo,
            progress.hw,
            progress.log_start,
        )
        for broker, leo in progress.remote_leos:
            p[broker].remote_leo = leo
        if progress.remote_times:
            p.sampled_us = at_us
        for broker, fetched_ms, caught_up_ms in progress.remote_times:
            p[broker].last_fetch_ms, p[broker].caught_up_ms = fetched_ms, caught_up_ms

    def _became_leader(self, e: BecameLeader, teller: int) -> None:
        p = self[PartitionKey(e.topic, e.partition)]
        p[teller].leo, p[teller].hw = e.start_offset, e.high_watermark
        for broker in e.replicas:  # unknown to a new leader until they fetch
            if broker != teller:
                p[broker].remote_leo = p[broker].last_fetch_ms = p[broker].caught_up_ms = -1

    def _epoch(self, replica: ReplicaView, e: LeaderEpochAssigned) -> None:
        replica.epochs[e.leader_epoch] = e.start_offset
        while len(replica.epochs) > KEPT_EPOCHS:
            del replica.epochs[next(iter(replica.epochs))]

    def _truncated_by_epoch(self, envelope: Envelope, e: LogTruncatedByEpoch, teller: int) -> None:
        p = self[PartitionKey(e.topic, e.partition)]
        known = self.cluster.partitions.get(p.key)
        self._truncated(
            p,
            Truncation(
                at_us=envelope.mono_us,
                broker=teller,
                leader=e.leader,
                epoch=e.epoch,
                before=e.before,
                after=e.after,
                committed=0,
                exact=False,
                unclean=known is not None and known.leader_epoch == p.unclean_epoch,
                reason=f"leader broker {e.leader} has no more of epoch {e.epoch}"
                if e.epoch >= 0
                else f"leader {e.leader} knows no epoch that old",
                envelope=envelope,
            ),
        )

    def _truncated_by_range(self, envelope: Envelope, e: LogTruncatedByRange, teller: int) -> None:
        p = self[PartitionKey(e.topic, e.partition)]
        known = self.cluster.partitions.get(p.key)
        self._truncated(
            p,
            Truncation(
                at_us=envelope.mono_us,
                broker=teller,
                leader=e.leader,
                epoch=-1,
                before=e.before,
                after=e.after,
                committed=0,
                exact=False,
                unclean=known is not None and known.leader_epoch == p.unclean_epoch,
                reason=e.reason,
                envelope=envelope,
            ),
        )

    def _acknowledged(self, e: ProduceAnswered, teller: int) -> None:
        """Record the offsets of records that a leader has acknowledged."""
        for topic, partition, first, end, error in e.partitions:
            if error != "NONE":
                continue
            key = PartitionKey(topic, partition), teller
            self._answered.setdefault(key, deque(maxlen=KEPT_ANSWERS)).append((first, end))
            self._answered.move_to_end(key)
            if len(self._answered) > KEPT_ANSWERS:
                self._answered.popitem(last=False)

    def _truncated(self, p: PartitionReplication, cut: Truncation) -> None:
        answers = self._answered.pop((p.key, cut.broker), ())
        known = sum(max(min(end, cut.before) - max(first, cut.after), 0) for first, end in answers)
        cut = cut._replace(acknowledged=known)
        p.truncations.append(cut)
        self.truncations.append(cut)
        replica = p[cut.broker]
        replica.leo = cut.after
        replica.hw, replica.remote_leo = min(replica.hw, cut.after), -1

    def _uncleanly(self, e: UncleanTruncation, teller: int) -> None:
        """Add the number of lost committed records to the last reported truncation."""
        p = self[PartitionKey(e.topic, e.partition)]
        for cuts in (p.truncations, self.truncations):
            for at in range(len(cuts) - 1, -1, -1):
                cut = cuts[at]
                same = (cut.broker, cut.before, cut.after) == (teller, e.before, e.after)
                if same and cut.envelope.event[:2] == (e.topic, e.partition):
                    cuts[at] = cut._replace(committed=e.records, exact=e.exact, unclean=True)
                    break

    def _isr(self, envelope: Envelope, key: PartitionKey) -> None:
        """Add a step to the ISR's history if the ISR has changed with this event."""
        known = self.cluster.partitions.get(key)
        if known is None or not known.isr:
            return
        steps = self[key].steps
        if steps and set(steps[-1].isr) == set(known.isr):
            return
        because = _because(envelope) if steps else ""
        fact = EVENT_TYPES[envelope.name].kind is Kind.FACT
        first = not steps and not (fact and known.leader_epoch == 0)  # else the ISR began just now
        steps.append(IsrStep(envelope.mono_us, known.isr, because, first, envelope))

    def trouble(self, p: PartitionView) -> int:
        """Return how bad the state of a partition is, as one of the numbers in TROUBLES."""
        partitions = self.cluster.partitions
        if not partitions.leader_lives(p):
            return NO_LEADER_LIVES
        if not p.isr_known:
            return ISR_UNKNOWN
        if p.min_isr and len(p.isr) < p.min_isr:
            return BELOW_MIN_ISR
        if partitions.under_replicated(p):
            return UNDER_REPLICATED
        return LAGS if any(self.lags(p, broker) for broker in p.replicas) else WELL

    def behind(self, p: PartitionView, broker: int) -> int:
        """Return how many records of the leader's log a replica still lacks, or 0 if that is
        unknown.
        """
        known = self.by_key.get(p.key)
        if known is None or broker == p.leader or p.leader not in known.replicas:
            return 0
        end, leader_end = known[broker].end, known[p.leader].end
        return max(leader_end - end, 0) if end >= 0 and leader_end >= 0 else 0

    def late_ms(self, p: PartitionView, broker: int) -> int:
        """Return for how many ms a follower has not caught up with its leader.

        Return 0 if it has caught up or the time is not known.
        """
        known = self.by_key.get(p.key)
        if known is None or broker == p.leader or broker not in known.replicas:
            return 0
        caught_up_ms = known[broker].caught_up_ms
        return max(self._as_of_ms(known) - caught_up_ms, 0) if caught_up_ms >= 0 else 0

    def _as_of_ms(self, known: PartitionReplication) -> int:
        """Return the time in ms of the leader's last sample about its followers.

        What the followers did after this time is not known.
        """
        return known.sampled_us // 1000

    def isr_known_until_us(self, p: PartitionView) -> int:
        """Return the time up to which the ISR is known, in µs. O(1).

        This is the current time. But if the leader seems to run and is silent, it is the time of
        the leader's last sample. The leader may have changed the ISR since then.
        """
        leader = self.cluster.brokers.by_id.get(p.leader)
        runs = leader is not None and not leader.dead and leader.process != "paused"
        if leader is None or not runs:
            return self.now_us
        return self.now_us - leader.old_us(self.now_us)

    def isrs_old_us(self, partitions: Iterable[PartitionView]) -> int:
        """Return the age of the oldest of these ISRs' data, in µs, or 0 if all are up to date."""
        return max((self.now_us - self.isr_known_until_us(p) for p in partitions), default=0)

    def _silent_leader(self) -> tuple[int, int] | None:
        """Return the live leader whose samples are old, and their age in µs.

        If there are several, it is the leader of the most partitions. None if no leader's samples
        are old. O(partitions).
        """
        leads = Counter(
            p.leader
            for p in self.cluster.partitions.by_key.values()
            if self.cluster.partitions.leader_lives(p)
        )
        for broker, _ in leads.most_common():
            if old_us := self.cluster.brokers[broker].old_us(self.now_us):
                return broker, old_us
        return None

    def lags(self, p: PartitionView, broker: int) -> bool:
        return self.behind(p, broker) > 0 and self.late_ms(p, broker) > LATE_MS

    def recent_cut(self, key: PartitionKey) -> Truncation | None:
        """Return the last truncation of a partition if it is recent, and otherwise None."""
        known = self.by_key.get(key)
        if known is None or not known.truncations:
            return None
        cut = known.truncations[-1]
        return cut if self.now_us - cut.at_us <= RECENT_US else None

    def by_trouble(self) -> list[PartitionView]:
        """Return the partitions, the most troubled first.

        Equally troubled ones are sorted by name, internal topics last.
        """
        return sorted(
            self.cluster.partitions.by_key.values(),
            key=lambda p: (
                -self.trouble(p),
                self.recent_cut(p.key) is None,
                p.internal,
                p.key,
            ),
        )

    def lag_words(self, p: PartitionView, broker: int) -> str:
        """Return how far a follower is behind, and since when it has not fetched, as a text."""
        known = self.by_key.get(p.key)
        if known is None:
            return ""
        replica, behind = known[broker], self.behind(p, broker)
        parts = [f"{behind:,} behind" if behind else "has all"]
        if replica.last_fetch_ms >= 0:
            ago_ms = max(self._as_of_ms(known) - replica.last_fetch_ms, 0)
            parts.append(f"last fetch {duration(ago_ms)} ago")
        elif replica.caught_up_ms >= 0:
            parts.append("no fetch in this epoch")
        return ", ".join(parts)

    def answer(self) -> tuple[str, str]:
        """Answer "how far is each replica, and what did it cut off?" with a kind and a sentence."""
        partitions = self.by_trouble()
        if not partitions:
            return "ok", "no topics yet"
        worst = partitions[0]
        level = self.trouble(worst)
        cuts = [cut for cut in self.truncations if self.now_us - cut.at_us <= RECENT_US]
        cut = max(cuts, key=lambda c: (c.committed > 0, c.at_us), default=None)
        cut_words = ""
        if cut is not None:
            topic, partition = cut.envelope.event[:2]
            cut_words = f"{topic}-{partition}: {cut.brief()}"
        if level == NO_LEADER_LIVES:
            return "error", f"✕ {worst.key} has no live leader: clients cannot write or fetch"
        if cut is not None and cut.committed:
            return "error", f"✕ {cut_words}"
        late = [
            (self.behind(p, broker), p, broker)
            for p in partitions
            for broker in p.replicas
            if self.lags(p, broker)
        ]
        if late:
            _, p, broker = max(late, key=lambda found: found[0])
            of = f", and {len(late) - 1} more lag" if len(late) > 1 else ""
            words = f"broker {broker} lags in {p.key}: {self.lag_words(p, broker)}{of}"
            if level == BELOW_MIN_ISR:
                return "error", f"✕ {words}; acks=all is refused"
            return "warning", f"! {words}"
        if level == BELOW_MIN_ISR:
            return "error", (
                f"✕ {worst.key} has {plural(len(worst.isr), 'replica')} in sync, min ISR"
                f" {worst.min_isr}: acks=all is refused"
            )
        if cut_words:
            return "warning", f"! {cut_words}"
        if level == UNDER_REPLICATED:
            return "warning", f"! {self._who_is_out(partitions)}"
        if (silent := self._silent_leader()) is not None:
            broker, old_us = silent
            return "warning", (
                f"? broker {broker} has sent nothing for {duration(old_us / 1000)}: how far its"
                " followers are is not known"
            )
        unknown_isr = self.cluster.partitions.without_known_isr()
        if unknown_isr:
            of = plural(len(unknown_isr), "partition")
            return "warning", f"? the ISR of {of} is not known yet"
        number = plural(len(partitions), "partition")
        return "ok", f"✓ every replica keeps up with its leader: {number}"

    def _who_is_out(self, partitions: list[PartitionView]) -> str:
        """Return the broker that is missing from most ISRs, and the partition in which it lags
        most.
        """
        out: dict[int, list[PartitionView]] = {}
        for p in partitions:
            for broker in set(p.replicas) - set(p.isr) - set(p.adding):
                out.setdefault(broker, []).append(p)
        if not out:
            dead = next(b for p in partitions for b in p.isr if not self.cluster.brokers.alive(b))
            return f"broker {dead} is gone, and ZooKeeper still has it in the ISR"
        broker, without = max(out.items(), key=lambda found: (len(found[1]), -found[0]))
        worst = max(without, key=lambda p: self.behind(p, broker))
        behind = self.behind(worst, broker)
        far = f": {plural(behind, 'record')} behind in {worst.key}" if behind else ""
        return f"broker {broker} is out of the ISR of {plural(len(without), 'partition')}{far}"


def _because(envelope: Envelope) -> str:
    """Return why the ISR changed. If the leader changed it, the reason has the leader's numbers."""
    match envelope.event:
        case IsrShrunk(reason=reason) | IsrExpanded(reason=reason):
            return "; ".join(
                f"broker {part}" if part[:1].isdigit() else part for part in reason.split("; ")
            )
        case event:
            return sentence(event).reason


class Scale(NamedTuple):
    """A range of offsets, drawn on `width` cells. The range moves only when an offset leaves it."""

    left: int
    right: int
    width: int

    def column(self, offset: int) -> int:
        """Return the cell of an offset, 0 to `width`."""
        part = (offset - self.left) / max(self.right - self.left, 1)
        return min(max(round(part * self.width), 0), self.width)


def scale_of(low: int, high: int, width: int) -> Scale:
    """Return a scale that contains both offsets.

    Its length is a power of two. It begins at a multiple of a quarter of this length, at least a
    quarter before `low`. So it does not move with every record: `scale_of(81_240, 81_262, 40)`
    shows 81,232 to 81,264.
    """
    low, high = max(min(low, high), 0), max(low, high, 0)
    length = 32
    while True:
        quarter = length // 4
        left = max((low - quarter) // quarter * quarter, 0)
        if left + length >= high:
            return Scale(left, left + length, width)
        length *= 2
