"""Admin requests that need several brokers. Three brokers run in virtual time, and the requests
come over simulated connections.
"""

from collections.abc import Iterator

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from kafka_edu.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrRequestPartition,
    AlterIsrRequestTopic,
)
from kafka_edu.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
)
from kafka_edu.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafka_edu.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from kafka_edu.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafka_edu.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from kafka_edu.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_edu.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_edu.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    PartitionResult,
    TopicPartitions,
)
from kafka_edu.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.messages.update_features import UpdateFeaturesRequest
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.controller import IsrAltered, LeaderElected, TopicDeletionChanged
from kafka_edu.trace.events.log import LogStartOffsetIncremented

T = TopicPartition("t", 0)
PREFERRED, UNCLEAN = 0, 1


class World:
    def __init__(self) -> None:
        self.cluster = SimCluster(seed=5)
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        assignment = CreatableReplicaAssignment(partition_index=0, broker_ids=[1, 2, 3])
        topic = CreatableTopic(
            name="t", num_partitions=-1, replication_factor=-1, assignments=[assignment]
        )
        created = self.ask(
            self.controller, CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 4
        )
        assert created.topics[0].error_code == 0
        self.cluster.advance(
            2000
        )  # a follower that asked before the leader knew asks again after a second

    @property
    def controller(self) -> int:
        return next(
            b.id
            for b in self.cluster.brokers.values()
            if b.server is not None and self.controller_of(b.id).is_active
        )

    def controller_of(self, broker_id: int):
        controller = self.cluster.brokers[broker_id].running._controller
        assert controller is not None
        return controller

    def other(self) -> int:
        return next(broker_id for broker_id in self.cluster.brokers if broker_id != self.controller)

    def run(self, work):
        return self.cluster.run_as(self.client.process, work)

    async def _ask(self, to: int, request, version: int):
        client = NetworkClient(self.cluster.network.transport(), "admin")
        await client.connect("127.0.0.1", self.cluster.port(to), 1000)
        try:
            return await client.ask(request, version, REGISTRY[request.KEY].response, 60_000)
        finally:
            client.close()

    def ask(self, to: int, request, version: int):
        return self.run(self._ask(to, request, version))

    def leader(self) -> int:
        return self.run(self.client.leader_of(T))

    def log(self, broker_id: int, tp: TopicPartition = T):
        manager = self.cluster.brokers[broker_id].running._log_manager
        assert manager is not None
        return manager.get_log(tp)

    def elect(self, kind: int, to: int | None = None) -> Errors:
        return Errors.of(self.elected(kind, to).error_code)

    def elected(self, kind: int, to: int | None = None) -> PartitionResult:
        request = ElectLeadersRequest(
            election_type=kind,
            topic_partitions=[TopicPartitions(topic="t", partition_id=[0])],
            timeout_ms=10_000,
        )
        response = self.ask(self.controller if to is None else to, request, 2)
        assert response.error_code == 0
        return response.replica_election_results[0].partition_result[0]

    def produce(self, count: int) -> None:
        for number in range(count):
            answer = self.client.produce(T, f"v{number}", -1)
            self.cluster.advance(1000)
            assert answer.acked is not None
            assert answer.acked.error is Errors.NONE

    def delete_records(self, offset: int):
        partition = DeleteRecordsPartition(partition_index=0, offset=offset)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name="t", partitions=[partition])], timeout_ms=5000
        )
        return self.ask(self.leader(), request, 2).topics[0].partitions[0]

    def steps(self, topic: str) -> list[str]:
        return [
            e.event.step
            for e in self.cluster.facts(TopicDeletionChanged)
            if isinstance(e.event, TopicDeletionChanged) and e.event.topic == topic
        ]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.cluster.close()


def test_the_preferred_leader_leads_again_and_the_answer_comes_when_it_is_known(
    world: World,
) -> None:
    world.cluster.stop(1)
    world.cluster.advance(2000)
    assert world.leader() == 2
    refused = world.elected(PREFERRED)
    assert refused.error_code == Errors.PREFERRED_LEADER_NOT_AVAILABLE
    assert refused.error_message.startswith(
        "Failed to elect leader for partition t-0 under strategy"
        " PreferredReplicaPartitionLeaderElectionStrategy: "
    )
    world.cluster.start(1)
    world.cluster.advance(3000)
    assert world.leader() == 2
    assert world.elect(PREFERRED) is Errors.NONE
    assert world.leader() == 1
    assert world.elect(PREFERRED) is Errors.ELECTION_NOT_NEEDED
    last = world.cluster.facts(LeaderElected)[-1].event
    assert isinstance(last, LeaderElected)
    assert (last.strategy, last.new_leader) == ("PreferredReplica", 1)


def test_an_unclean_election_takes_who_is_alive(world: World) -> None:
    """Broker 3 lags and leaves the ISR. Then brokers 1 and 2 die, so no replica in sync is
    alive.
    """
    world.cluster.pause(3)
    world.cluster.advance(20_000)
    for broker_id in (1, 2):
        world.cluster.kill(broker_id)
    world.cluster.resume(3)
    world.cluster.advance(30_000)
    assert world.leader() == -1
    assert world.elect(PREFERRED) is Errors.PREFERRED_LEADER_NOT_AVAILABLE
    assert world.elect(UNCLEAN) is Errors.NONE
    assert world.leader() == 3
    assert world.elect(UNCLEAN) is Errors.ELECTION_NOT_NEEDED


@pytest.mark.parametrize(("kind", "name"), [(2, "t"), (4, "")])
def test_a_config_that_allows_unclean_elections_brings_one_about(
    world: World, kind: int, name: str
) -> None:
    """Set for the topic, or for all brokers."""
    world.cluster.pause(3)
    world.cluster.advance(20_000)
    for broker_id in (1, 2):
        world.cluster.kill(broker_id)
    world.cluster.resume(3)
    world.cluster.advance(30_000)
    assert world.leader() == -1
    entry = AlterableConfig(name="unclean.leader.election.enable", value="true")
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[entry])
    assert world.ask(3, AlterConfigsRequest(resources=[resource]), 1).responses[0].error_code == 0
    world.cluster.advance(1000)
    assert world.leader() == 3


def test_records_are_deleted_on_all_replicas_before_the_answer(world: World) -> None:
    world.produce(5)
    result = world.delete_records(3)
    assert (result.error_code, result.low_watermark) == (0, 3)
    assert [world.log(broker_id).log_start_offset for broker_id in (1, 2, 3)] == [3, 3, 3]
    moved = [
        e
        for e in world.cluster.facts(LogStartOffsetIncremented)
        if isinstance(e.event, LogStartOffsetIncremented) and e.event.topic == "t"
    ]
    assert sorted(e.broker for e in moved) == [1, 2, 3]


def test_a_follower_that_stands_still_keeps_the_answer_waiting(world: World) -> None:
    world.produce(5)
    world.cluster.pause(3)
    result = world.delete_records(3)
    assert (result.error_code, result.low_watermark) == (Errors.REQUEST_TIMED_OUT, -1)
    assert world.log(1).log_start_offset == 3
    world.cluster.resume(3)
    world.cluster.advance(3000)
    assert world.log(3).log_start_offset == 3


def test_a_dead_follower_does_not_count_and_takes_the_log_start_over_when_it_is_back(
    world: World,
) -> None:
    world.produce(5)
    world.cluster.kill(3)
    world.cluster.advance(20_000)
    result = world.delete_records(4)
    assert (result.error_code, result.low_watermark) == (0, 4)
    world.cluster.start(3)
    world.cluster.advance(5000)
    assert world.log(3).log_start_offset == 4


def test_a_topic_is_deleted_while_a_broker_is_down_and_its_replica_when_it_is_back(
    world: World,
) -> None:
    down = next(b for b in (1, 2, 3) if b != world.controller)
    world.cluster.kill(down)
    world.cluster.advance(20_000)
    request = DeleteTopicsRequest(topic_names=["t"], timeout_ms=10_000)
    assert world.ask(world.controller, request, 3).responses[0].error_code == 0
    world.cluster.advance(1000)
    assert [world.log(broker_id) for broker_id in (1, 2, 3) if broker_id != down] == [None, None]
    assert "ineligible" in world.steps("t")
    assert "complete" not in world.steps("t")
    assert (
        world.ask(world.controller, request, 3).responses[0].error_code
        == Errors.UNKNOWN_TOPIC_OR_PARTITION
    )
    world.cluster.start(down)
    world.cluster.advance(5000)
    assert world.log(down) is None
    assert world.steps("t")[-1] == "complete"
    assert world.run(world.client.create_topic("t", 1, 3)) is Errors.NONE


def test_a_topic_that_waits_for_its_deletion_gets_no_more_partitions(world: World) -> None:
    down = next(b for b in (1, 2, 3) if b != world.controller)
    world.cluster.kill(down)
    world.cluster.advance(20_000)
    world.ask(world.controller, DeleteTopicsRequest(topic_names=["t"], timeout_ms=10_000), 3)
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=3, assignments=None)], timeout_ms=5000
    )
    assert (
        world.ask(world.controller, request, 1).results[0].error_code
        == Errors.INVALID_TOPIC_EXCEPTION
    )


def test_new_partitions_follow_the_first_ones_replicas(world: World) -> None:
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=4, assignments=None)], timeout_ms=10_000
    )
    assert world.ask(world.controller, request, 1).results[0].error_code == 0
    leaders = [
        world.run(world.client.leader_of(TopicPartition("t", number))) for number in range(4)
    ]
    assert leaders == [1, 2, 3, 1]
    assert all(world.log(broker_id, TopicPartition("t", 3)) is not None for broker_id in (1, 2, 3))


def test_an_isr_is_written_by_the_controller_for_a_leader_that_asks(world: World) -> None:
    epoch = world.controller_of(1).broker_epoch

    def ask(*, leader_epoch: int = 0, version: int = 0, isr: tuple[int, ...] = (1, 2)):
        wanted = AlterIsrRequestPartition(
            partition_index=0,
            leader_epoch=leader_epoch,
            new_isr=list(isr),
            current_isr_version=version,
        )
        request = AlterIsrRequest(
            broker_id=1,
            broker_epoch=epoch,
            topics=[AlterIsrRequestTopic(name="t", partitions=[wanted])],
        )
        response = world.ask(world.controller, request, 0)
        assert response.error_code == 0
        return response.topics[0].partitions[0]

    written = ask()
    assert (written.error_code, written.leader_id, written.isr, written.current_isr_version) == (
        0,
        1,
        [1, 2],
        1,
    )
    (altered,) = [e.event for e in world.cluster.facts(IsrAltered)]
    assert altered == ("t", 0, 1, 0, (1, 2, 3), (1, 2), 1)
    assert ask().error_code == 0  # it is so already
    assert ask(isr=(1,)).error_code == Errors.INVALID_UPDATE_VERSION
    assert ask(leader_epoch=-1).error_code == Errors.FENCED_LEADER_EPOCH


def test_a_log_dir_is_asked_for_a_replica_that_is_elsewhere(world: World) -> None:
    assignment = CreatableReplicaAssignment(partition_index=0, broker_ids=[1])
    topic = CreatableTopic(
        name="one", num_partitions=-1, replication_factor=-1, assignments=[assignment]
    )
    world.ask(world.controller, CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 4)
    wanted = AlterReplicaLogDir(
        path="/data", topics=[AlterReplicaLogDirTopic(name="one", partitions=[0])]
    )
    errors = [
        world.ask(b, AlterReplicaLogDirsRequest(dirs=[wanted]), 2)
        .results[0]
        .partitions[0]
        .error_code
        for b in (1, 2)
    ]
    assert errors == [Errors.NONE, Errors.REPLICA_NOT_AVAILABLE]


def test_only_the_controller_does_what_the_controller_does(world: World) -> None:
    other = world.other()
    not_controller = Errors.NOT_CONTROLLER
    assert world.elect(PREFERRED, other) is not_controller
    topics = [DeleteTopicState(name="t")]
    assert (
        world.ask(other, DeleteTopicsRequest(topics=topics, timeout_ms=1000), 6)
        .responses[0]
        .error_code
        == not_controller
    )
    extend = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=4, assignments=None)], timeout_ms=1000
    )
    assert world.ask(other, extend, 1).results[0].error_code == not_controller
    assert (
        world.ask(other, ListPartitionReassignmentsRequest(topics=None), 0).error_code
        == not_controller
    )
    assert (
        world.ask(other, AlterPartitionReassignmentsRequest(topics=[]), 0).error_code
        == not_controller
    )
    assert world.ask(other, AlterIsrRequest(broker_id=1), 0).error_code == not_controller
    assert world.ask(other, UpdateFeaturesRequest(timeout_ms=1000), 0).error_code == not_controller
    scram = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name="u", mechanism=1)]
    )
    assert world.ask(other, scram, 0).results[0].error_code == not_controller


@pytest.mark.parametrize(
    ("version", "error"), [(1, Errors.INVALID_REQUEST), (3, Errors.TOPIC_DELETION_DISABLED)]
)
def test_deletion_can_be_forbidden(version: int, error: Errors) -> None:
    cluster = SimCluster(seed=1, broker_ids=(1,), properties={"delete.topic.enable": "false"})
    cluster.start_all()
    client = SimClient(cluster)
    assert cluster.run_as(client.process, client.create_topic("t", 1, 1)) is Errors.NONE

    async def ask():
        wire = NetworkClient(cluster.network.transport(), "admin")
        await wire.connect("127.0.0.1", cluster.port(1), 1000)
        request = DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000)
        return await wire.ask(request, version, REGISTRY[request.KEY].response, 10_000)

    assert cluster.run_as(client.process, ask()).responses[0].error_code == error
    cluster.close()
