"""Brokers that consist only of a controller, with ZooKeeper in memory and virtual time.

Their requests are recorded and answered at once.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Sequence
from random import Random
from typing import TypeVar

import pytest

from kafka_edu.cluster.broker import Broker, EndPoint
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.active_controller import ControllerConfig
from kafka_edu.controller.controller_channel_manager import OnResponse
from kafka_edu.controller.controller_responses import partitions_to_delete
from kafka_edu.controller.kafka_controller import KafkaController
from kafka_edu.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kafka_edu.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from kafka_edu.protocol.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.sim.memory_transport import MemoryNetwork, MemoryTransport
from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.sim.memory_zookeeper import MemoryZooKeeper
from kafka_edu.sim.sim_loop import SimLoop, SimProcess, SimTime
from kafka_edu.trace.event import Source
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import Op, OpResult, SessionState, SetDataOp, Stat, WatchedEvent
from kafka_edu.zk.zk_data import ProtocolVersion, TopicAssignment
from tests.defaults import BROKER_DEFAULTS, CONTROLLER_DEFAULTS

T = TypeVar("T")
SESSION_TIMEOUT_MS = 6000


class RecordingChannels:
    """ControllerChannels in which every broker answers at once.

    `dead_disks` and `undeletable` make the brokers answer with errors.
    """

    def __init__(self, cluster: "ControllerCluster", on_response: OnResponse) -> None:
        self._cluster = cluster
        self._on_response = on_response
        self.brokers: set[int] = set()
        self.queued = 0

    def add_broker(self, broker: Broker) -> None:
        self.brokers.add(broker.id)

    def remove_broker(self, broker_id: int) -> None:
        self.brokers.discard(broker_id)

    def update_broker(self, broker: Broker) -> None:
        self._cluster.moved.append(broker)

    def send_request(
        self, broker_id: int, request: Message, api_version: int, partitions: int
    ) -> None:
        if broker_id in self.brokers:
            type(request).decode(
                request.encode(api_version), api_version
            )  # the response fits the version of the request
            self._cluster.requests.append((broker_id, request))
            asyncio.get_running_loop().call_soon(self._respond, broker_id, request)

    def _respond(self, broker_id: int, request: Message) -> None:
        if broker_id in self.brokers:
            self._on_response(broker_id, request, self._cluster.answer(broker_id, request))

    async def shutdown(self) -> None:
        self.brokers.clear()


class ControllerBroker:
    """One broker: a process of the simulation with a ZooKeeper session and a controller."""

    def __init__(
        self,
        cluster: "ControllerCluster",
        broker_id: int,
        config: ControllerConfig,
        rack: str | None,
    ) -> None:
        self.id = broker_id
        self.cluster = cluster
        self.config = config
        self.rack = rack
        self.process = SimProcess(f"broker-{broker_id}")
        self.session = MemoryZkClient(cluster.zookeeper, SESSION_TIMEOUT_MS, f"broker-{broker_id}")
        self.zk = KafkaZkClient(
            self.session,
            cluster.time,
            inter_broker_protocol=cluster.inter_broker_protocol,
            max_in_flight=BROKER_DEFAULTS.zookeeper_max_in_flight_requests,
        )
        self.tracer = Tracer(Source.of_broker(broker_id), cluster.time)
        self.events = RingSink()
        self.tracer.add_sink(self.events)
        self.controller: KafkaController

    async def start(self) -> None:
        def on_watch(event: WatchedEvent) -> None:
            self.controller.on_watch(event)

        def on_session(state: SessionState) -> None:
            if self.first_session:  # there was no controller before
                self.controller.on_session(state)

        self.first_session = 0
        await self.zk.start(on_watch, on_session, 1000)
        self.first_session = self.zk.session_id
        await self.zk.create_top_level_paths()
        broker = Broker(
            self.id, (EndPoint("127.0.0.1", 9092 + self.id, "PLAINTEXT", "PLAINTEXT"),), self.rack
        )
        broker = broker._replace(
            epoch=await self.zk.register_broker(broker, wait_ms=2 * SESSION_TIMEOUT_MS)
        )
        self.controller = KafkaController(
            self.config,
            self.zk,
            broker,
            self.cluster.time,
            self.cluster.transport,
            Random(self.id),
            self.tracer,
            lambda on_response: RecordingChannels(self.cluster, on_response),
        )
        await self.controller.startup()

    def facts(self, name: str) -> list[object]:
        return [envelope.event for envelope in self.events.events if envelope.name == name]


class ControllerCluster:
    """The interface that tests use."""

    def __init__(self, inter_broker_protocol: ProtocolVersion = (2, 8)) -> None:
        self.loop = SimLoop()
        self.time = SimTime(self.loop)
        self.transport = MemoryTransport(MemoryNetwork(self.loop, Random(0)))
        self.inter_broker_protocol = inter_broker_protocol
        self.requests: list[tuple[int, Message]] = []
        self.moved: list[Broker] = []
        self.dead_disks: set[tuple[int, TopicPartition]] = set()
        self.undeletable: set[tuple[int, TopicPartition]] = set()
        self.brokers: dict[int, ControllerBroker] = {}

        async def make() -> MemoryZooKeeper:
            zookeeper = MemoryZooKeeper(self.time, latency_ms=lambda: 0.2)
            zookeeper.start()
            return zookeeper

        self.zookeeper = self.run(make())
        self.hand = MemoryZkClient(self.zookeeper, 60_000, "hand")
        self.run(self.hand.start(lambda _: None, lambda _: None, 1000))
        self.admin = KafkaZkClient(
            MemoryZkClient(self.zookeeper, 60_000, "admin"),
            self.time,
            inter_broker_protocol=inter_broker_protocol,
            max_in_flight=BROKER_DEFAULTS.zookeeper_max_in_flight_requests,
        )
        self.run(self.admin.start(lambda _: None, lambda _: None, 1000))

    def run(self, coro: Coroutine[object, object, T]) -> T:
        return self.loop.run_until_complete(self.loop.create_task(coro))

    def settle(self, ms: float = 100) -> None:
        self.loop.advance(ms)
        assert self.loop.errors == []

    def start(
        self, *broker_ids: int, config: ControllerConfig | None = None, racks: bool = False
    ) -> None:
        """Start brokers one after the other: the first becomes the controller."""
        for broker_id in broker_ids:
            broker = ControllerBroker(
                self,
                broker_id,
                config or CONTROLLER_DEFAULTS,
                f"rack-{broker_id}" if racks else None,
            )
            self.brokers[broker_id] = broker
            self.loop.run_until_complete(self.loop.spawn(broker.process, broker.start()))
            self.settle()

    def kill(self, broker_id: int) -> None:
        """Kill a broker with kill -9, and let time pass until its session expires."""
        broker = self.brokers.pop(broker_id)
        self.loop.kill(broker.process)
        self.settle(2 * SESSION_TIMEOUT_MS)

    @property
    def controller(self) -> ControllerBroker:
        (active,) = [broker for broker in self.brokers.values() if broker.controller.is_active]
        return active

    def create_topic(
        self, topic: str, *replicas: Sequence[int], config: dict[str, str] | None = None
    ) -> None:
        async def create() -> None:
            await self.admin.set_or_create_entity_configs("topics", topic, config or {})
            await self.admin.create_topic_assignment(
                topic, TopicAssignment.of(dict(enumerate(replicas)))
            )

        self.run(create())
        self.settle()

    def states(self, topic: str = "t") -> list[str]:
        """Return the states of a topic's partitions in ZooKeeper."""

        async def read() -> list[str]:
            assignment = (await self.admin.get_assignment_for_topics([topic]))[topic]
            partitions = [TopicPartition(topic, n) for n in assignment.partitions]
            found = await self.admin.get_topic_partition_states(partitions)
            return [
                f"{tp} leader={s.leader_and_isr.leader} epoch={s.leader_and_isr.leader_epoch}"
                f" isr={','.join(map(str, s.leader_and_isr.isr))} controller={s.controller_epoch}"
                for tp, s in found.items()
            ]

        return self.run(read())

    def write_isr(self, tp: TopicPartition, isr: Sequence[int], *, notify: bool = True) -> None:
        """Write an ISR and its notification, as a leader does.

        The notification comes up to 2.5 s later, and never if the leader is dead by then.
        """

        async def write() -> None:
            state = (await self.admin.get_topic_partition_states([tp]))[tp]
            current: LeaderAndIsr = state.leader_and_isr
            new = LeaderIsrAndControllerEpoch(
                current._replace(isr=tuple(isr)), state.controller_epoch
            )
            assert (
                await self.admin.conditional_update_partition_state(tp, new, current.zk_version)
                == current.zk_version + 1
            )
            if notify:
                await self.admin.propagate_isr_changes([tp])

        self.run(write())
        if notify:
            self.settle()

    def sent(self) -> list[str]:
        """Return the requests since the last call as text: the broker's id and what it is told."""
        words = [f"{broker_id} {describe(request)}" for broker_id, request in self.requests]
        self.requests.clear()
        return words

    def answer(self, broker_id: int, request: Message) -> Message:
        if isinstance(request, LeaderAndIsrRequest):
            response = LeaderAndIsrResponse(error_code=0)
            for topic in request.topic_states:
                errors = [
                    LeaderAndIsrPartitionError(
                        partition_index=p.partition_index,
                        error_code=(
                            Errors.KAFKA_STORAGE_ERROR
                            if (broker_id, TopicPartition(topic.topic_name, p.partition_index))
                            in self.dead_disks
                            else Errors.NONE
                        ),
                    )
                    for p in topic.partition_states
                ]
                response.topics.append(
                    LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=errors)
                )
            return response
        if isinstance(request, StopReplicaRequest):
            failed = [
                tp for tp in partitions_to_delete(request) if (broker_id, tp) in self.undeletable
            ]
            errors_of = [
                StopReplicaPartitionError(
                    topic_name=tp.topic,
                    partition_index=tp.partition,
                    error_code=Errors.KAFKA_STORAGE_ERROR,
                )
                for tp in failed
            ]
            return StopReplicaResponse(error_code=0, partition_errors=errors_of)
        return UpdateMetadataResponse(error_code=0)


def describe(request: Message) -> str:
    if isinstance(request, LeaderAndIsrRequest):
        partitions = [
            f"{t.topic_name}-{p.partition_index}:{p.leader}/{p.leader_epoch}"
            f"/{','.join(map(str, p.isr))}{'/new' if p.is_new else ''}"
            for t in request.topic_states
            for p in t.partition_states
        ]
        return f"LeaderAndIsr {' '.join(partitions)}"
    if isinstance(request, UpdateMetadataRequest):
        live = ",".join(str(b.id) for b in request.live_brokers)
        metadata = [
            f"{t.topic_name}-{p.partition_index}:{p.leader}/{p.leader_epoch}"
            for t in request.topic_states
            for p in t.partition_states
        ]
        return " ".join([f"UpdateMetadata live={live}", *metadata])
    assert isinstance(request, StopReplicaRequest)
    stops = [
        f"{t.topic_name}-{p.partition_index}{'/delete' if p.delete_partition else ''}"
        for t in request.topic_states
        for p in t.partition_states
    ]
    return f"StopReplica {' '.join(stops)}"


@pytest.fixture
def cluster() -> ControllerCluster:
    return ControllerCluster()


@pytest.fixture
def cluster_2_0() -> ControllerCluster:
    return ControllerCluster((2, 0))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return how often states were read and written, by all controllers together."""
    counter: Counter[str] = Counter()
    get, multi = MemoryZkClient.get, MemoryZkClient.multi

    async def counted_get(
        self: MemoryZkClient, path: str, *, watch: bool = False
    ) -> tuple[bytes, Stat]:
        if path.endswith("/state"):
            counter["read"] += 1
        return await get(self, path, watch=watch)

    async def counted_multi(self: MemoryZkClient, ops: Sequence[Op]) -> list[OpResult]:
        if any(isinstance(op, SetDataOp) and op.path.endswith("/state") for op in ops):
            counter["written"] += 1
        return await multi(self, ops)

    monkeypatch.setattr(MemoryZkClient, "get", counted_get)
    monkeypatch.setattr(MemoryZkClient, "multi", counted_multi)
    return counter
