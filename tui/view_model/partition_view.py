"""The partitions: the leader, the replicas in sync, and the offsets of each replica.

Several sources report on one partition: the controller, the leader, the followers, and each
broker's metadata cache. Their reports are ordered by (leader epoch, zk_version). A report that is
older than the known state is dropped, so a row never returns to an older state.
"""

from typing import Final, NamedTuple

from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import (
    ControllerPartitionSnapshot,
    ControllerSnapshot,
    LeaderElected,
    PartitionStateChanged,
    ReplicaRemovedFromIsr,
    TopicDeletionChanged,
)
from kafka_edu.trace.events.replication import (
    BecameFollower,
    BecameLeader,
    IsrExpanded,
    IsrShrunk,
    PartitionOffsets,
    PartitionProgress,
    PartitionSnapshot,
    ReplicaStopped,
)
from kafka_edu.trace.events.server import PartitionMetadataSnapshot
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds

from .broker_view import BrokersView
from .glow import Glow

PARTITION_EVENTS: Final = (
    LeaderElected,
    ReplicaRemovedFromIsr,
    PartitionStateChanged,
    TopicDeletionChanged,
    ControllerPartitionSnapshot,
    BecameLeader,
    BecameFollower,
    IsrShrunk,
    IsrExpanded,
    PartitionSnapshot,
    PartitionOffsets,
    PartitionMetadataSnapshot,
)

NO_LEADER: Final = -1
LEADER, IN_ISR, OUT_OF_SYNC, DEAD, NONE = "●", "○", "◌", "✕", " "
NOT_KNOWN: Final = "?"
"""The sign of a follower while no source has reported the ISR."""
REPLICA_SIGNS: Final = {
    LEADER: "leader",
    IN_ISR: "in ISR",
    OUT_OF_SYNC: "out of sync",
    DEAD: "dead",
}
PREFERRED: Final = "★"


def is_internal(topic: str) -> bool:
    """Return whether a topic is one of Kafka's own: its name begins with two underscores."""
    return topic.startswith("__")


class PartitionKey(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    def fitted(self, width: int) -> str:
        """Return the name in at most `width` characters. A long topic is cut, never the number.

        In 12 characters, `__consumer_offsets-17` is `__consum…-17`.
        """
        name, number = str(self), f"…-{self.partition}"
        if len(name) <= width:
            return name
        return self.topic[: max(width - len(number), 1)] + number


class PartitionView:
    """One partition. Offsets are -1 until a source reports them. In each report, hw ≤ leo."""

    def __init__(self, key: PartitionKey) -> None:
        self.key = key
        self.leader = NO_LEADER
        self.leader_epoch = -1
        self.zk_version = -1
        self.isr: tuple[int, ...] = ()
        self.replicas: tuple[int, ...] = ()
        self.adding: tuple[int, ...] = ()
        """The replicas that a running reassignment is adding."""
        self.hw = -1
        self.leo = -1
        self.log_start = -1
        self.min_isr = 0
        self.replica_leos: dict[int, int] = {}
        """Broker → its replica's log end offset, from the broker itself or from the leader."""

    @property
    def isr_known(self) -> bool:
        """Return whether a source has reported the ISR. An ISR is never empty in Kafka.

        A follower's snapshot names the leader and the replicas, but not the ISR.
        """
        return bool(self.isr)

    @property
    def internal(self) -> bool:
        """Return whether the topic is one of Kafka's own, such as __consumer_offsets."""
        return is_internal(self.key.topic)

    @property
    def preferred(self) -> int:
        """Return the first assigned replica, which is the preferred leader."""
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def preferred_is_not_leading(self) -> bool:
        return self.leader != NO_LEADER and self.preferred != self.leader

    @property
    def lag(self) -> int:
        """Return the number of records in the leader's log that are not committed yet: LEO - HW."""
        return max(self.leo - self.hw, 0) if self.hw >= 0 else 0

    def behind(self, broker: int) -> int:
        """Return how many records this replica still has to fetch."""
        have = self.replica_leos.get(broker, -1)
        return (
            max(self.leo - have, 0) if have >= 0 and self.leo >= 0 and broker != self.leader else 0
        )


def _place(item: tuple[PartitionKey, PartitionView]) -> tuple[bool, PartitionKey]:
    return item[1].internal, item[0]


class PartitionsView:
    """All partitions, ordered by topic and number. Internal topics come last."""

    def __init__(self, glow: Glow, brokers: BrokersView) -> None:
        self._by_key: dict[PartitionKey, PartitionView] = {}
        self._in_order = True
        self._glow = glow
        self._brokers = brokers
        self._told: dict[int, set[PartitionKey]] = {}
        """Broker → the partitions in its snapshot that is being received."""
        self._told_by_controller: dict[int, set[PartitionKey]] = {}

    @property
    def by_key(self) -> dict[PartitionKey, PartitionView]:
        """Return all partitions in their order. O(1), but O(n log n) after new ones were added."""
        if not self._in_order:
            self._by_key = dict(sorted(self._by_key.items(), key=_place))
            self._in_order = True
        return self._by_key

    def get(self, key: PartitionKey) -> PartitionView | None:
        """Return a partition, or None if no source has reported it. O(1)."""
        return self._by_key.get(key)

    def __getitem__(self, key: PartitionKey) -> PartitionView:
        if key not in self._by_key:
            self._by_key[key] = PartitionView(key)
            self._in_order = False
        return self._by_key[key]

    def sign(self, partition: PartitionView, broker: int) -> str:
        """Return the symbol of one replica.

        For a dead broker, `standing` returns its role in ZooKeeper.
        """
        if broker not in partition.replicas:
            return NONE
        if not self._brokers.alive(broker):
            return DEAD
        if broker == partition.leader:
            return LEADER
        if not partition.isr_known:
            return NOT_KNOWN
        return IN_ISR if broker in partition.isr else OUT_OF_SYNC

    def standing(self, partition: PartitionView, broker: int) -> str:
        """Return the role that a dead broker still has in ZooKeeper: ● leader, ○ in the ISR, or "".

        Between the death of a process and the end of its session, ZooKeeper is out of date. In this
        time no produce with acks=all is acknowledged.
        """
        if broker not in partition.replicas or self._brokers.alive(broker):
            return ""
        if broker == partition.leader:
            return LEADER
        return IN_ISR if broker in partition.isr else ""

    def dead_members(self, partition: PartitionView) -> int:
        """Return how many members of the ISR in ZooKeeper are dead."""
        return sum(not self._brokers.alive(broker) for broker in partition.isr)

    def dead_in_isr(self) -> int:
        """Return how many ISRs have a dead member. O(partitions)."""
        return sum(self.dead_members(p) > 0 for p in self.by_key.values())

    def leader_lives(self, partition: PartitionView) -> bool:
        return partition.leader != NO_LEADER and self._brokers.alive(partition.leader)

    def under_replicated(self, partition: PartitionView) -> bool:
        """Return whether the partition is under-replicated, as Kafka counts it.

        The ISR is then smaller than the assignment; replicas that a reassignment is adding do not
        count. A dead broker in the ISR counts as out of sync, because Kafka will soon remove it.
        While the ISR is not known, the partition is not counted.
        """
        wanted = len(partition.replicas) - len(partition.adding)
        alive = sum(self._brokers.alive(broker) for broker in partition.isr)
        return partition.isr_known and alive < wanted

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of (all, under-replicated, leaderless) partitions. O(partitions)."""
        under = sum(self.under_replicated(p) for p in self.by_key.values())
        return len(self.by_key), under, sum(not self.leader_lives(p) for p in self.by_key.values())

    def without_known_isr(self) -> list[PartitionView]:
        """Return the partitions with a live leader whose ISR is not known. O(partitions)."""
        return [p for p in self.by_key.values() if self.leader_lives(p) and not p.isr_known]

    def led_by(self, broker: int) -> int:
        return sum(p.leader == broker for p in self.by_key.values())

    def apply(self, envelope: Envelope) -> None:
        """Update the partitions with one event.

        O(1); the end of a snapshot or of a topic costs O(partitions).
        """
        teller = envelope.broker
        if teller is None:  # only brokers report on replicas
            return
        match envelope.event:
            case SnapshotBegins():
                self._told[teller] = set()
                self._told_by_controller.pop(teller, None)
            case ControllerSnapshot(active=True):
                self._told_by_controller[teller] = set()
            case SnapshotEnds():
                self._forget_untold(teller)
            case LeaderElected() as e:
                self._change(
                    PartitionKey(e.topic, e.partition),
                    e.leader_epoch,
                    e.zk_version,
                    e.new_leader,
                    e.isr,
                    e.replicas,
                )
            case ReplicaRemovedFromIsr() as e:
                self._change(
                    PartitionKey(e.topic, e.partition),
                    e.leader_epoch,
                    e.zk_version,
                    e.leader,
                    e.isr,
                    (),
                )
            case IsrShrunk() | IsrExpanded() as e:
                self._change(
                    PartitionKey(e.topic, e.partition),
                    e.leader_epoch,
                    e.zk_version,
                    None,
                    e.after,
                    (),
                )
            case ControllerPartitionSnapshot() as e:
                key = PartitionKey(e.topic, e.partition)
                if teller in self._told_by_controller:
                    self._told_by_controller[teller].add(key)
                self._change(key, e.leader_epoch, e.zk_version, e.leader, e.isr, e.replicas)
            case PartitionMetadataSnapshot() as e:
                key = PartitionKey(e.topic, e.partition)
                known = self.get(key)
                if known is None or known.leader_epoch < e.leader_epoch:
                    self._change(key, e.leader_epoch, -1, e.leader, e.isr, e.replicas)
            case BecameLeader() as e:
                key = PartitionKey(e.topic, e.partition)
                self._change(
                    key, e.leader_epoch, e.zk_version, teller, e.isr, e.replicas, e.adding_replicas
                )
                self._offsets(self[key], teller, e.high_watermark, e.start_offset)
            case BecameFollower() as e:
                key = PartitionKey(e.topic, e.partition)
                if self[key].leader_epoch < e.leader_epoch:
                    self._change(key, e.leader_epoch, -1, e.leader, None, e.replicas)
                self._offsets(self[key], teller, e.high_watermark, e.log_end_offset)
            case PartitionSnapshot() as e:
                key = PartitionKey(e.topic, e.partition)
                self._told.setdefault(teller, set()).add(key)
                leads = e.leader == teller
                if leads or self[key].leader_epoch < e.leader_epoch:
                    self._change(
                        key,
                        e.leader_epoch,
                        e.zk_version,
                        e.leader,
                        e.isr if leads else None,
                        e.replicas,
                        e.adding_replicas,
                    )
                self._progress(self[key], teller, e.progress)
            case PartitionOffsets() as e:
                known = self.get(PartitionKey(e.topic, e.partition))
                if known is not None:
                    self._progress(known, teller, e.progress)
            case ReplicaStopped(deleted=True) as e:
                self[PartitionKey(e.topic, e.partition)].replica_leos.pop(teller, None)
            case TopicDeletionChanged(step="complete") as e:
                self._by_key = {k: p for k, p in self._by_key.items() if k.topic != e.topic}
            case PartitionStateChanged(after="OfflinePartition") as e:
                key = PartitionKey(e.topic, e.partition)
                if self[key].leader != NO_LEADER and not self._brokers.alive(self[key].leader):
                    self._set_leader(self[key], NO_LEADER)
            case _:
                pass

    def _change(
        self,
        key: PartitionKey,
        epoch: int,
        zk_version: int,
        leader: int | None,
        isr: tuple[int, ...] | None,
        replicas: tuple[int, ...],
        adding: tuple[int, ...] | None = None,
    ) -> None:
        """Set leader, epoch, ISR and replicas. None and () leave a value unchanged.

        A report that is older than the known state is dropped.
        """
        p = self[key]
        if (epoch, zk_version if zk_version >= 0 else p.zk_version) < (
            p.leader_epoch,
            p.zk_version,
        ):
            return
        is_new = p.leader_epoch < 0
        if replicas:
            p.replicas = replicas
        if adding is not None:
            p.adding = adding
        if epoch != p.leader_epoch:
            p.leader_epoch = epoch
            if not is_new:
                self._glow.touch("epoch", key)
        p.zk_version = max(zk_version, p.zk_version)
        if leader is not None and leader != p.leader:
            self._set_leader(p, leader, quietly=is_new)
        if isr is not None and isr != p.isr:
            for broker in set(isr) ^ set(p.isr):
                if not is_new:
                    self._glow.touch("cell", key, broker)
            p.isr = isr

    def _set_leader(self, p: PartitionView, leader: int, quietly: bool = False) -> None:
        if not quietly:
            for broker in (p.leader, leader):
                self._glow.touch("cell", p.key, broker)
        p.leader = leader

    def _progress(self, p: PartitionView, teller: int, progress: PartitionProgress) -> None:
        self._offsets(p, teller, progress.hw, progress.leo)
        if teller == p.leader:
            p.log_start = progress.log_start
            p.replica_leos.update(
                {
                    broker: leo
                    for broker, leo in progress.remote_leos
                    if leo >= 0 and not self._speaks_itself(broker)
                }
            )
        p.min_isr = progress.min_isr

    def _speaks_itself(self, broker: int) -> bool:
        known = self._brokers.by_id.get(broker)
        return known is not None and known.linked

    def _offsets(self, p: PartitionView, teller: int, hw: int, leo: int) -> None:
        p.replica_leos[teller] = leo
        if teller == p.leader:
            p.hw, p.leo = hw, leo

    def _forget_untold(self, teller: int) -> None:
        """Forget everything that a complete snapshot does not contain.

        A replica that is not in its broker's snapshot does not exist on this broker. A partition
        that the controller does not know is deleted.
        """
        told = self._told.pop(teller, None)
        if told is not None:
            for key, p in self._by_key.items():
                if key not in told:
                    p.replica_leos.pop(teller, None)
        by_controller = self._told_by_controller.pop(teller, None)
        if by_controller is not None:
            self._by_key = {key: p for key, p in self._by_key.items() if key in by_controller}
