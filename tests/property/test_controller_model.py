"""Whatever happens to brokers, sessions, znodes and topics: in the end one controller rules a
healthy cluster (spec C1-C9, L1).

Hypothesis drives real KafkaControllers on a ZooKeeper in memory, in virtual time. Sometimes only a
moment passes between two faults, so that their events mix. After each pause, there must be one
controller. Every partition with a live ISR member must be led by the first live ISR member in the
order of AR. The controller's context must match ZooKeeper, and no epoch may have gone back.
"""

import contextlib
import json

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_context import PartitionAndReplica
from kafka_edu.controller.partition_state_machine import PartitionState
from kafka_edu.controller.replica_state_machine import ReplicaState
from kafka_edu.controller.requested_elections import ElectionType
from kafka_edu.zk.zk_client import ZkError
from kafka_edu.zk.zk_data import ControllerZNode, ReplicaAssignment, TopicAssignment
from tests.defaults import CONTROLLER_DEFAULTS
from tests.unit.controller.conftest import ControllerCluster

IDS = (1, 2, 3)
BROKERS = st.sampled_from(IDS)
TOPICS = st.sampled_from(("a", "b"))
MOMENTS = st.sampled_from((0.1, 1.0, 3.0))
REST_MS = 30_000


class ControllerModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.cluster = ControllerCluster()
        self.config = CONTROLLER_DEFAULTS._replace(auto_leader_rebalance_enable=False)
        self.epochs: dict[TopicPartition, tuple[int, int]] = {}
        self.unnotified: dict[TopicPartition, int] = {}
        """Partitions whose leader has written the ISR, and has not notified the controller yet."""
        self.at_rest = False

    @initialize()
    def begin(self) -> None:
        self.cluster.start(*IDS, config=self.config)
        self.cluster.create_topic("a", [1, 2, 3], [2, 3], [3])
        self.rest()

    @property
    def alive(self) -> list[int]:
        return sorted(self.cluster.brokers)

    def moment(self, ms: float) -> None:
        self.at_rest = False
        self.cluster.loop.advance(ms)

    # Faults.

    @rule(
        topic=TOPICS,
        replicas=st.lists(
            st.permutations(IDS).flatmap(lambda p: st.integers(1, 3).map(lambda n: p[:n])),
            min_size=1,
            max_size=3,
        ),
        ms=MOMENTS,
    )
    def create(self, topic: str, replicas: list[list[int]], ms: float) -> None:
        if topic not in self.cluster.run(self.cluster.admin.get_all_topics_in_cluster()):
            assignment = TopicAssignment.of(dict(enumerate(replicas)))
            self.cluster.run(self.cluster.admin.create_topic_assignment(topic, assignment))
            self.moment(ms)

    @rule(topic=TOPICS, ms=MOMENTS)
    def add_a_partition(self, topic: str, ms: float) -> None:
        found = self.cluster.run(self.cluster.admin.get_assignment_for_topics([topic])).get(topic)
        if (
            found is not None
            and len(found.partitions) < 5
            and topic not in self.cluster.run(self.cluster.admin.get_topic_deletions())
        ):
            more = {**found.partitions, len(found.partitions): ReplicaAssignment(IDS)}
            self.cluster.run(
                self.cluster.admin.set_topic_assignment(
                    topic, TopicAssignment(found.topic_id, more)
                )
            )
            self.moment(ms)

    @rule(topic=TOPICS, ms=MOMENTS)
    def delete(self, topic: str, ms: float) -> None:
        there = self.cluster.run(self.cluster.admin.get_all_topics_in_cluster())
        if topic in there and topic not in self.cluster.run(
            self.cluster.admin.get_topic_deletions()
        ):
            self.cluster.run(self.cluster.admin.create_delete_topic_path(topic))
            self.moment(ms)

    @precondition(lambda self: len(self.alive) > 1)
    @rule(broker=BROKERS, ms=MOMENTS)
    def kill(self, broker: int, ms: float) -> None:
        """Kill the broker as kill -9 does. Its session ends at once, because there is no reason to
        wait for the session time-out.
        """
        if broker in self.cluster.brokers:
            self.kill_at_once(broker)
            self.moment(ms)

    def kill_at_once(self, broker: int) -> None:
        died = self.cluster.brokers.pop(broker)
        self.unnotified = {tp: leader for tp, leader in self.unnotified.items() if leader != broker}
        self.cluster.loop.kill(died.process)
        self.cluster.zookeeper.expire(died.zk.session_id)

    @rule(broker=BROKERS, ms=MOMENTS)
    def start(self, broker: int, ms: float) -> None:
        if broker not in self.cluster.brokers:
            self.cluster.start(broker, config=self.config)
            self.moment(ms)

    @rule(broker=BROKERS, ms=MOMENTS)
    def expire(self, broker: int, ms: float) -> None:
        if broker in self.cluster.brokers:
            self.cluster.zookeeper.expire(self.cluster.brokers[broker].zk.session_id)
            self.moment(ms)

    @rule(
        data=st.sampled_from(
            (None, b"nonsense", *(ControllerZNode.encode(broker, 0) for broker in (*IDS, 77)))
        ),
        ms=MOMENTS,
    )
    def spoil(self, data: bytes | None, ms: float) -> None:
        """Write /controller by hand."""
        with contextlib.suppress(ZkError):  # there is none at the moment
            self.cluster.run(
                self.cluster.hand.delete("/controller")
                if data is None
                else self.cluster.hand.set("/controller", data)
            )
        self.moment(ms)

    @rule(data=st.data(), ms=MOMENTS)
    def an_isr_changes(self, data: st.DataObject, ms: float) -> None:
        """A leader removes followers from the ISR or adds them again, and notifies the controller.
        It then changes the ISR a second time, and `rest` notifies the controller of this change
        later.

        Often a member of this ISR dies before the second notification. The controller must then
        handle the death with an old ISR in its memory.
        """
        self.rest()
        led = [tp for tp, (leader, _, _) in sorted(self.states().items()) if leader in self.alive]
        if led:
            tp = data.draw(st.sampled_from(led))
            leader, in_sync = self.states()[tp][0], set(self.assignment()[tp]) & set(self.alive)
            for notify in (True, False):
                isr = [
                    leader,
                    *sorted(data.draw(st.sets(st.sampled_from(sorted(in_sync)))) - {leader}),
                ]
                self.cluster.write_isr(tp, isr, notify=notify)
            self.unnotified[tp] = leader
            if len(self.alive) > 1 and data.draw(st.booleans()):
                self.kill_at_once(data.draw(st.sampled_from(isr)))
            self.moment(ms)

    @rule(kind=st.sampled_from(ElectionType), ms=MOMENTS)
    def elect(self, kind: ElectionType, ms: float) -> None:
        self.rest()
        self.cluster.run(
            self.cluster.controller.controller.elect_leaders(sorted(self.assignment()), kind)
        )
        self.moment(ms)

    @rule()
    def rest(self) -> None:
        if self.unnotified:
            self.cluster.run(self.cluster.admin.propagate_isr_changes(self.unnotified))
            self.unnotified.clear()
        self.cluster.settle(REST_MS)
        self.at_rest = True

    # Checks.

    def states(self) -> dict[TopicPartition, tuple[int, int, tuple[int, ...]]]:
        found = self.cluster.run(
            self.cluster.admin.get_topic_partition_states(list(self.assignment()))
        )
        return {
            tp: (s.leader_and_isr.leader, s.leader_and_isr.leader_epoch, s.leader_and_isr.isr)
            for tp, s in found.items()
        }

    def assignment(self) -> dict[TopicPartition, tuple[int, ...]]:
        topics = self.cluster.run(self.cluster.admin.get_all_topics_in_cluster())
        found = self.cluster.run(self.cluster.admin.get_assignment_for_topics(topics))
        return {
            TopicPartition(topic, n): a.replicas
            for topic, assignment in found.items()
            for n, a in assignment.partitions.items()
        }

    @precondition(lambda self: self.at_rest)
    @invariant()
    def one_broker_rules_and_all_know_it(self) -> None:
        ruler = self.cluster.controller
        data, stat = self.cluster.run(self.cluster.hand.get("/controller"))
        assert json.loads(data)["brokerid"] == ruler.id
        assert stat.ephemeral_owner == ruler.zk.session_id
        assert {
            broker.controller.active_controller_id for broker in self.cluster.brokers.values()
        } == {ruler.id}
        epoch = self.cluster.run(self.cluster.admin.get_controller_epoch())
        assert epoch is not None
        assert epoch[0] == ruler.controller.epoch
        assert self.cluster.run(self.cluster.admin.get_broker_ids()) == self.alive

    @precondition(lambda self: self.at_rest)
    @invariant()
    def who_can_be_led_is_led(self) -> None:
        doomed = set(self.cluster.run(self.cluster.admin.get_topic_deletions()))
        states, assignment = self.states(), self.assignment()
        for tp, replicas in assignment.items():
            alive = [replica for replica in replicas if replica in self.alive]
            if tp.topic in doomed:
                of_topic = {
                    replica
                    for other, found in assignment.items()
                    if other.topic == tp.topic
                    for replica in found
                }
                assert of_topic - set(self.alive), "only a dead replica holds a deletion up"
                continue
            if tp not in states:
                assert not alive, "it has had a live replica since it was made"
                continue
            leader, epoch, isr = states[tp]
            assert isr, tp
            assert set(isr) <= set(replicas), tp
            in_sync = [replica for replica in alive if replica in isr]
            assert leader in in_sync if in_sync else leader == -1, (tp, leader, isr, alive)
            if in_sync:
                assert set(isr) <= set(alive), "the dead have left it"
            known = self.epochs.get(tp, (-1, -1))
            created = self.cluster.run(self.cluster.hand.exists(f"/brokers/topics/{tp.topic}"))
            assert created is not None
            if known[0] == created.czxid:
                assert epoch >= known[1], tp
            self.epochs[tp] = (created.czxid, epoch)

    @precondition(lambda self: self.at_rest)
    @invariant()
    def the_context_is_what_zookeeper_holds(self) -> None:
        term = self.cluster.controller.controller._term
        assert term is not None
        context = term.context
        assert context.live_broker_ids == self.alive
        assert {
            tp: context.partition_replica_assignment(tp) for tp in context.all_partitions
        } == self.assignment()
        states = self.states()
        for tp in context.all_partitions:
            if context.is_topic_queued_up_for_deletion(tp.topic):
                continue
            known = context.partition_leadership_info(tp)
            assert (tuple(known.leader_and_isr)[:3] if known else None) == states.get(tp), tp
            leader = states[tp][0] if tp in states else -1
            expected = (
                PartitionState.NEW
                if tp not in states
                else PartitionState.ONLINE
                if leader >= 0
                else PartitionState.OFFLINE
            )
            assert context.partition_state(tp) is expected, tp
            for replica in context.partition_replica_assignment(tp):
                state = context.replica_state(PartitionAndReplica(tp, replica))
                offline = {ReplicaState.OFFLINE} if replica not in self.alive else set()
                assert state in {ReplicaState.ONLINE, *offline}, (
                    tp,
                    replica,
                    state,
                    # a new partition counts as online, as in Kafka, even if its broker is dead
                )

    def teardown(self) -> None:
        self.cluster.loop.close()


TestControllerModel = ControllerModel.TestCase
TestControllerModel.settings = settings(
    max_examples=20, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
