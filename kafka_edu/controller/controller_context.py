"""The controller's knowledge of the cluster (Kafka: ControllerContext.scala; book 000 §6.4.1).

The context is a copy of what ZooKeeper contains, plus the states of the two state machines. It is
read from ZooKeeper once, at the election. After that only the event task changes it, event by
event. It is thrown away at the resignation. No other code may touch it, so it needs no lock.

The context holds one entry for each partition and one for each replica. All lists are in order of
topic, partition and broker id.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kafka_edu.cluster.broker import Broker
from kafka_edu.cluster.leader_and_isr import NO_LEADER, LeaderIsrAndControllerEpoch
from kafka_edu.cluster.topic_assignment import ReplicaAssignment, TopicAssignment
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.partition_state_machine import PartitionState
from kafka_edu.controller.replica_state_machine import ReplicaState
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.controller import (
    ControllerBrokerSnapshot,
    ControllerPartitionSnapshot,
    PartitionStateChanged,
    ReplicaStateChanged,
)

NO_ASSIGNMENT = ReplicaAssignment(())


class PartitionAndReplica(NamedTuple):
    """One replica: its partition and the id of its broker (Kafka: PartitionAndReplica)."""

    topic_partition: TopicPartition
    replica: int


class ControllerContext:
    """The controller's state, from its election until it resigns.

    Only the event task changes it.
    """

    def __init__(
        self, epoch: int, epoch_zk_version: int, tell: Callable[[Event], int] | None = None
    ) -> None:
        self._tell = tell
        self.epoch = epoch
        self.epoch_zk_version = epoch_zk_version
        """The znode version of /controller_epoch; every write to ZooKeeper checks it."""
        self._live_brokers: dict[int, Broker] = {}
        self.shutting_down_broker_ids: set[int] = set()
        self._assignments: dict[str, dict[int, ReplicaAssignment]] = {}
        self.topic_ids: dict[str, uuid.UUID] = {}
        self._leadership: dict[TopicPartition, LeaderIsrAndControllerEpoch] = {}
        self._partition_states: dict[TopicPartition, PartitionState] = {}
        self._replica_states: dict[PartitionAndReplica, ReplicaState] = {}
        self.replicas_on_offline_dirs: dict[int, set[TopicPartition]] = {}
        self.topics_to_be_deleted: set[str] = set()
        self.topics_with_deletion_started: set[str] = set()
        self.topics_ineligible_for_deletion: set[str] = set()
        self.unclean_elections = 0
        """The number of leaders elected in this term that were not in the ISR."""
        self.partitions_being_reassigned: set[TopicPartition] = set()

    # Brokers.

    def set_live_brokers(self, brokers: Iterable[Broker]) -> None:
        self._live_brokers = {broker.id: broker for broker in sorted(brokers, key=lambda b: b.id)}

    def add_live_brokers(self, brokers: Iterable[Broker]) -> None:
        self.set_live_brokers([*(b for b in self._live_brokers.values()), *brokers])

    def remove_live_brokers(self, broker_ids: Iterable[int]) -> None:
        gone = set(broker_ids)
        self.set_live_brokers([b for b in self._live_brokers.values() if b.id not in gone])

    @property
    def live_or_shutting_down_brokers(self) -> list[Broker]:
        return list(self._live_brokers.values())

    @property
    def live_or_shutting_down_broker_ids(self) -> list[int]:
        return list(self._live_brokers)

    @property
    def live_broker_ids(self) -> list[int]:
        """The ids of the brokers that are alive and have not requested a controlled shutdown."""
        return [
            broker_id
            for broker_id in self._live_brokers
            if broker_id not in self.shutting_down_broker_ids
        ]

    def live_broker(self, broker_id: int) -> Broker | None:
        return self._live_brokers.get(broker_id)

    def is_replica_online(
        self, broker_id: int, tp: TopicPartition, include_shutting_down: bool = False
    ) -> bool:
        """Return whether the replica's broker is alive and the replica's disk works. O(1).

        A broker that is shutting down counts as alive only with `include_shutting_down`.
        """
        if broker_id not in self._live_brokers or (
            broker_id in self.shutting_down_broker_ids and not include_shutting_down
        ):
            return False
        return tp not in self.replicas_on_offline_dirs.get(broker_id, ())

    # Topics and assignments.

    @property
    def all_topics(self) -> list[str]:
        return sorted(self._assignments)

    @property
    def all_partitions(self) -> list[TopicPartition]:
        return [
            TopicPartition(topic, number)
            for topic in self.all_topics
            for number in sorted(self._assignments[topic])
        ]

    def has_topic(self, topic: str) -> bool:
        return topic in self._assignments

    def add_topic(self, topic: str, assignment: TopicAssignment) -> None:
        """Add a topic with the partitions of its assignment."""
        self._assignments[topic] = dict(assignment.partitions)
        moving = (
            TopicPartition(topic, number)
            for number, a in assignment.partitions.items()
            if a.is_being_reassigned
        )
        self.partitions_being_reassigned.update(moving)
        if assignment.topic_id is not None:
            self.topic_ids[topic] = assignment.topic_id

    def remove_topic(self, topic: str) -> None:
        """Forget a topic, its partitions and their states."""
        for tp in self.partitions_for_topic(topic):
            for replica in self.partition_replica_assignment(tp):
                self._replica_states.pop(PartitionAndReplica(tp, replica), None)
            self._partition_states.pop(tp, None)
            self._leadership.pop(tp, None)
            self.partitions_being_reassigned.discard(tp)
        self._assignments.pop(topic, None)
        self.topic_ids.pop(topic, None)
        self.topics_to_be_deleted.discard(topic)
        self.topics_with_deletion_started.discard(topic)
        self.topics_ineligible_for_deletion.discard(topic)

    def update_assignment(self, tp: TopicPartition, assignment: ReplicaAssignment) -> None:
        self._assignments.setdefault(tp.topic, {})[tp.partition] = assignment

    def partition_full_replica_assignment(self, tp: TopicPartition) -> ReplicaAssignment:
        return self._assignments.get(tp.topic, {}).get(tp.partition, NO_ASSIGNMENT)

    def partition_replica_assignment(self, tp: TopicPartition) -> tuple[int, ...]:
        """Return AR, the ids of the partition's brokers; the preferred replica is first."""
        return self.partition_full_replica_assignment(tp).replicas

    def has_partition(self, tp: TopicPartition) -> bool:
        return tp.partition in self._assignments.get(tp.topic, {})

    def partitions_for_topic(self, topic: str) -> list[TopicPartition]:
        return [
            TopicPartition(topic, number) for number in sorted(self._assignments.get(topic, {}))
        ]

    def partitions_on_broker(self, broker_id: int) -> list[TopicPartition]:
        """Return the partitions with a replica on the broker. O(partitions)."""
        return [
            tp for tp in self.all_partitions if broker_id in self.partition_replica_assignment(tp)
        ]

    def replicas_on_brokers(self, broker_ids: Iterable[int]) -> list[PartitionAndReplica]:
        wanted = sorted(broker_ids)
        return [PartitionAndReplica(tp, b) for b in wanted for tp in self.partitions_on_broker(b)]

    def replicas_for_partitions(
        self, partitions: Iterable[TopicPartition]
    ) -> list[PartitionAndReplica]:
        return [
            PartitionAndReplica(tp, replica)
            for tp in partitions
            for replica in self.partition_replica_assignment(tp)
        ]

    def replicas_for_topic(self, topic: str) -> list[PartitionAndReplica]:
        return self.replicas_for_partitions(self.partitions_for_topic(topic))

    def is_topic_being_reassigned(self, topic: str) -> bool:
        """Return whether any partition of the topic is being reassigned.

        O(partitions that are being reassigned).
        """
        return any(tp.topic == topic for tp in self.partitions_being_reassigned)

    def is_topic_queued_up_for_deletion(self, topic: str) -> bool:
        return topic in self.topics_to_be_deleted

    # Leadership.

    def put_partition_leadership_info(
        self, tp: TopicPartition, state: LeaderIsrAndControllerEpoch
    ) -> None:
        self._leadership[tp] = state

    def partition_leadership_info(self, tp: TopicPartition) -> LeaderIsrAndControllerEpoch | None:
        return self._leadership.get(tp)

    @property
    def partitions_with_leaders(self) -> list[TopicPartition]:
        """The partitions with a known leader and ISR, except in topics that are being deleted.

        The leader may be -1 (no leader at the moment).
        """
        return [
            tp
            for tp in sorted(self._leadership)
            if not self.is_topic_queued_up_for_deletion(tp.topic)
        ]

    @property
    def partitions_with_offline_leader(self) -> list[TopicPartition]:
        return [
            tp
            for tp in self.partitions_with_leaders
            if not self.is_replica_online(self._leadership[tp].leader_and_isr.leader, tp)
        ]

    def partitions_led_by(self, broker_id: int) -> list[TopicPartition]:
        return [
            tp
            for tp in sorted(self._leadership)
            if self._leadership[tp].leader_and_isr.leader == broker_id
        ]

    # The states of the two state machines. Only put_partition_state and put_replica_state change
    # these states.

    def partition_state(self, tp: TopicPartition) -> PartitionState:
        return self._partition_states.get(tp, PartitionState.NON_EXISTENT)

    def put_partition_state(self, tp: TopicPartition, state: PartitionState, reason: str) -> None:
        before = self.partition_state(tp)
        if state is PartitionState.NON_EXISTENT:
            self._partition_states.pop(tp, None)
        else:
            self._partition_states[tp] = state
        if self._tell and before is not state:
            self._tell(
                PartitionStateChanged(
                    topic=tp.topic,
                    partition=tp.partition,
                    before=before.value,
                    after=state.value,
                    reason=reason,
                    controller_epoch=self.epoch,
                )
            )

    def partitions_in_states(self, *states: PartitionState) -> list[TopicPartition]:
        return [tp for tp in sorted(self._partition_states) if self._partition_states[tp] in states]

    def replica_state(self, replica: PartitionAndReplica) -> ReplicaState:
        return self._replica_states.get(replica, ReplicaState.NON_EXISTENT)

    def put_replica_state(
        self, replica: PartitionAndReplica, state: ReplicaState, reason: str
    ) -> None:
        before = self.replica_state(replica)
        if state is ReplicaState.NON_EXISTENT:
            self._replica_states.pop(replica, None)
        else:
            self._replica_states[replica] = state
        if self._tell and before is not state:
            (topic, partition), broker_id = replica
            self._tell(
                ReplicaStateChanged(
                    topic=topic,
                    partition=partition,
                    replica=broker_id,
                    before=before.value,
                    after=state.value,
                    reason=reason,
                    controller_epoch=self.epoch,
                )
            )

    def replicas_in_state(self, topic: str, state: ReplicaState) -> list[PartitionAndReplica]:
        return [
            replica
            for replica in self.replicas_for_topic(topic)
            if self.replica_state(replica) is state
        ]

    # Counts and snapshots for the trace.

    @property
    def topic_count(self) -> int:
        return len(self._assignments)

    @property
    def partition_count(self) -> int:
        return sum(map(len, self._assignments.values()))

    @property
    def offline_partition_count(self) -> int:
        """The number of partitions in state Offline (Kafka: OfflinePartitionsCount)."""
        return sum(state is PartitionState.OFFLINE for state in self._partition_states.values())

    @property
    def preferred_replica_imbalance(self) -> int:
        """The number of partitions that are not led by the first replica of their AR.

        (Kafka: PreferredReplicaImbalanceCount.)
        """
        return sum(
            self.partition_replica_assignment(tp)[:1] != (state.leader_and_isr.leader,)
            for tp, state in self._leadership.items()
        )

    def snapshot(self) -> Iterator[Event]:
        """Yield the brokers and partitions of the context as events of Kind.SNAPSHOT."""
        for broker in self._live_brokers.values():
            end_points = tuple(str(end_point) for end_point in broker.end_points)
            yield ControllerBrokerSnapshot(
                broker_id=broker.id,
                broker_epoch=broker.epoch,
                end_points=end_points,
                rack=broker.rack,
                shutting_down=broker.id in self.shutting_down_broker_ids,
            )
        for tp in self.all_partitions:
            replicas = self.partition_replica_assignment(tp)
            states = tuple(
                self.replica_state(PartitionAndReplica(tp, replica)).value for replica in replicas
            )
            leadership = self._leadership.get(tp)
            leader, epoch, isr, zk_version = (
                leadership.leader_and_isr if leadership else (NO_LEADER, -1, (), -1)
            )
            yield ControllerPartitionSnapshot(
                topic=tp.topic,
                partition=tp.partition,
                state=self.partition_state(tp).value,
                replicas=replicas,
                replica_states=states,
                leader=leader,
                leader_epoch=epoch,
                isr=isr,
                zk_version=zk_version,
            )
