"""Observes the simulated brokers during a run, and records the changes that must be permanent.

A watch only reads. A run with a watch has the same facts, byte for byte, as a run without a watch.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kafka_edu.common.topic import TRANSACTION_STATE_TOPIC_NAME
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.transaction.transaction_state import TransactionState
from kafka_edu.sim.scenario.stored import partitions_of
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import ControllerElected, LeaderElected
from kafka_edu.trace.events.log import LogTruncated
from kafka_edu.trace.events.replication import BecameLeader
from kafka_edu.trace.events.transaction import TransactionsLoaded, TransactionStateChanged


class Promise(NamedTuple):
    """The highest high watermark that a leader of a partition has had, with its broker and its
    time.
    """

    high_watermark: int
    broker: int
    leader_epoch: int
    at_ms: int


class Watch:
    """Notes the high watermarks of leaders, and which brokers led and controlled in which epoch."""

    def __init__(self, cluster: SimCluster) -> None:
        self._cluster = cluster
        self.begun_ms = 0
        """The cluster's time when the run began. Times are counted from here, as those of acts."""
        self._marks: dict[tuple[int, int, TopicPartition, int], int] = {}
        """The last high watermark of a leader, by broker, its start, partition and epoch."""
        self.promises: dict[TopicPartition, Promise] = {}
        self.went_back: list[str] = []
        self._in_sync_ms: dict[tuple[TopicPartition, int], int] = {}
        """When a broker was last seen in the ISR of a partition's leader."""
        self._absences_ms: dict[tuple[TopicPartition, int], int] = {}
        self.leaders: dict[tuple[TopicPartition, int], set[int]] = {}
        """The brokers that became leader of a partition in one leader epoch."""
        self.controllers: dict[int, set[int]] = {}
        """The brokers that became controller in one controller epoch."""
        self.elected_ms = 0
        """When a controller last elected a leader."""
        self.decided_ms: dict[str, list[int]] = {}
        """Transactional id → when its coordinator has decided about an open transaction."""
        self.stored_ms: dict[str, list[tuple[int, frozenset[str]]]] = {}
        """Transactional id → when partitions of its transaction were stored and replicated."""
        self.state_partitions: dict[str, int] = {}
        """Transactional id → the partition of `__transaction_state` that has its states."""
        self.loaded_ms: dict[tuple[int, int], list[int]] = {}
        """(partition of `__transaction_state`, broker) → when the broker has read its states."""
        self.cut_ms: dict[tuple[int, int], list[int]] = {}
        """(partition of `__transaction_state`, broker) → when its log has lost its end, because a
        new leader did not have these states.
        """
        cluster.sink.listeners.append(self._listen)

    def _listen(self, envelope: Envelope) -> None:
        broker = envelope.broker
        if broker is None:
            return
        match envelope.event:
            case BecameLeader() as event:
                tp = TopicPartition(event.topic, event.partition)
                self.leaders.setdefault((tp, event.leader_epoch), set()).add(broker)
            case LeaderElected():
                self.elected_ms = self._now_ms()
            case TransactionStateChanged() as event:
                self.state_partitions[event.transactional_id] = event.log_partition
                if event.after == TransactionState.ONGOING:
                    stored = self._now_ms(), frozenset(event.partitions)
                    self.stored_ms.setdefault(event.transactional_id, []).append(stored)
                elif event.before == TransactionState.ONGOING:
                    self.decided_ms.setdefault(event.transactional_id, []).append(self._now_ms())
            case TransactionsLoaded(partition=partition):
                self.loaded_ms.setdefault((partition, broker), []).append(self._now_ms())
            case LogTruncated(topic=topic, partition=partition) if (
                topic == TRANSACTION_STATE_TOPIC_NAME
            ):
                self.cut_ms.setdefault((partition, broker), []).append(self._now_ms())
            case ControllerElected() as event:
                self.controllers.setdefault(event.epoch, set()).add(broker)

    def _now_ms(self) -> int:
        return self._cluster.time.hi_res_clock_ms() - self.begun_ms

    def look(self) -> None:
        """Read the high watermark of every leader."""
        now_ms = self._now_ms()
        for sim in self._cluster.brokers.values():
            for partition in partitions_of(self._cluster, sim.id):
                if not partition.is_leader:
                    continue
                tp, epoch = partition.topic_partition, partition.leader_epoch
                self._note_in_sync(tp, partition.isr, now_ms)
                mark = partition.high_watermark.offset
                key = sim.id, sim.incarnation, tp, epoch
                before = self._marks.get(key, -1)
                if mark < before:
                    self.went_back.append(
                        f"{tp} on leader {sim.id}, epoch {epoch}: high watermark {before} ->"
                        f" {mark} at {now_ms / 1_000:.1f} s"
                    )
                self._marks[key] = mark
                if mark > self.promises.get(tp, _NONE).high_watermark:
                    self.promises[tp] = Promise(mark, sim.id, epoch, now_ms)

    def _note_in_sync(self, tp: TopicPartition, isr: Iterable[int], now_ms: int) -> None:
        for broker in isr:
            key = tp, broker
            absence_ms = now_ms - self._in_sync_ms.get(key, now_ms)
            if absence_ms > self._absences_ms.get(key, 0):
                self._absences_ms[key] = absence_ms
            self._in_sync_ms[key] = now_ms

    def longest_absence_ms(self, tp: TopicPartition, broker: int) -> int:
        """Return the longest time for which a broker was in no leader's ISR of this partition."""
        return self._absences_ms.get((tp, broker), 0)


_NONE = Promise(-1, -1, -1, -1)
