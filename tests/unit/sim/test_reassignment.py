"""Partitions move between brokers under a producer with acks=all, in virtual time (spec C5).

No acknowledged record is lost, whatever dies on the way.
"""

from collections.abc import Iterator, Sequence

import pytest

from kafka_edu.cluster.topic_assignment import ReplicaAssignment
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_edu.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from kafka_edu.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from kafka_edu.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafka_edu.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.sim.sim_client import Answer, SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.controller import LeaderElected
from kafka_edu.trace.events.reassignment import (
    ReassignmentCompleted,
    ReassignmentStarted,
    ReassignmentWaits,
)
from kafka_edu.trace.events.replication import BecameLeader, ReplicaStopped
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from tests.defaults import BROKER_DEFAULTS

T0 = TopicPartition("t", 0)
#: The time between two records.
EVERY_MS = 50
SESSION_IS_OVER_MS = 7_000
LOG_FILE = "00000000000000000000.log"


class World:
    """Five brokers; broker 1 is the controller. Partition t-0 is on broker 2, its leader, and on
    broker 3. min.insync.replicas is 2.
    """

    def __init__(self, seed: int = 3, log_dirs: str = "/data") -> None:
        properties = {
            "min.insync.replicas": "2",
            "auto.leader.rebalance.enable": "false",
            "zookeeper.session.timeout.ms": "4000",
        }
        properties["log.dirs"] = log_dirs
        self.cluster = SimCluster(seed, (1, 2, 3, 4, 5), properties)
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        self.answers: list[Answer] = []
        self.zk = KafkaZkClient(
            MemoryZkClient(self.cluster.zookeeper, 60_000, "admin"),
            self.cluster.time,
            inter_broker_protocol=BROKER_DEFAULTS.inter_broker_protocol_version,
            max_in_flight=BROKER_DEFAULTS.zookeeper_max_in_flight_requests,
        )
        self.run(self.zk.start(lambda _: None, lambda _: None, 1000))
        assignment = CreatableReplicaAssignment(partition_index=0, broker_ids=[2, 3])
        topic = CreatableTopic(
            name="t", num_partitions=-1, replication_factor=-1, assignments=[assignment]
        )
        created = self.ask(
            CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 4, CreateTopicsResponse
        )
        assert created.topics[0].error_code == 0
        self.cluster.advance(2000)

    def run(self, work):
        return self.cluster.run_as(self.client.process, work)

    @property
    def controller(self) -> int:
        return next(
            b.id
            for b in self.cluster.brokers.values()
            if b.server and b.server._controller and b.server._controller.is_active
        )

    def ask(self, request, version: int, response, broker_id: int = 0):
        async def ask():
            wire = NetworkClient(self.cluster.network.transport(), "admin")
            await wire.connect("127.0.0.1", self.cluster.port(broker_id or self.controller), 1000)
            try:
                return await wire.ask(request, version, response, 30_000)
            finally:
                wire.close()

        return self.run(ask())

    def reassign(self, target: Sequence[int] | None) -> Errors:
        wish = ReassignablePartition(
            partition_index=0, replicas=None if target is None else list(target)
        )
        request = AlterPartitionReassignmentsRequest(
            topics=[ReassignableTopic(name="t", partitions=[wish])]
        )
        response = self.ask(request, 0, AlterPartitionReassignmentsResponse)
        return Errors.of(response.responses[0].partitions[0].error_code)

    def listed(self) -> list[ReplicaAssignment]:
        response = self.ask(
            ListPartitionReassignmentsRequest(topics=None), 0, ListPartitionReassignmentsResponse
        )
        partitions = [p for topic in response.topics for p in topic.partitions]
        return [
            ReplicaAssignment(
                tuple(p.replicas), tuple(p.adding_replicas), tuple(p.removing_replicas)
            )
            for p in partitions
        ]

    def write(self, ms: int) -> None:
        """Produce one record every 50 ms for `ms`, with acks=all, without retries."""
        for _ in range(ms // EVERY_MS):
            self.answers.append(self.client.produce(T0, f"v{len(self.answers)}", -1))
            self.cluster.advance(EVERY_MS)

    def log_bytes(self, broker_id: int) -> bytes | None:
        """Return the replica's log file, or None if there is none."""
        files, path = self.cluster.brokers[broker_id].file_system, f"/data/t-0/{LOG_FILE}"
        return bytes(files.read(path)) if files.exists(path) else None

    def acked(self) -> list[tuple[int, str]]:
        return [
            (a.acked.offset, a.value)
            for a in self.answers
            if a.acked is not None and a.acked.error is Errors.NONE
        ]

    def check(self, *replicas: int) -> None:
        """Check that the partition is on `replicas` only, with equal logs byte for byte.

        Every acknowledged record is at its offset.
        """
        self.cluster.advance(5000)
        assert self.listed() == []
        state = self.run(self.zk.get_topic_partition_states([T0]))[T0].leader_and_isr
        assert set(state.isr) == set(replicas)
        assert state.leader in replicas
        for broker_id, broker in self.cluster.brokers.items():
            if broker.server is not None:
                metadata = self.ask(
                    MetadataRequest(topics=[MetadataRequestTopic(name="t")]),
                    8,
                    MetadataResponse,
                    broker_id,
                )
                (partition,) = metadata.topics[0].partitions
                assert (tuple(partition.replica_nodes), partition.leader_id) == (
                    replicas,
                    state.leader,
                )
        logs = {
            broker_id: self.log_bytes(broker_id)
            for broker_id in self.cluster.brokers
            if self.cluster.brokers[broker_id].server is not None
        }
        held = {broker_id: log for broker_id, log in logs.items() if log is not None}
        assert set(held) == set(replicas)
        assert len(set(held.values())) == 1
        consumed = self.run(self.client.consume(T0))
        assert self.acked()
        assert set(self.acked()) <= set(consumed)

    def completed(self) -> list[tuple[int, ...]]:
        return [
            e.event.replicas
            for e in self.cluster.facts(ReassignmentCompleted)
            if isinstance(e.event, ReassignmentCompleted)
        ]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.cluster.close()


def test_a_partition_moves_to_other_brokers_under_its_producer(world: World) -> None:
    world.write(1000)
    assert world.reassign([4, 5]) is Errors.NONE
    world.write(1000)
    assert len(world.acked()) >= len(world.answers) - 5, (
        "only those on their way while the leader changed"
    )
    world.check(4, 5)
    elected = [e.event for e in world.cluster.facts(LeaderElected)][-1]
    assert isinstance(elected, LeaderElected)
    assert (elected.strategy, elected.old_leader, elected.new_leader) == ("ReassignPartition", 2, 4)
    deleted = {
        e.broker
        for e in world.cluster.facts(ReplicaStopped)
        if isinstance(e.event, ReplicaStopped) and e.event.deleted
    }
    assert deleted == {2, 3}


def test_an_order_by_znode_does_the_same_and_goes_when_it_is_done(world: World) -> None:
    world.write(500)
    world.run(world.zk.create_partition_reassignment({T0: [5, 2]}))
    world.write(500)
    world.check(5, 2)
    assert world.run(world.zk.get_partition_reassignment()) is None


def test_replicas_become_more_and_fewer(world: World) -> None:
    world.write(500)
    world.reassign([2, 3, 4, 5])
    world.write(500)
    world.check(2, 3, 4, 5)
    world.reassign([3, 4])
    world.write(500)
    world.check(3, 4)


def test_a_replica_that_is_added_does_not_make_the_partition_under_replicated(world: World) -> None:
    """Only the ISR is compared with min.insync.replicas. The leader reports which replica is still
    being added.
    """
    world.cluster.pause(4)
    world.reassign([2, 3, 4])
    world.write(500)
    assert [a.acked.error for a in world.answers if a.acked] == [Errors.NONE] * len(world.answers)
    leading = [
        e.event
        for e in world.cluster.facts(BecameLeader)
        if isinstance(e.event, BecameLeader) and e.event.topic == "t"
    ][-1]
    assert (leading.replicas, leading.isr, leading.adding_replicas) == ((2, 3, 4), (2, 3), (4,))
    world.cluster.resume(4)
    world.write(1500)
    world.check(2, 3, 4)


def test_a_cancelled_move_leaves_nothing_behind(world: World) -> None:
    world.cluster.pause(5)
    world.write(500)
    world.reassign([4, 5])
    world.write(500)
    assert world.listed() == [ReplicaAssignment((4, 5, 2, 3), (4, 5), (2, 3))]
    waits = [
        e.event
        for e in world.cluster.facts(ReassignmentWaits)
        if isinstance(e.event, ReassignmentWaits)
    ]
    assert waits[-1].missing == (5,)
    assert world.log_bytes(4) is not None
    assert world.reassign(None) is Errors.NONE
    world.write(500)
    world.cluster.resume(5)
    world.check(2, 3)
    assert world.reassign(None) is Errors.NO_REASSIGNMENT_IN_PROGRESS


def test_another_target_over_a_running_move(world: World) -> None:
    world.cluster.pause(5)
    world.write(500)
    world.reassign([5, 3])
    world.write(500)
    assert world.reassign([4, 3]) is Errors.NONE
    world.write(1500)
    world.cluster.resume(5)
    world.check(4, 3)


def test_the_controller_dies_in_the_middle(world: World) -> None:
    world.cluster.pause(5)
    world.write(500)
    world.reassign([4, 5])
    world.write(250)
    world.cluster.kill(1)
    world.write(SESSION_IS_OVER_MS)
    world.cluster.resume(5)
    world.write(5000)
    world.check(4, 5)
    started = [
        e.event.ordered_by
        for e in world.cluster.facts(ReassignmentStarted)
        if isinstance(e.event, ReassignmentStarted)
    ]
    assert started[:2] == ["api", "controller"]


def test_the_leader_dies_in_the_middle(world: World) -> None:
    world.cluster.pause(5)
    world.write(500)
    world.reassign([3, 4, 5])
    world.write(500)
    world.cluster.kill(2)
    world.write(SESSION_IS_OVER_MS)
    world.cluster.resume(5)
    world.write(3000)
    world.check(3, 4, 5)
    world.cluster.start(2)
    world.cluster.advance(5000)
    assert world.log_bytes(2), (
        "it was told to delete while it was dead: the log is left on its disk, as Kafka 2.8"
        " leaves it"
    )


def test_a_new_replica_dies_and_comes_back(world: World) -> None:
    world.cluster.pause(4)
    world.write(500)
    world.reassign([4, 3])
    world.write(100)
    world.cluster.kill(4)
    world.write(SESSION_IS_OVER_MS)
    assert world.listed()
    world.cluster.start(4)
    world.write(3000)
    world.check(4, 3)


def test_no_partitions_are_added_while_some_move(world: World) -> None:
    world.cluster.pause(4)
    world.reassign([4, 3])
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=2, assignments=None)], timeout_ms=1000
    )
    answer = world.ask(request, 1, CreatePartitionsResponse).results[0]
    assert answer.error_code == Errors.REASSIGNMENT_IN_PROGRESS
    assert answer.error_message == "A partition reassignment is in progress for the topic 't'."


def test_a_new_replica_is_created_in_the_log_dir_that_was_wished_for() -> None:
    """The test does what the tool does for a file that names log dirs.

    First it sends the wanted log dir to the broker, which has no such replica yet and remembers the
    dir. Then it orders the move.
    """
    world = World(log_dirs="/data,/second,/third")
    for broker_id, path in ((4, "/third"), (5, "/second")):
        wanted = AlterReplicaLogDir(
            path=path, topics=[AlterReplicaLogDirTopic(name="t", partitions=[0])]
        )
        answer = world.ask(
            AlterReplicaLogDirsRequest(dirs=[wanted]), 2, AlterReplicaLogDirsResponse, broker_id
        )
        assert answer.results[0].partitions[0].error_code == Errors.REPLICA_NOT_AVAILABLE
    world.write(500)
    world.reassign([4, 5])
    world.write(500)
    world.cluster.advance(2000)
    assert world.completed() == [(4, 5)]
    for broker_id, path in ((4, "/third"), (5, "/second")):
        files = world.cluster.brokers[broker_id].file_system
        assert [
            log_dir
            for log_dir in ("/data", "/second", "/third")
            if files.exists(f"{log_dir}/t-0/{LOG_FILE}")
        ] == [path]
    world.cluster.close()


@pytest.mark.parametrize("seed", range(4))
def test_whenever_the_controller_dies_nothing_is_lost(seed: int) -> None:
    """The controller is killed some ms after the order, in the middle of the move. The next
    controller finishes the move.
    """
    world = World(seed)
    world.write(500)
    world.run(world.zk.create_partition_reassignment({T0: [5, 4]}))
    world.cluster.advance(2 + 8 * seed)
    world.cluster.kill(1)
    world.write(SESSION_IS_OVER_MS)
    world.check(5, 4)
    assert world.completed()[-1] == (5, 4)
    assert world.run(world.zk.get_partition_reassignment()) is None
    world.cluster.close()
