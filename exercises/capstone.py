"""The capstone (`lab capstone`): the learner's own broker has to work while faults happen.

All parts that a learner has written run together in all three brokers. Two unmodified clients work
all the time. Each part has its *moment*: the time in which the live test of the part's exercise
runs on this cluster. The seed chooses the order of the moments. After the moments, brokers are
killed, paused and stopped until the time is over. In the end acknowledged records are compared with
consumed records, and the events of the run are checked for broken invariants.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from random import Random
from typing import Any, Final, NamedTuple

from kafka.errors import KafkaError

from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.clients.load.load import Load, LoadSpec
from kafka_edu.clients.load.load_clients import unmodified_clients
from kafka_edu.common.time import SystemTime
from kafka_edu.learner.lab_partitions import LAB_TOPICS
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Source, SourceKind
from kafka_edu.trace.events.client import LoadState
from kafka_edu.trace.events.learner import LearnerFailed, LearnerSampled
from kafka_edu.trace.trace_client import EventsAddress, TraceClient
from kafka_edu.trace.tracer import Tracer
from kafka_edu.trace.wire_format import TraceFormatError

from .capstone_judge import acts, learner_totals
from .ch02_timing_wheel import live as wheel
from .ch03_delayed_operations import live as produces
from .ch03_delayed_operations import live_fetch as fetches
from .ch04_controller import live_states as states
from .ch05_zookeeper_election import live as candidate
from .ch06_graceful_shutdown import live as shutdown
from .ch07_leader_election import live as strategies
from .ch07_leader_election import live_isr as isr
from .ch07_leader_election import live_truncation as truncation
from .lab_cluster import zookeeper_of
from .learner_broker import ALL, LearnerBroker, Listener
from .my_broker import Part, wish_of
from .runner.verdict import Step

NAME: Final = "capstone"
SHOP: Final = f"{LAB_TOPICS}shop"
PARTITIONS: Final = 3
RATE: Final = 40
#: The settings that all live parts need, together in one cluster. A paused follower leaves the ISR
#: before its ZooKeeper session ends, and after the produces that wait for it have expired.
PROPS: Final[Mapping[str, str]] = {
    "zookeeper.session.timeout.ms": "15000",
    "replica.lag.time.max.ms": "8000",
    "controller.socket.timeout.ms": "3000",
    "controlled.shutdown.max.retries": "30",
    "controlled.shutdown.retry.backoff.ms": str(shutdown.BACKOFF_MS),
    "auto.leader.rebalance.enable": "false",
}
PATIENCE_S: Final = 90.0
MORE_PATIENCE: Final = 2
"""The factor by which a moment waits longer when it is run a second time."""
CHAOS: Final = ("pause", "kill", "stop")
LONGEST_PAUSE_S: Final = 3.0
LAST_COUNTS_S: Final = 1.0
"""The seconds to wait for the last events: brokers report their counts of calls twice a second."""
_LOOK_EVERY_S: Final = 0.05

Happens = Callable[[LearnerBroker, Callable[[str], None]], Iterator[Step]]


class Moment(NamedTuple):
    """The place in a recording at which the events show whether one part is right or wrong."""

    name: str
    exercises: tuple[str, ...]
    """The ids of the exercises that can replace this part of the broker."""
    happens: Happens


MOMENTS: Final = (
    Moment("the wheel", ("02-1", "02-2", "02-3", "02-4"), wheel.moment),
    Moment("when a produce is done", ("03-2",), produces.moment),
    Moment("when a fetch is done", ("03-3",), fetches.moment),
    Moment("the tables of states", ("04-1",), states.moment),
    Moment("the controller's election", ("05-1",), candidate.moment),
    Moment("the shutdown loop", ("06-1",), shutdown.moment),
    Moment("the strategies", ("07-1",), strategies.moment),
    Moment("the ISR", ("07-2",), isr.moment),
    Moment("where a log is cut", ("07-3", "10-6"), truncation.moment),
)


class Played(NamedTuple):
    """The results of one capstone run."""

    seconds: float
    steps: Mapping[str, Sequence[Step]]
    """The name of each moment, and the results of its steps."""
    load: LoadState
    unread: int
    """The number of acknowledged records that the consumer has not read."""
    envelopes: Sequence[Envelope]
    """The events of all brokers and of the supervisor, in order of time."""

    @property
    def acts(self) -> dict[str, int]:
        """The kinds of faults (killed, paused, stopped), and how often each kind happened."""
        return acts(self.envelopes)


class Watch:
    """Collects the events of the supervisor and of all brokers, in one thread for each process.

    It continues to collect a broker's events after the broker was restarted.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._folder = cluster.folder  # only one thread sends requests to the cluster
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._clients: dict[int, TraceClient] = {}
        self.envelopes: list[Envelope] = []
        self._threads = [
            threading.Thread(target=self._follow, args=(number,), daemon=True)
            for number in (*ALL, -1)
        ]
        for thread in self._threads:
            thread.start()

    def _follow(self, number: int) -> None:
        """Collect the events of a broker, or of the supervisor (-1), until this watch is closed.

        After a broker has died, connect to it again when it runs again.
        """
        while not self._ended.is_set():
            with suppress(OSError, TraceFormatError):  # it is down, or just starting
                folder = self._folder
                file = folder.supervisor_events if number < 0 else folder.broker_events(number)
                address = EventsAddress.read(str(file))
                with TraceClient(address, gauges=number >= 0, since_us=0) as client:
                    self._clients[number] = client
                    for envelope in client:
                        self._keep(envelope)
            self._ended.wait(_LOOK_EVERY_S)

    def _keep(self, envelope: Envelope) -> None:
        """Store an event. A regular sample is stored only if it is about a learner's part."""
        known = EVENT_TYPES.get(envelope.name)
        sample = known is not None and known.kind is Kind.GAUGE
        if not sample or isinstance(envelope.event, LearnerSampled):
            with self._lock:
                self.envelopes.append(envelope)

    def close(self) -> list[Envelope]:
        """Stop collecting, and return all events in order of time."""
        self._ended.set()
        for client in list(self._clients.values()):
            client.close()
        for thread in self._threads:
            thread.join(timeout=10.0)
        with self._lock:
            return sorted(self.envelopes, key=lambda one: one.mono_us)


class Shop:
    """An unmodified producer and an unmodified consumer, which work during the whole run."""

    def __init__(self, cluster: Cluster) -> None:
        clock = SystemTime()
        spec = LoadSpec(topic=SHOP, rate=RATE, group=NAME)
        clients = unmodified_clients(spec, cluster.bootstrap_servers, clock)
        self._load = Load(spec, clients, Tracer(Source(SourceKind.CLIENT, 1), clock))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._load.start()
        self._thread.start()

    def _tick(self) -> None:
        while not self._ended.wait(_LOOK_EVERY_S):
            self._load.tick()

    def close(self) -> tuple[LoadState, int]:
        """Stop producing, and let the consumer read to the end.

        Return the state of the clients, and the number of acknowledged records that were not read.
        """
        self._ended.set()
        self._thread.join()
        return asyncio.run(self._load.finish()), self._load.unread


def play(
    parts: Sequence[Part],
    seed: int,
    seconds: float,
    say: Callable[[str], None],
    moments: Sequence[Moment] = MOMENTS,
    patience_s: float = PATIENCE_S,
) -> Played:
    """Run the capstone in the order that the seed gives.

    The run takes `seconds`, and longer if the moments of all parts are not over by then. Raises
    ClusterError if the cluster itself does not start.
    """
    random = Random(f"capstone/{seed}")
    order = random.sample(moments, len(moments))
    say("starting three brokers, with all parts in each")
    steps: dict[str, list[Step]] = {}
    with (
        running_cluster(NAME, props=PROPS, broker_props=wish_of(parts).broker_props) as cluster,
        ExitStack() as stack,
    ):
        make_topic(cluster.bootstrap_servers, SHOP, PARTITIONS, 3, {"min.insync.replicas": "2"})
        watch = Watch(cluster)
        stack.callback(watch.close)
        shop = Shop(cluster)
        began = time.monotonic()
        for number, one in enumerate(order, 1):
            say(f"{number} of {len(order)}: {one.name}")
            steps[one.name] = _moment(cluster, one, f"{number}", say, patience_s)
            heal(cluster, patience_s)
            if only_late(steps[one.name]):
                say(f"{one.name} again: something did not come in time")
                more_s = patience_s * MORE_PATIENCE
                steps[one.name] = _moment(cluster, one, f"{number}-again", say, more_s)
                heal(cluster, more_s)
        while time.monotonic() - began < seconds:
            say(f"after {time.monotonic() - began:.0f} s: {_chaos(cluster, random)}")
            heal(cluster)
        say("the clients read to the end")
        state, unread = shop.close()
        took = time.monotonic() - began
        time.sleep(LAST_COUNTS_S)
        envelopes = watch.close()
    return Played(took, steps, state, unread, envelopes)


def only_late(steps: Sequence[Step]) -> bool:
    """Return whether at least one step failed, and every failure is an event that came too late.

    The machine may be busy, so the moment of these steps is run a second time.
    """
    failed = [step for step in steps if not step.passed]
    return bool(failed) and all(step.late for step in failed)


def _moment(
    cluster: Cluster, one: Moment, number: str, say: Callable[[str], None], patience_s: float
) -> list[Step]:
    """Run a part's moment on a topic of its own. Return its steps.

    An error ends the moment and becomes a failed step. The capstone run continues.
    """
    steps: list[Step] = []
    with ExitStack() as stack:
        try:
            broker = stack.enter_context(
                _on_topic(cluster, f"{LAB_TOPICS}{NAME}-{number}", patience_s)
            )
            for step in one.happens(broker, lambda words: say(f"{one.name}: {words}")):
                steps.append(step)
        except (ClusterError, KafkaError, OSError, TimeoutError) as error:
            steps.append(Step("it goes on", False, f"{type(error).__name__}: {error}", late=True))
    return steps


@contextmanager
def _on_topic(cluster: Cluster, topic: str, patience_s: float) -> Iterator[LearnerBroker]:
    """Listen to all brokers, and create a topic that broker 2 leads. Raises ClusterError."""
    with ExitStack() as stack:
        listeners = {each: Listener(cluster.events_address(each)) for each in ALL}
        for listener in listeners.values():
            stack.callback(listener.close)
        broker = LearnerBroker(cluster, listeners, topic, patience_s, stack)
        broker.create_topic()
        yield broker


def heal(cluster: Cluster, patience_s: float = PATIENCE_S) -> None:
    """Start or resume all brokers, and wait until every partition of the shop has its whole ISR.

    Return without an error if the ISR is not complete in time. Raises ClusterError if a broker does
    not start.
    """
    for broker in ALL:
        state = cluster.status().broker(broker).state
        if state == "paused":
            cluster.resume(broker)
        elif state != "running":
            cluster.start(broker)
    cluster.wait_ready()
    end = time.monotonic() + patience_s
    with zookeeper_of(cluster) as zookeeper:
        while not _whole(zookeeper):
            if time.monotonic() > end:
                return  # if a fault remains, the checks at the end find it
            time.sleep(_LOOK_EVERY_S * 2)


def _whole(zookeeper: Any) -> bool:
    """Return whether all replicas of the topic SHOP are in sync. `zookeeper` is a kazoo client."""
    path = f"/brokers/topics/{SHOP}/partitions"
    return all(
        len(json.loads(zookeeper.get(f"{path}/{number}/state")[0])["isr"]) == len(ALL)
        for number in range(PARTITIONS)
    )


def _chaos(cluster: Cluster, random: Random) -> str:
    """Pause, kill or stop a random broker. Return a sentence about the fault."""
    kind, broker = random.choice(CHAOS), random.choice(ALL)
    match kind:
        case "pause":
            seconds = random.uniform(0.5, LONGEST_PAUSE_S)
            cluster.pause(broker)
            time.sleep(seconds)
            return f"broker {broker} stood still for {seconds:.1f} s"
        case "kill":
            cluster.kill(broker)
            return f"broker {broker} was killed"
    cluster.stop(broker)
    return f"broker {broker} was stopped in order"


def served(played: Played, exercise: str) -> tuple[int, int]:
    """Return how often a part was called, and how often it failed.

    The sums are over all brokers, and over all processes that each broker has had.
    """
    return learner_totals(played.envelopes, exercise)


def first_failure(played: Played, exercise: str) -> str:
    """Return the message of a part's first failure, or an empty text if it never failed."""
    for one in played.envelopes:
        if isinstance(one.event, LearnerFailed) and one.event.exercise == exercise:
            where = f"line {one.event.line}: " if one.event.line else ""
            return f"{where}{one.event.message}"
    return ""
