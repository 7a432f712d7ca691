"""Measure the cost for ZooKeeper when every broker watches everything, and compare it with the cost
of one controller (spec C2; book 000 §6.4.1).

This module simulates two clusters in virtual time, each with a ZooKeeper in memory. In `HerdWorld`
all brokers watch ZooKeeper (`herd_broker`). In `ControllerWorld` the brokers have the project's
KafkaController, which informs them by UpdateMetadata. The watches are really set, and the simulated
ZooKeeper counts them when they fire. No number comes from a formula. In both worlds a message takes
half a millisecond, and a broker has at most ten requests in flight.

Both clusters leave out logs, records, and the watch that each broker has on configurations.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine
from random import Random
from typing import Final, NamedTuple, TypeVar

from kafka_edu.cluster.broker import Broker, EndPoint
from kafka_edu.cluster.leader_and_isr import LeaderIsrAndControllerEpoch
from kafka_edu.common.ports import BROKER_PORT, LOOPBACK
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_channel_manager import OnResponse
from kafka_edu.controller.kafka_controller import KafkaController
from kafka_edu.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_edu.protocol.schema import Message
from kafka_edu.server.config.kafka_config import default_config
from kafka_edu.server.config.part_configs import controller_config
from kafka_edu.sim.herd_broker import HerdBroker
from kafka_edu.sim.memory_transport import MemoryNetwork, MemoryTransport
from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.sim.memory_zookeeper import MemoryZooKeeper
from kafka_edu.sim.sim_loop import SimLoop, SimProcess, SimTime
from kafka_edu.trace.event import ZOOKEEPER, Envelope, Level
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
    """The cost of one event, for example the death of a broker."""

    watches_fired: int
    brokers_woken: int
    reads: int
    writes: int
    busiest_10_ms: int
    """The largest number of requests to ZooKeeper within 10 ms."""
    requests_to_brokers: int
    """The number of requests from the controller to brokers. 0 in a cluster without a
    controller.
    """
    until_all_know_ms: float
    """The time in ms until the last broker had all new information."""


class Counter:
    """Receives ZooKeeper's events and counts watches, reads and writes."""

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
    """A simulated cluster with `brokers` brokers and one topic of `partitions` partitions. After
    its creation nothing happens in it until the measurement acts on it.
    """

    def __init__(self, brokers: int, partitions: int) -> None:
        self.loop = SimLoop()
        self.time = SimTime(self.loop)
        self.counter = Counter()
        self.requests_to_brokers = 0
        self.learnt_ns = 0
        self._brokers = brokers
        tracer = Tracer(ZOOKEEPER, self.time)
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
        """Start a broker, for the first time or again. Return when it is registered."""

    @abstractmethod
    def tell_of_isr(self, tp: TopicPartition) -> None:
        """Inform the other brokers about a new ISR, in the way of a leader in this kind of
        cluster.
        """

    def run(self, coro: Coroutine[object, object, T]) -> T:
        task: asyncio.Task[T] = self.loop.create_task(coro)
        return self.loop.run_until_complete(task)

    def broker(self, broker_id: int) -> Broker:
        return Broker(
            broker_id, (EndPoint(LOOPBACK, BROKER_PORT + broker_id, "PLAINTEXT", "PLAINTEXT"),)
        )

    def learnt(self) -> None:
        """Note the time at which a broker gets new information."""
        self.learnt_ns = self.loop.now_ns

    @property
    def watches(self) -> int:
        """The number of watches that are set now."""
        tree = self.zookeeper.server.tree
        return tree.data_watches.count + tree.child_watches.count

    def settle(self) -> None:
        """Let time pass until nothing happens any more. Raises AssertionError for an exception that
        no code caught.
        """
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
        """Carry out `act`, and let time pass until nothing happens any more. Return the cost."""
        self.counter.reset()
        requests_before = self.requests_to_brokers
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
            self.requests_to_brokers - requests_before,
            until_all_know_ms,
        )

    def kill(self, broker_id: int) -> None:
        """Kill a broker, as with kill -9. Return when ZooKeeper has expired its session."""
        self.loop.kill(self.processes[broker_id])
        while str(broker_id) in self.zookeeper.server.tree.children(BrokerIdZNode.PARENT):
            self.loop.step()

    def return_of(self, broker_id: int) -> None:
        self.processes[broker_id] = SimProcess(f"broker-{broker_id}")
        self.start(broker_id)

    def create_topic(self, topic: str, partitions: int) -> None:
        """Create the topic's znode, as the topics tool writes it. The replicas are assigned to the
        brokers in turn.
        """
        factor = min(REPLICATION_FACTOR, self._brokers)
        replicas = {
            number: [(number + place) % self._brokers for place in range(factor)]
            for number in range(partitions)
        }
        self.run(self.admin.create_topic_assignment(topic, TopicAssignment.of(replicas)))

    def change_isr(self) -> None:
        """Remove the last follower of one partition from the ISR, as the partition's
        leader does.
        """
        tp = TopicPartition(TOPIC, 0)
        (state,) = self.run(self.admin.get_topic_partition_states([tp])).values()
        smaller = state.leader_and_isr._replace(isr=state.leader_and_isr.isr[:-1])
        changed = LeaderIsrAndControllerEpoch(smaller, state.controller_epoch)
        self.run(self.admin.conditional_update_partition_state(tp, changed, smaller.zk_version))
        self.tell_of_isr(tp)


class HerdWorld(World):
    """A cluster in which every broker watches everything."""

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
        """Do nothing, because all brokers watch the partition's znode."""


class Channels:
    """Takes the place of ControllerChannels. It only counts the requests, and sends none of them.
    An UpdateMetadata request is treated as received when the simulated latency of the network is
    over. Brokers send no responses.
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
    """A cluster in which one broker, the controller, watches ZooKeeper and informs the other
    brokers.
    """

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
        unused = MemoryTransport(MemoryNetwork(self.loop, Random(0)))  # No channel uses it.
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
        """Write the notification from which the controller learns that the ISR has changed."""
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
    """The results for one size of the cluster."""

    brokers: int
    partitions: int
    watches_herd: int
    watches_ours: int
    """How many watches are set with a controller, while nothing happens."""
    costs: dict[str, tuple[Cost, Cost]]
    """Event → its cost if all brokers watch everything, and its cost with a controller."""
    controller_dies: Cost
    """The cost of the controller's own death. A cluster without a controller has no such event."""


def measure(brokers: int, partitions: int) -> Exhibit:
    """Make the same changes in both clusters, and measure their costs. This takes some seconds of
    real time for each thousand watches in `HerdWorld`. Raises ValueError for fewer than two
    brokers.
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
