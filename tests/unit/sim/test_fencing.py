"""Fencing (spec C8): a broker that was replaced without knowing it can change nothing.

Each epoch is tested at each request that checks it, over simulated connections, in virtual time.

controller epoch   /controller_epoch's version in each write to ZooKeeper; LeaderAndIsr,
                   UpdateMetadata, StopReplica; the state znodes
broker epoch       LeaderAndIsr, UpdateMetadata, StopReplica at the broker;
                   ControlledShutdown, AlterIsr at the controller
leader epoch       LeaderAndIsr and StopReplica of each partition; Fetch, ListOffsets,
                   OffsetForLeaderEpoch, AlterIsr; a leader's write of its ISR
"""

import inspect
from collections.abc import Iterator

import pytest

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.kafka_controller import KafkaController
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrRequestPartition,
    AlterIsrRequestTopic,
)
from kafka_edu.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafka_edu.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_edu.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_edu.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from kafka_edu.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import (
    ControllerElected,
    ControllerEventProcessed,
    ControllerResigned,
    LeaderElected,
)
from kafka_edu.trace.events.replication import BecameLeader, StaleControllerRefused
from kafka_edu.trace.events.server import BrokerRegistered
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_data import ReassignPartitionsZNode, ReplicaAssignment, TopicAssignment
from kafka_edu.zk.zk_requests import ControllerMovedError
from tests.defaults import BROKER_DEFAULTS

T0 = TopicPartition("t", 0)


class World:
    """Three brokers and a topic. The first controller and the first leader have lost their sessions
    once, so no epoch has its first value.
    """

    def __init__(self) -> None:
        self.cluster = SimCluster(3, (1, 2, 3), {"auto.leader.rebalance.enable": "false"})
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        assert self.run(self.client.create_topic("t", 1, 3)) is Errors.NONE
        self.cluster.advance(2000)
        self.old = self.controller_id
        self.expire(self.old)
        self.lead = self.run(self.client.leader_of(T0))
        self.expire(self.lead)
        self.lead = self.run(self.client.leader_of(T0))
        self.follower = next(broker for broker in (1, 2, 3) if broker != self.lead)

    def run(self, work):
        return self.cluster.run_as(self.client.process, work)

    def controller(self, broker_id: int) -> KafkaController:
        controller = self.cluster.brokers[broker_id].running._controller
        assert controller is not None
        return controller

    @property
    def controller_id(self) -> int:
        (active,) = [broker for broker in self.cluster.brokers if self.controller(broker).is_active]
        return active

    @property
    def controller_epoch(self) -> int:
        return self.controller(self.controller_id).epoch

    def expire(self, broker_id: int) -> None:
        client = self.cluster.brokers[broker_id].zk_client
        assert client is not None
        self.cluster.zookeeper.expire(client.session_id)
        self.cluster.advance(12_000)

    def leader_epoch(self) -> int:
        replication = self.cluster.brokers[self.lead].running._replication
        partition = replication.replicas.partitions.get(T0)
        assert partition is not None
        return partition.leader_epoch

    def ask(self, to: int, request, version: int):
        async def ask():
            client = NetworkClient(self.cluster.network.transport(), "stale")
            await client.connect("127.0.0.1", self.cluster.port(to), 1000)
            try:
                return await client.ask(request, version, REGISTRY[request.KEY].response, 20_000)
            finally:
                client.close()

        return self.run(ask())

    def zk(self) -> KafkaZkClient:
        zk = KafkaZkClient(
            MemoryZkClient(self.cluster.zookeeper, 60_000, "stale"),
            self.cluster.time,
            inter_broker_protocol=BROKER_DEFAULTS.inter_broker_protocol_version,
            max_in_flight=BROKER_DEFAULTS.zookeeper_max_in_flight_requests,
        )
        self.run(zk.start(lambda _: None, lambda _: None, 1000))
        return zk

    def roles(self) -> list[tuple[int, int, int]]:
        """Return the leaders known to each broker, with their epochs."""
        hosted = [
            (id_, broker.running._replication.replicas.partitions)
            for id_, broker in self.cluster.brokers.items()
        ]
        return [
            (id_, p.leader, p.leader_epoch)
            for id_, partitions in hosted
            if (p := partitions.get(T0)) is not None
        ]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Shared, because a refused request changes nothing."""
    world = World()
    yield world
    world.cluster.close()


def versions(request: type) -> list[int]:
    pair = REGISTRY[request.KEY]  # type: ignore[attr-defined]
    return list(range(pair.min_version, pair.max_version + 1))


CONTROL = (LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest)
STALE_CONTROLLER = [(request, version) for request in CONTROL for version in versions(request)]
#: KIP-380: since these versions, requests carry the broker epoch that they are meant for.
STALE_BROKER = [
    (r, v)
    for r, since in ((LeaderAndIsrRequest, 2), (UpdateMetadataRequest, 5), (StopReplicaRequest, 1))
    for v in versions(r)[since:]
]


def names(value: object) -> str:
    return value.__name__ if isinstance(value, type) else str(value)


def test_every_epoch_has_moved(world: World) -> None:
    assert world.controller_epoch > 1
    assert world.leader_epoch() > 0
    registered = [
        (e.broker, e.event.broker_epoch)
        for e in world.cluster.facts(BrokerRegistered)
        if isinstance(e.event, BrokerRegistered)
    ]
    assert len(registered) == 5
    assert world.controller(world.old).broker_epoch == max(
        epoch for broker, epoch in registered if broker == world.old
    )


@pytest.mark.parametrize(("kind", "version"), STALE_CONTROLLER, ids=names)
def test_an_older_controller_is_refused_by_brokers(world: World, kind, version: int) -> None:
    before = len(world.cluster.facts(StaleControllerRefused))
    answer = world.ask(
        world.lead,
        kind(controller_id=world.old, controller_epoch=world.controller_epoch - 1),
        version,
    )
    assert Errors.of(answer.error_code) is Errors.STALE_CONTROLLER_EPOCH
    (told,) = [e.event for e in world.cluster.facts(StaleControllerRefused)[before:]]
    assert told == (
        kind.__name__.removesuffix("Request"),
        world.old,
        world.controller_epoch - 1,
        world.controller_epoch,
    )


@pytest.mark.parametrize(("kind", "version"), STALE_BROKER, ids=names)
def test_what_was_meant_for_an_earlier_life_is_refused_by_the_broker(
    world: World, kind, version: int
) -> None:
    epoch = world.controller(world.old).broker_epoch
    request = kind(
        controller_id=world.controller_id,
        controller_epoch=world.controller_epoch,
        broker_epoch=epoch - 1,
    )
    assert Errors.of(world.ask(world.old, request, version).error_code) is Errors.STALE_BROKER_EPOCH


@pytest.mark.parametrize("version", [2, 3])
def test_the_controller_refuses_a_shutdown_of_an_earlier_life(world: World, version: int) -> None:
    epoch = world.controller(world.follower).broker_epoch
    request = ControlledShutdownRequest(broker_id=world.follower, broker_epoch=epoch - 1)
    assert (
        Errors.of(world.ask(world.controller_id, request, version).error_code)
        is Errors.STALE_BROKER_EPOCH
    )


def test_the_controller_refuses_an_isr_of_an_earlier_life_and_one_of_an_earlier_leadership(
    world: World,
) -> None:
    def ask(broker_epoch: int, leader_epoch: int):
        partition = AlterIsrRequestPartition(
            partition_index=0,
            leader_epoch=leader_epoch,
            new_isr=[world.lead],
            current_isr_version=99,
        )
        topic = AlterIsrRequestTopic(name="t", partitions=[partition])
        return world.ask(
            world.controller_id,
            AlterIsrRequest(broker_id=world.lead, broker_epoch=broker_epoch, topics=[topic]),
            0,
        )

    epoch = world.controller(world.lead).broker_epoch
    assert Errors.of(ask(epoch - 1, world.leader_epoch()).error_code) is Errors.STALE_BROKER_EPOCH
    fenced = ask(epoch, world.leader_epoch() - 1)
    assert (fenced.error_code, Errors.of(fenced.topics[0].partitions[0].error_code)) == (
        0,
        Errors.FENCED_LEADER_EPOCH,
    )
    newer = ask(epoch, world.leader_epoch())
    assert Errors.of(newer.topics[0].partitions[0].error_code) is Errors.INVALID_UPDATE_VERSION, (
        "and so is an older version of the znode"
    )


@pytest.mark.parametrize("version", versions(LeaderAndIsrRequest))
def test_a_leadership_that_is_not_newer_is_refused_partition_by_partition(
    world: World, version: int
) -> None:
    before = world.roles()
    state = LeaderAndIsrPartitionState(
        topic_name="t",
        partition_index=0,
        controller_epoch=world.controller_epoch,
        leader=world.follower,
        leader_epoch=world.leader_epoch(),
        isr=[world.follower],
        zk_version=99,
        replicas=[1, 2, 3],
    )
    request = LeaderAndIsrRequest(
        controller_id=world.controller_id, controller_epoch=world.controller_epoch
    )
    if version < 2:
        request.ungrouped_partition_states = [state]
    else:
        request.topic_states = [LeaderAndIsrTopicState(topic_name="t", partition_states=[state])]
    answer = world.ask(world.lead, request, version)
    errors = [p.error_code for p in answer.partition_errors] + [
        p.error_code for t in answer.topics for p in t.partition_errors
    ]
    assert (answer.error_code, [Errors.of(error) for error in errors]) == (
        0,
        [Errors.STALE_CONTROLLER_EPOCH],
    )
    assert world.roles() == before


def test_a_replica_is_not_stopped_by_an_older_leadership(world: World) -> None:
    state = StopReplicaPartitionState(
        partition_index=0, leader_epoch=world.leader_epoch() - 1, delete_partition=True
    )
    request = StopReplicaRequest(
        controller_id=world.controller_id,
        controller_epoch=world.controller_epoch,
        topic_states=[StopReplicaTopicState(topic_name="t", partition_states=[state])],
    )
    answer = world.ask(world.follower, request, 3)
    assert [Errors.of(p.error_code) for p in answer.partition_errors] == [
        Errors.FENCED_LEADER_EPOCH
    ]
    assert len(world.roles()) == 3


def reading(kind: type, epoch: int):
    if kind is FetchRequest:
        wanted = FetchPartition(
            partition=0, current_leader_epoch=epoch, fetch_offset=0, partition_max_bytes=1000
        )
        return FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            topics=[FetchTopic(topic="t", partitions=[wanted])],
        )
    if kind is ListOffsetsRequest:
        position = ListOffsetsPartition(partition_index=0, current_leader_epoch=epoch, timestamp=-1)
        return ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[position])]
        )
    asked = OffsetForLeaderPartition(partition=0, current_leader_epoch=epoch, leader_epoch=0)
    return OffsetForLeaderEpochRequest(
        replica_id=-2, topics=[OffsetForLeaderTopic(topic="t", partitions=[asked])]
    )


def error_of(answer) -> Errors:
    topic = next(iter(answer.responses if hasattr(answer, "responses") else answer.topics))
    return Errors.of(
        next(
            iter(
                topic.partition_responses
                if hasattr(topic, "partition_responses")
                else topic.partitions
            )
        ).error_code
    )


#: KIP-320: since these versions, a reader names the leader epoch that it knows.
READS = [
    (r, v)
    for r, since in ((FetchRequest, 9), (ListOffsetsRequest, 4), (OffsetForLeaderEpochRequest, 2))
    for v in versions(r)[since:]
]


@pytest.mark.parametrize(("kind", "version"), READS, ids=names)
def test_who_believes_in_another_leadership_is_not_read_to(
    world: World, kind: type, version: int
) -> None:
    now = world.leader_epoch()
    assert (
        error_of(world.ask(world.lead, reading(kind, now - 1), version))
        is Errors.FENCED_LEADER_EPOCH
    )
    assert (
        error_of(world.ask(world.lead, reading(kind, now + 1), version))
        is Errors.UNKNOWN_LEADER_EPOCH
    )
    assert error_of(world.ask(world.lead, reading(kind, now), version)) is Errors.NONE


def test_every_write_of_an_older_controller_is_refused_by_zookeeper(world: World) -> None:
    """Every method of KafkaZkClient that takes the epoch's version is refused, and the tree stays
    the same.
    """
    zk = world.zk()
    epoch = world.run(zk.get_controller_epoch())
    assert epoch is not None
    stale = epoch[1] - 1
    state = LeaderAndIsr(1, 9, (1,), 0)
    writes = {
        "delete_controller": lambda: zk.delete_controller(stale),
        "set_topic_assignment": lambda: zk.set_topic_assignment(
            "t", TopicAssignment.of({0: [1]}), stale
        ),
        "update_replica_assignments": lambda: zk.update_replica_assignments(
            {T0: ReplicaAssignment((1,))}, stale
        ),
        "delete_topic": lambda: zk.delete_topic("t", stale),
        "create_topic_partition_states": lambda: zk.create_topic_partition_states(
            {TopicPartition("t", 1): LeaderIsrAndControllerEpoch(state, epoch[0] - 1)}, stale
        ),
        "update_leader_and_isr": lambda: zk.update_leader_and_isr({T0: state}, epoch[0] - 1, stale),
        "delete_isr_change_notifications": lambda: zk.delete_isr_change_notifications(
            ["0000000000"], stale
        ),
        "delete_log_dir_event_notifications": lambda: zk.delete_log_dir_event_notifications(
            ["0000000000"], stale
        ),
        "delete_topic_deletions": lambda: zk.delete_topic_deletions(["t"], stale),
        "delete_preferred_replica_election": lambda: zk.delete_preferred_replica_election(stale),
        "remove_from_partition_reassignment": lambda: zk.remove_from_partition_reassignment(
            lambda *_: True, stale
        ),
    }
    fenced = {
        name
        for name, method in inspect.getmembers(KafkaZkClient, inspect.isfunction)
        if "epoch_zk_version" in inspect.signature(method).parameters
    }
    assert fenced == writes.keys()
    hand = MemoryZkClient(world.cluster.zookeeper, 60_000, "hand")
    world.run(hand.start(lambda _: None, lambda _: None, 1000))
    ruler = world.controller_id
    world.cluster.pause(ruler)  # otherwise it would carry out the order that comes now
    world.run(
        hand.create(
            "/admin/reassign_partitions",
            ReassignPartitionsZNode.encode({TopicPartition("gone", 0): (1,)}),
        )
    )
    before = [tuple(row) for row in world.cluster.zookeeper.server.tree.rows()]
    for name, write in writes.items():
        with pytest.raises(ControllerMovedError):
            world.run(write())
        assert [tuple(row) for row in world.cluster.zookeeper.server.tree.rows()] == before, name
    world.run(hand.delete("/admin/reassign_partitions"))
    world.cluster.resume(ruler)
    world.run(zk.close())


def test_a_controller_gives_way_to_one_whose_epoch_stands_in_a_state_znode(world: World) -> None:
    """The controller read the state after another controller was elected, and before it heard of
    that election.
    """
    zk = world.zk()
    states = world.run(zk.get_topic_partition_states([T0]))
    future = LeaderIsrAndControllerEpoch(states[T0].leader_and_isr, world.controller_epoch + 7)
    version = world.run(
        zk.conditional_update_partition_state(T0, future, states[T0].leader_and_isr.zk_version)
    )
    term = world.controller(world.controller_id)._term
    assert term is not None
    with pytest.raises(
        ControllerMovedError,
        match=f"epoch {world.controller_epoch + 7}; ours is {world.controller_epoch}",
    ):
        world.run(term._replica_machine._remove_replicas_from_isr(world.follower, [T0]))
    world.run(zk.conditional_update_partition_state(T0, states[T0], version))
    world.run(zk.close())


def test_a_controller_that_slept_through_its_replacement_is_fenced_everywhere() -> None:
    """The controller is paused just after it wrote to ZooKeeper, before it told any broker.

    The controller's session lives on. Meanwhile another controller is elected.
    """
    cluster = SimCluster(5, (1, 2, 3))
    cluster.start_all()
    client = SimClient(cluster)
    old = next(e.broker for e in cluster.facts(ControllerElected))

    def stop_it(envelope: Envelope) -> None:
        if isinstance(envelope.event, LeaderElected) and envelope.broker == old:
            cluster.pause(old)

    cluster.sink.listeners.append(stop_it)
    creation = cluster.loop.spawn(client.process, client.create_topic("t", 1, 3))
    cluster.advance(500)
    cluster.sink.listeners.clear()
    assert not creation.done()
    hand = MemoryZkClient(cluster.zookeeper, 60_000, "hand")
    cluster.run_as(client.process, hand.start(lambda _: None, lambda _: None, 1000))
    cluster.run_as(client.process, hand.delete("/controller"))
    cluster.advance(1_000)
    others = [broker for broker in cluster.brokers if broker != old]
    (new,) = [e for e in cluster.facts(ControllerElected) if e.broker in others]
    assert new.event == ControllerElected(epoch=2, epoch_zk_version=2)
    assert {e.broker for e in cluster.facts(BecameLeader)} <= set(others)
    cluster.resume(old)
    cluster.advance(3_000)
    refused = [
        (e.broker, e.event)
        for e in cluster.facts(StaleControllerRefused)
        if isinstance(e.event, StaleControllerRefused)
    ]
    assert {(broker, event.request) for broker, event in refused} >= {
        (broker, "LeaderAndIsr") for broker in others
    }
    assert {
        (event.controller, event.controller_epoch, event.current_epoch) for _, event in refused
    } == {(old, 1, 2)}
    assert [e.broker for e in cluster.facts(ControllerResigned)] == [old]
    acked = [client.produce(T0, value, -1) for value in ("a", "b")]
    cluster.advance(12_000)
    assert [answer.acked.error for answer in acked if answer.acked is not None] == [
        Errors.NONE,
        Errors.NONE,
    ]
    assert sorted(value for _, value in cluster.run_as(client.process, client.consume(T0))) == [
        "a",
        "b",
    ]
    cluster.close()


def test_a_write_that_comes_too_late_is_refused_by_zookeeper() -> None:
    """The old controller is paused when a watch has fired but is not handled yet. After the pause
    it reads, decides and writes. ZooKeeper refuses the write, because of the new controller's
    epoch.
    """
    cluster = SimCluster(5, (1, 2, 3))
    cluster.start_all()
    client = SimClient(cluster)
    old = next(e.broker for e in cluster.facts(ControllerElected))
    hand = KafkaZkClient(
        MemoryZkClient(cluster.zookeeper, 60_000, "hand"),
        cluster.time,
        inter_broker_protocol=BROKER_DEFAULTS.inter_broker_protocol_version,
        max_in_flight=BROKER_DEFAULTS.zookeeper_max_in_flight_requests,
    )
    cluster.run_as(client.process, hand.start(lambda _: None, lambda _: None, 1000))
    cluster.pause(old)
    cluster.run_as(
        client.process, hand.create_topic_assignment("t", TopicAssignment.of({0: [1, 2, 3]}))
    )
    cluster.run_as(
        client.process, hand.delete_stray_controller(cluster.brokers[old].zk_client.session_id)
    )  # type: ignore[union-attr]
    cluster.advance(1_000)
    cluster.resume(old)
    cluster.advance(3_000)
    refused = [
        e
        for e in cluster.facts(ControllerEventProcessed)
        if isinstance(e.event, ControllerEventProcessed) and e.event.error
    ]
    assert [(e.broker, e.event.name, e.event.error) for e in refused] == [
        (old, "TopicChange", "/controller_epoch has moved on from version 1")
    ]  # type: ignore[attr-defined]
    elected = [
        (e.broker, e.event.controller_epoch)
        for e in cluster.facts(LeaderElected)
        if isinstance(e.event, LeaderElected)
    ]
    assert [epoch for _, epoch in elected] == [2], "one election, by the one who rules"
    cluster.close()
