"""What it costs ZooKeeper that every broker watches everything, beside one controller that does
(spec C2; book 000 §6.4.1).

Two worlds in virtual time, each with a ZooKeeper of ours in memory: `HerdWorld` of brokers that all
watch (`herd_broker`), and `ControllerWorld` of brokers with our own KafkaController, which tells
the others by UpdateMetadata. The watches are really set there, and what fires is counted where it
fires; nothing is computed. In both a message takes half a millisecond, and at most ten requests of
a broker are on their way at once.

Left out on both sides: logs, records, and the watch that each broker has on configurations.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine
from random import Random
from typing import Final, NamedTuple, TypeVar

from kafka_edu.cluster.broker import Broker, EndPoint
from kafka_edu.cluster.leader_and_isr import LeaderIsrAndControllerEpoch
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_channel_manager import OnResponse
from kafka_edu.controller.kafka_controller import KafkaController
from kafka_edu.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_edu.protocol.schema import Message
from kafka_edu.server.kafka_config import default_config
from kafka_edu.server.part_configs import controller_config
from kafka_edu.sim.herd_broker import HerdBroker
from kafka_edu.sim.memory_transport import MemoryNetwork, MemoryTransport
from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.sim.memory_zookeeper import MemoryZooKeeper
from kafka_edu.sim.sim_loop import SimLoop, SimProcess, SimTime
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.zk import WatchFired, ZkRequestServed
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_data import BrokerIdZNode, TopicAssignment

T = TypeVar("T")

LATENCY_MS: Final = 0.5
DEFAULTS: Final = default_config({"auto.leader.rebalance.enable": "false"})
SESSION_TIMEOUT_MS: Final = DEFAULTS.zookeeper_session_timeout_ms
MAX_IN_FLIGHT: Final = 10
REPLICATION_FACTOR: Final = 3
BURST_US: Final = 10_000
QUIET_MS: Final = 2_000
PATIENCE_MS: Final = 600_000
NEW_PARTITIONS: Final = 10
TOPIC: Final = "t"
READS: Final = frozenset({"GetDataRequest", "ExistsRequest", "GetChildrenRequest"})
WRITES: Final = frozenset({"CreateRequest", "SetDataRequest", "DeleteRequest", "MultiRequest"})


class Cost(NamedTuple):
    """What one event cost."""

    watches_fired: int
    brokers_woken: int
    reads: int
    writes: int
    busiest_10_ms: int
    """Requests to ZooKeeper within the busiest 10 ms."""
    requests_to_brokers: int
    """From the controller; 0 where there is none."""
    until_all_know_ms: float
    """Until the last broker had learnt the last of it."""


class Counter:
    """A sink that counts what ZooKeeper tells."""

    level = Level.HOPS

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.fired = self.reads = self.writes = self.busiest = 0
        self.woken: set[int] = set()
        self._recent: deque[int] = deque()

    def accept(self, envelope: Envelope) -> None:
        match envelope.event:
            case WatchFired(cnxn=cnxn):
                self.fired += 1
                self.woken.add(cnxn)
            case ZkRequestServed(_, _, _, request, _, _, _) if (
                request in READS or request in WRITES
            ):
                self.reads += request in READS
                self.writes += request in WRITES
                self._recent.append(envelope.mono_us)
                while self._recent[0] <= envelope.mono_us - BURST_US:
                    self._recent.popleft()
                self.busiest = max(self.busiest, len(self._recent))


class World(ABC):
    """`brokers` brokers and a topic of `partitions` partitions, in rest. Owned by who measures."""

    def __init__(self, brokers: int, partitions: int) -> None:
        self.loop = SimLoop()
        self.time = SimTime(self.loop)
        self.counter = Counter()
        self.requests_to_brokers = 0
        self.learnt_ns = 0
        self._brokers = brokers
        tracer = Tracer(-2, self.time)
        tracer.add_sink(self.counter)
        self.zookeeper = MemoryZooKeeper(self.time, latency_ms=lambda: LATENCY_MS, trace=tracer)
        self.processes = {
            broker_id: SimProcess(f"broker-{broker_id}") for broker_id in range(brokers)
        }
        self.loop.run_in(SimProcess("zookeeper"), self.zookeeper.start)
        self.loop.advance(0)
        self.admin = KafkaZkClient(
            MemoryZkClient(self.zookeeper, 60_000, "admin"),
            self.time,
            inter_broker_protocol=DEFAULTS.inter_broker_protocol_version,
            max_in_flight=MAX_IN_FLIGHT,
        )
        self.run(self.admin.start(lambda _: None, lambda _: None, 1_000))
        for broker_id in self.processes:
            self.start(broker_id)
        self.create_topic(TOPIC, partitions)
        self.settle()

    @abstractmethod
    def start(self, broker_id: int) -> None:
        """Start a broker, for the first time or again; returns when it is registered."""

    @abstractmethod
    def tell_of_isr(self, tp: TopicPartition) -> None:
        """What a leader does beside writing its new ISR."""

    def run(self, coro: Coroutine[object, object, T]) -> T:
        task: asyncio.Task[T] = self.loop.create_task(coro)
        return self.loop.run_until_complete(task)

    def broker(self, broker_id: int) -> Broker:
        return Broker(
            broker_id, (EndPoint("127.0.0.1", 9092 + broker_id, "PLAINTEXT", "PLAINTEXT"),)
        )

    def learnt(self) -> None:
        """Somebody has learnt something."""
        self.learnt_ns = self.loop.now_ns

    @property
    def watches(self) -> int:
        """How many are set now."""
        tree = self.zookeeper.server.tree
        return tree.data_watches.count + tree.child_watches.count

    def settle(self) -> None:
        """Let everything come to rest. Raises AssertionError for what was not caught."""
        before = None
        limit_ns = self.loop.now_ns + PATIENCE_MS * 1_000_000
        while before != (
            before := (
                self.counter.reads,
                self.counter.writes,
                self.counter.fired,
                self.requests_to_brokers,
            )
        ):
            self.loop.advance(QUIET_MS)
            assert self.loop.now_ns < limit_ns, "it does not come to rest"
        assert not self.loop.errors, self.loop.errors

    def measure(self, act: "Callable[[World], None]") -> Cost:
        """What follows from `act`, until all is at rest again."""
        self.counter.reset()
        told = self.requests_to_brokers
        act(self)
        began_ns = self.loop.now_ns
        self.learnt_ns = began_ns
        self.settle()
        counter = self.counter
        until_all_know_ms = (self.learnt_ns - began_ns) / 1e6
        return Cost(
            counter.fired,
            len(counter.woken),
            counter.reads,
            counter.writes,
            counter.busiest,
            self.requests_to_brokers - told,
            until_all_know_ms,
        )

    # What happens to a cluster.

    def kill(self, broker_id: int) -> None:
        """kill -9; returns in the moment in which ZooKeeper ends its session."""
        self.loop.kill(self.processes[broker_id])
        while str(broker_id) in self.zookeeper.server.tree.children(BrokerIdZNode.PARENT):
            self.loop.step()

    def return_of(self, broker_id: int) -> None:
        self.processes[broker_id] = SimProcess(f"broker-{broker_id}")
        self.start(broker_id)

    def create_topic(self, topic: str, partitions: int) -> None:
        """Its znode, as the topics tool writes it; replicas in turn."""
        factor = min(REPLICATION_FACTOR, self._brokers)
        replicas = {
            number: [(number + place) % self._brokers for place in range(factor)]
            for number in range(partitions)
        }
        self.run(self.admin.create_topic_assignment(topic, TopicAssignment.of(replicas)))

    def change_isr(self) -> None:
        """The leader of one partition takes its last follower out of the ISR."""
        tp = TopicPartition(TOPIC, 0)
        (state,) = self.run(self.admin.get_topic_partition_states([tp])).values()
        smaller = state.leader_and_isr._replace(isr=state.leader_and_isr.isr[:-1])
        changed = LeaderIsrAndControllerEpoch(smaller, state.controller_epoch)
        self.run(self.admin.conditional_update_partition_state(tp, changed, smaller.zk_version))
        self.tell_of_isr(tp)


class HerdWorld(World):
    """Every broker watches everything."""

    def __init__(self, brokers: int, partitions: int) -> None:
        self.herd: dict[int, HerdBroker] = {}
        super().__init__(brokers, partitions)

    def start(self, broker_id: int) -> None:
        client = MemoryZkClient(self.zookeeper, SESSION_TIMEOUT_MS, f"broker-{broker_id}")
        herd = self.herd[broker_id] = HerdBroker(
            self.broker(broker_id), client, self.time, MAX_IN_FLIGHT, self.learnt
        )
        self.loop.run_until_complete(self.loop.spawn(self.processes[broker_id], herd.start()))

    def tell_of_isr(self, tp: TopicPartition) -> None:
        """Nothing: everybody watches the znode."""


class Channels:
    """ControllerChannels that count: each request is with its broker after the latency, and
    answered as long after that.
    """

    def __init__(self, world: World, on_response: OnResponse) -> None:
        self._world = world
        self._on_response = on_response
        self._brokers: set[int] = set()
        self.queued = 0

    def add_broker(self, broker: Broker) -> None:
        self._brokers.add(broker.id)

    def remove_broker(self, broker_id: int) -> None:
        self._brokers.discard(broker_id)

    def update_broker(self, broker: Broker) -> None:
        self._brokers.add(broker.id)

    def send_request(
        self, broker_id: int, request: Message, api_version: int, partitions: int
    ) -> None:
        if broker_id in self._brokers:
            self._world.requests_to_brokers += 1
            if isinstance(request, UpdateMetadataRequest):
                self._world.loop.call_later(LATENCY_MS / 1000, self._world.learnt)

    async def shutdown(self) -> None:
        self._brokers.clear()


class ControllerWorld(World):
    """One broker watches, and tells the others."""

    def __init__(self, brokers: int, partitions: int) -> None:
        self.controllers: dict[int, KafkaController] = {}
        super().__init__(brokers, partitions)

    def start(self, broker_id: int) -> None:
        self.loop.run_until_complete(
            self.loop.spawn(self.processes[broker_id], self._start(broker_id))
        )

    async def _start(self, broker_id: int) -> None:
        zk = KafkaZkClient(
            MemoryZkClient(self.zookeeper, SESSION_TIMEOUT_MS, f"broker-{broker_id}"),
            self.time,
            inter_broker_protocol=DEFAULTS.inter_broker_protocol_version,
            max_in_flight=MAX_IN_FLIGHT,
        )
        await zk.start(
            lambda watched: self.controllers[broker_id].on_watch(watched), lambda _: None, 10_000
        )
        await zk.create_top_level_paths()
        broker = self.broker(broker_id)
        broker = broker._replace(epoch=await zk.register_broker(broker))
        unused = MemoryTransport(MemoryNetwork(self.loop, Random(0)))  # the channels are ours
        controller = self.controllers[broker_id] = KafkaController(
            controller_config(DEFAULTS),
            zk,
            broker,
            self.time,
            unused,
            Random(broker_id),
            channels=lambda on_response: Channels(self, on_response),
        )
        await controller.startup()

    def tell_of_isr(self, tp: TopicPartition) -> None:
        """The notification, by which the controller learns of it."""
        self.run(self.admin.propagate_isr_changes([tp]))

    @property
    def controller_id(self) -> int:
        (active,) = [
            broker_id
            for broker_id, process in self.processes.items()
            if process.alive and self.controllers[broker_id].is_active
        ]
        return active


EVENTS: Final[tuple[tuple[str, Callable[[World], None]], ...]] = (
    ("a broker dies", lambda world: world.kill(1)),
    ("it comes back", lambda world: world.return_of(1)),
    ("one ISR changes", lambda world: world.change_isr()),
    (f"{NEW_PARTITIONS} new partitions", lambda world: world.create_topic("new", NEW_PARTITIONS)),
)


class Exhibit(NamedTuple):
    """One size of cluster."""

    brokers: int
    partitions: int
    watches_herd: int
    watches_ours: int
    """Set while nothing happens."""
    costs: dict[str, tuple[Cost, Cost]]
    """Event → where everybody watches, and with a controller."""
    controller_dies: Cost
    """What the controller's own end costs, which the others do not know."""


def measure(brokers: int, partitions: int) -> Exhibit:
    """Both worlds, through all events. Takes some seconds of real time for each thousand watches of
    the herd. Raises ValueError for less than two brokers.
    """
    if brokers < 2 or partitions < 1:
        raise ValueError("two brokers are needed, and one partition")
    herd, ours = HerdWorld(brokers, partitions), ControllerWorld(brokers, partitions)
    watches = herd.watches, ours.watches
    costs = {name: (herd.measure(act), ours.measure(act)) for name, act in EVENTS}
    ruler = ours.controller_id
    end = ours.measure(lambda world: world.kill(ruler))
    herd.loop.close()
    ours.loop.close()
    return Exhibit(brokers, partitions, *watches, costs, end)
