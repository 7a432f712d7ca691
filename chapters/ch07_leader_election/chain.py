"""Kill a leader with -9 and print the tree of causes from the kill to the producer's next ack.

The demo runs three brokers, one topic, and a producer of librdkafka with acks=all. It subscribes to
the events of every process at their default level. After the kill it waits for the new leader's
first acknowledgement, and has the history return all causes of this event (docs/chains.md). Then
the demo checks each link between two events again, from these two events alone.
"""

import queue
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, NamedTuple

import click
from confluent_kafka import KafkaError, Message, Producer
from rich.console import Console
from rich.text import Text

from kafka_edu.cli.demo_frame import demo_command, zookeeper_option
from kafka_edu.cli.demo_topic import BROKERS, create_topic
from kafka_edu.cli.progress import Progress
from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import command_line
from kafka_edu.common.time import SystemTime
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.chain_links import LinkKind
from kafka_edu.trace.event import CLIENT, Envelope, Level, Source
from kafka_edu.trace.events.client import RecordAcknowledged
from kafka_edu.trace.events.controller import LeaderElected
from kafka_edu.trace.events.network import ResponseSent
from kafka_edu.trace.events.supervisor import ActionAsked
from kafka_edu.trace.reader import History, Link, TreeNode, link_fault, order
from kafka_edu.trace.trace_client import EventsAddress, TraceClient
from kafka_edu.trace.tracer import Tracer

TOPIC: Final = "chain"
PARTITIONS: Final = 3
CREATE_TOPICS: Final = 19
PATIENCE_S: Final = 60.0
#: How long the chain waits for its last causes. A process without a core sends its events late.
LAST_CAUSES_S: Final = 30.0
_SEND_EVERY_S: Final = 0.05

IN_ZOOKEEPER: Final = (
    "ActionAsked",
    "ProcessEnded",
    "SessionDisconnected",
    "SessionExpired",
    "SessionClosed",
    "ZnodeDeleted",
    "WatchFired",
)
FROM_THE_WATCH_ON: Final = (
    "ZkWatchFired",
    "ControllerEventQueued",
    "ControllerEventStarted",
    "LeaderElected",
    "ControllerRequestSent",
    "RequestReceived",
    "RequestDequeued",
    "BecameLeader",
    "BecameFollower",
    "FollowerFetched",
    "HighWatermarkAdvanced",
    "OperationCompleted",
    "ProduceAnswered",
    "ResponseSent",
    "RecordAcknowledged",
)
OF_A_NEW_TOPIC: Final = (
    "RequestReceived",
    "RequestDequeued",
    "ZkWatchFired",
    "ControllerEventQueued",
    "ControllerEventStarted",
    "ControllerRequestSent",
    "MetadataUpdated",
    "OperationCompleted",
    "ResponseSent",
)


class Events:
    """Collects the events of all processes in one history.

    Background threads read the sockets. Only the caller's thread uses the history.
    """

    def __init__(self) -> None:
        self.history = History()
        self.of_the_cluster = 0
        """The number of events that come from the cluster, without those of the producer."""
        self._come: queue.SimpleQueue[Envelope] = queue.SimpleQueue()

    @contextmanager
    def of(self, addresses: Iterable[EventsAddress]) -> Iterator[None]:
        """Subscribe to each address until the block ends."""
        with ExitStack() as stack:
            for address in addresses:
                client = stack.enter_context(TraceClient(address))
                threading.Thread(target=self._read, args=(client,), daemon=True).start()
            yield

    def _read(self, client: TraceClient) -> None:
        try:
            for envelope in client:
                self._come.put(envelope)
        except (OSError, ValueError):  # killed, or closed when the block ends
            return

    def accept(self, envelope: Envelope) -> None:
        """Take an event that this process itself emits (a Sink)."""
        self._come.put(envelope)

    level = Level.STATE

    def next(self, timeout_s: float) -> Envelope | None:
        """Add the next event to the history and return it; return None if none comes in time."""
        try:
            envelope = self._come.get(timeout=timeout_s)
        except queue.Empty:
            return None
        self.history.add(envelope)
        self.of_the_cluster += envelope.source != CLIENT
        return envelope


class Stream:
    """An unmodified producer that sends to one partition until it is closed.

    Its callbacks become events.
    """

    def __init__(self, cluster: Cluster, partition: int, events: Events) -> None:
        self._trace = Tracer(CLIENT, SystemTime())
        self._trace.add_sink(events)
        self._producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "acks": "all",
                "linger.ms": 0,
                "log_level": 0,
                "message.timeout.ms": 60_000,
            }
        )
        self._partition = partition
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Stream":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        number = 0
        while not self._closing.wait(_SEND_EVERY_S):
            self._producer.produce(
                TOPIC, str(number).encode(), partition=self._partition, on_delivery=self._delivered
            )
            self._producer.poll(0)
            number += 1
        self._producer.flush(5)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        offset = message.offset()
        if error is None and offset is not None:
            self._trace(
                RecordAcknowledged(
                    client="librdkafka", topic=TOPIC, partition=self._partition, offset=offset
                )
            )


class Chain(NamedTuple):
    """The tree of causes of one event, and the kinds of events that the tree must contain."""

    trees: list[TreeNode]
    expected: tuple[str, ...]
    begins: str
    why: str
    """The reason why the tree begins with this event."""

    def nodes(self) -> Iterator[tuple[int, TreeNode]]:
        for tree in self.trees:
            yield from tree.walk()

    @property
    def links(self) -> list[Link]:
        return [link for _, node in self.nodes() for link in node.parents]

    @property
    def missing(self) -> list[str]:
        """Return the kinds of events that the chain should contain but does not."""
        names = {node.envelope.name for _, node in self.nodes()}
        return [name for name in self.expected if name not in names]

    @property
    def complete(self) -> bool:
        return (
            not self.missing and len(self.trees) == 1 and self.trees[0].envelope.name == self.begins
        )

    @property
    def faults(self) -> list[str]:
        return [fault for link in self.links if (fault := link_fault(link))]


def chain_of(history: History, event: Envelope, expected: tuple[str, ...], begins: str) -> Chain:
    """Return the tree of all causes of `event`."""
    trees = history.causes_tree(event)
    return Chain(trees, expected, begins, history.beginning(trees[0].envelope))


def wait_for_chain(events: Events, find: "Find", expected: tuple[str, ...], begins: str) -> Chain:
    """Wait until the event and all its causes have arrived on the sockets. Return its chain.

    If causes are still missing LAST_CAUSES_S after the event, return the chain without them. Raises
    Standstill if the event itself does not come.
    """
    progress = Progress(find.what)
    chain: Chain | None = None
    quiet_until = float("inf")
    while time.monotonic() < quiet_until:
        envelope = events.next(0.2)
        # The producer's acks never stop, so they do not count as progress. Events of the cluster
        # do: they come only when something happens.
        progress.note(f"{events.of_the_cluster} facts of the cluster")
        if envelope is not None and chain is None and not find.is_near(envelope):
            continue
        event = find.event(events.history)
        if event is not None:
            if chain is None:
                quiet_until = time.monotonic() + LAST_CAUSES_S
            chain = chain_of(events.history, event, expected, begins)
            if chain.complete:
                return chain
    assert chain is not None  # quiet_until gets its value together with chain
    return chain


class Find:
    """Finds the event whose causes are wanted."""

    what = ""

    def is_near(self, envelope: Envelope) -> bool:
        """Return whether this event is a reason to search the history now."""
        raise NotImplementedError

    def event(self, history: History) -> Envelope | None:
        raise NotImplementedError


class FindAck(Find):
    """Finds the first acknowledgement after the election that follows the kill."""

    what = "an acknowledgement of the new leader"

    def __init__(self, partition: int, victim: int) -> None:
        self._partition = partition
        self._victim = victim

    def is_near(self, envelope: Envelope) -> bool:
        return isinstance(envelope.event, RecordAcknowledged)

    def event(self, history: History) -> Envelope | None:
        elected = next(
            (
                e
                for e in history.events
                if isinstance(e.event, LeaderElected) and self._is_ours(e.event)
            ),
            None,
        )
        if elected is None:
            return None
        acks = [
            e
            for e in history.events
            if isinstance(e.event, RecordAcknowledged) and e.mono_us > elected.mono_us
        ]
        return min(acks, key=order, default=None)

    def _is_ours(self, event: LeaderElected) -> bool:
        return (event.topic, event.partition, event.old_leader) == (
            TOPIC,
            self._partition,
            self._victim,
        ) or (
            (event.topic, event.partition) == (TOPIC, self._partition)
            and self._victim not in event.live
        )


class FindCreated(Find):
    """Finds the response to the CreateTopics request that created the topic."""

    what = "the response to CreateTopics"

    def is_near(self, envelope: Envelope) -> bool:
        return isinstance(envelope.event, ResponseSent)

    def event(self, history: History) -> Envelope | None:
        sent = [
            e
            for e in history.events
            if isinstance(e.event, ResponseSent) and e.event.api_key == CREATE_TOPICS and e.cause
        ]
        return next(
            (e for e in sent if history.cause_of(e) is not None and _completed(history, e)), None
        )


def _completed(history: History, response: Envelope) -> bool:
    """Return whether this response ends a completed operation.

    All other responses refuse the request: a broker that is not the controller answers at once.
    """
    cause = history.cause_of(response)
    return cause is not None and cause.name == "OperationCompleted"


def who(source: Source) -> str:
    return "producer" if source == CLIENT else str(source)


def tree_lines(chain: Chain) -> Iterator[Text]:
    """Yield one line for each event (when, who, what), and below it its links with their keys."""
    first = min((node.envelope for _, node in chain.nodes()), key=order)
    for depth, node in chain.nodes():
        envelope = node.envelope
        line = Text(
            f"{(envelope.mono_us - first.mono_us) / 1000:9.1f} ms  {who(envelope.source):<10}  ",
            style="dim",
        )
        line.append("· " * depth)
        line.append(envelope.name, style="bold")
        line.append(f" {subject(envelope)}".rstrip())
        yield line
        if not node.parents:
            yield Text(f"{'':25}{'· ' * depth}  begins here: {chain.why}", style="dim italic")
        for at, link in enumerate(node.parents):
            by = (
                "by"
                if at == 0
                else (
                    f"also because of {link.cause.name} #{link.cause.seq} of"
                    f" {who(link.cause.source)}, by"
                )
            )
            yield Text(f"{'':25}{'· ' * depth}  {by} {link.kind}: {link.key_text}", style="dim")


#: The fields of an event that are shown in the tree.
_SUBJECTS: Final = (
    "action",
    "process",
    "signal",
    "session_id",
    "path",
    "version",
    "zxid",
    "name",
    "topic",
    "partition",
    "leader",
    "old_leader",
    "new_leader",
    "leader_epoch",
    "api_key",
    "correlation_id",
    "follower",
    "fetch_offset",
    "before",
    "after",
    "label",
    "offset",
    "error",
)


def subject(envelope: Envelope) -> str:
    event = envelope.event
    values = (
        (name, getattr(event, name))
        for name in _SUBJECTS
        if hasattr(event, name) and name in getattr(event, "_fields", ())
    )
    return ", ".join(f"{name} {value}" for name, value in values if value != "")


def addresses(cluster: Cluster, zookeeper: str) -> list[EventsAddress]:
    """Return the addresses of all processes that emit events."""
    found = [
        cluster.supervisor_events_address(),
        *(cluster.events_address(broker) for broker in cluster.broker_ids),
    ]
    if zookeeper == "embedded":
        found.append(EventsAddress.read(str(cluster.folder.zookeeper_events)))
    return found


class Outcome(NamedTuple):
    kill: Chain
    topic: Chain
    victim: int
    led_by_controller: bool


def run(cluster: Cluster, zookeeper: str, of_controller: bool, console: Console) -> Outcome:
    """Kill the leader on a cluster that is ready, and print the chain."""
    events = Events()
    embedded = zookeeper == "embedded"
    with events.of(addresses(cluster, zookeeper)):
        leaders = create_topic(cluster.bootstrap_servers, TOPIC, PARTITIONS)
        controller = cluster.wait_ready()
        topic = wait_for_chain(
            events, FindCreated(), OF_A_NEW_TOPIC, "RequestReceived" if embedded else "ZkWatchFired"
        )
        partition = next(
            p for p, leader in sorted(leaders.items()) if (leader == controller) is of_controller
        )
        victim = leaders[partition]
        with Stream(cluster, partition, events):
            progress = Progress("the acknowledgement of the producer's first record")
            acked = events.next(0.2)
            while acked is None or not isinstance(acked.event, RecordAcknowledged):
                progress.note(f"{events.of_the_cluster} facts of the cluster")
                acked = events.next(0.2)
            console.print(
                f"[red]✕[/] kill -9: broker {victim}, leader of"
                f" {TOPIC}-{partition}{', and the controller' if of_controller else ''}"
            )
            cluster.kill(victim)
            expected = (*IN_ZOOKEEPER, *FROM_THE_WATCH_ON) if embedded else FROM_THE_WATCH_ON
            kill = wait_for_chain(
                events,
                FindAck(partition, victim),
                expected,
                ActionAsked.__name__ if embedded else "ZkWatchFired",
            )
    elected = next(
        (n.envelope for _, n in kill.nodes() if isinstance(n.envelope.event, LeaderElected)), None
    )
    leads_itself = (
        elected is not None
        and isinstance(elected.event, LeaderElected)
        and elected.event.new_leader == elected.broker
    )
    return Outcome(kill, topic, victim, leads_itself)


def show(title: str, chain: Chain, console: Console) -> None:
    console.print(f"\n[bold]{title}[/]")
    for line in tree_lines(chain):
        console.print(line, soft_wrap=True)
    for name in chain.missing:
        console.print(f"[red]missing[/] {name}")
    for fault in chain.faults:
        console.print(f"[red]false link[/] {fault}")


def report_of(outcome: Outcome) -> Report:
    report = Report("chain")
    for name, chain in (("kill", outcome.kill), ("topic", outcome.topic)):
        nodes = [node.envelope for _, node in chain.nodes()]
        report.figure(f"{name}: events", len(nodes))
        report.figure(f"{name}: processes", len({e.source for e in nodes}))
        report.figure(f"{name}: links", len(chain.links))
        for kind in LinkKind:
            if number := sum(link.kind is kind for link in chain.links):
                report.figure(f"{name}: links by {kind}", number)
        report.figure(
            f"{name}: ms from the first event to the last",
            round((max(e.mono_us for e in nodes) - min(e.mono_us for e in nodes)) / 1000, 1),
        )
    report.figure("killed broker", outcome.victim)
    report.figure("the new leader is the controller", outcome.led_by_controller)
    report.target(
        "complete from the kill to the acknowledgement (1: yes)",
        int(outcome.kill.complete),
        "==",
        1,
    )
    report.target(
        "complete from CreateTopics to its response (1: yes)", int(outcome.topic.complete), "==", 1
    )
    report.target("false links", len(outcome.kill.faults) + len(outcome.topic.faults), "==", 0)
    return report


@demo_command("chain")
@click.option(
    "--controller", is_flag=True, help="Kill the controller, and see a new one elected first."
)
@zookeeper_option
def chain(console: Console, controller: bool, zookeeper: str) -> Report:
    """Kill a leader with -9 and print all causes of the next acknowledgement, as a tree.

    The exit code is 1 if a target is missed.
    """
    with running_cluster("chain", brokers=BROKERS, zookeeper=zookeeper) as cluster:
        outcome = run(cluster, zookeeper, controller, console)
    show("From CreateTopics to its response", outcome.topic, console)
    show("From the kill to the producer's acknowledgement", outcome.kill, console)
    report = report_of(outcome)
    report.end(
        happened=f"Broker {outcome.victim} was killed, another replica was elected, and the"
        " producer got its next acknowledgement from there.",
        why="Each event above is printed below its latest cause. Each link between two processes"
        " is proved by a key that both events hold.",
        look_next="docs/chains.md lists every kind of link, and in"
        f" {command_line('dashboard')} the enter key on a line of the ticker follows its chain.",
    )
    return report
