"""The pictures of chapter 12, made by the producer's own classes.

Most of them drive the core step by step (`SteppedProducer`). The interceptors run in a whole
producer on a simulated broker. Time is virtual, so each picture is the same each time.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.clients.metadata import PartitionInfo, TopicInfo
from kafka_edu.clients.producer.partitioners import (
    DefaultPartitioner,
    Partitioner,
    RandomPartitioner,
    RoundRobinPartitioner,
)
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.clients.producer.producer_batch import RecordMetadata
from kafka_edu.clients.producer.producer_config import ProducerRecord
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.murmur2 import partition_of_key
from kafka_edu.instruments.drawings.figure import (
    BLUE,
    GREEN,
    GREY,
    RED,
    WHITE,
    YELLOW,
    new_figure,
)
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import FIRST_PORT, SimCluster
from kafka_edu.sim.sim_loop import SimProcess

from ..drawing import GAP, grid, picture
from .stepped_producer import Sent, SteppedProducer

LINGER_MS: Final = 100
BATCH_SIZE: Final = 16_384
"""The default of batch.size."""
BUFFER: Final = 65_536
VALUE: Final = "x" * 100
PARTITIONS: Final = 3
KEYS: Final = 1_000
LARGEST: Final = 1_000
"""max.request.size of the producer with interceptors."""
#: The topics of the regrouping: the leader of each partition.
LEADERS: Final[Mapping[str, Sequence[int]]] = {"orders": (0, 1, 0), "clicks": (1,)}
Cells = list[tuple[str, str]]
Rows = list[tuple[str, Cells]]


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the figures for the chapter's page, and return them by name."""
    return {
        "cluster": _cluster_figure(),
        "path": _path_figure(),
        "regroup": _regroup_figure(),
        "deque": _deque_figure(),
        "bank": _bank_figure(),
        "reorder": _reorder_figure(),
        "lost-answer": _lost_answer_figure(),
        "partitioners": _partitioners_figure(),
    }


# From queues of partitions to requests of brokers.


class Regrouped(NamedTuple):
    """The same records in the accumulator, and in the requests."""

    queues: Mapping[tuple[str, int], Sequence[int]]
    """Topic and partition → the number of records of each batch in its queue."""
    first: Sequence[Sent]
    """The requests of the first turn."""
    left: Mapping[tuple[str, int], Sequence[int]]
    """The queues after the first turn."""
    requests: int
    """The number of requests of all turns, until no batch waits."""


def _queues(producer: SteppedProducer) -> dict[tuple[str, int], list[int]]:
    queued = producer.accumulator.queued
    return {
        (tp.topic, tp.partition): [batch.count for batch in queue.batches]
        for tp, queue in queued.items()
    }


@cache
def regrouped() -> Regrouped:
    """Fill four queues, and send everything."""
    settings = {
        "linger.ms": LINGER_MS,
        "batch.size": 250,
        "max.in.flight.requests.per.connection": 1,
    }
    producer = SteppedProducer(LEADERS, settings)
    for partition, records in ((0, 4), (1, 1), (2, 1)):
        for number in range(records):
            producer.append("orders", partition, f"{partition}.{number}" + "x" * 60)
    for number in range(2):
        producer.append("clicks", 0, f"c.{number}")
    queues = _queues(producer)
    producer.now += LINGER_MS
    producer.run()
    first, left = list(producer.waiting), _queues(producer)
    requests = len(first)
    while producer.waiting:
        before = len(producer.waiting)
        producer.answer()
        requests += len(producer.waiting) - before + 1
    return Regrouped(queues, first, left, requests)


def _name(tp: tuple[str, int]) -> str:
    return f"{tp[0]}-{tp[1]}"


def regroup() -> Picture:
    """Show the queues of the partitions, and the requests that are made of them."""
    found = regrouped()
    shown = Table("partition", "leader", "its queue: records of each batch", box=None)
    for (topic, partition), batches in found.queues.items():
        leader = f"broker {LEADERS[topic][partition]}"
        shown.add_row(f"{topic}-{partition}", leader, " ".join(f"[{n}]" for n in batches))
    sent = Table("request to", "topic → partition → batch", box=None)
    for each in found.first:
        inside = ", ".join(f"{_name(tp)} [{len(values)}]" for tp, values in each.batches().items())
        sent.add_row(f"broker {each.broker}", inside)
    return picture(
        {
            "queues": len(found.queues),
            "batches": sum(map(len, found.queues.values())),
            "first_requests": len(found.first),
            "all_requests": found.requests,
        },
        shown,
        Text(""),
        sent,
    )


# When a batch is sent.


class Ready(NamedTuple):
    """One state of a queue, and the ms until its first batch may be sent."""

    words: str
    due_ms: float


@cache
def ready_states() -> list[Ready]:
    """Bring the accumulator into each state, 40 ms after the first record of a batch."""

    def state(prepare: Callable[[SteppedProducer], None]) -> float:
        settings = {"linger.ms": LINGER_MS, "buffer.memory": 3 * BATCH_SIZE}
        producer = SteppedProducer({"t": (0,)}, settings)
        producer.append("t", 0, VALUE)
        producer.now = 40.0
        prepare(producer)
        ready = producer.accumulator.ready(producer.metadata, producer.now)
        return 0.0 if ready.queues else ready.next_ms

    def nothing(producer: SteppedProducer) -> None: ...

    def late(producer: SteppedProducer) -> None:
        producer.now = float(LINGER_MS)

    def full(producer: SteppedProducer) -> None:
        producer.append("t", 0, "x" * BATCH_SIZE)

    def flush(producer: SteppedProducer) -> None:
        producer.accumulator.flushing = True

    def memory(producer: SteppedProducer) -> None:
        producer.pool.wait(producer.pool.total, lambda: None)

    def refused(producer: SteppedProducer) -> None:
        producer.now = float(LINGER_MS)
        producer.run()
        producer.answer(Errors.NOT_ENOUGH_REPLICAS)

    return [
        Ready("one record, 40 ms old", state(nothing)),
        Ready("one record, 100 ms old", state(late)),
        Ready("the batch is full: another one is behind it", state(full)),
        Ready("somebody waits for memory", state(memory)),
        Ready("flush() or close() was called", state(flush)),
        Ready("the broker has just refused it", state(refused)),
    ]


def when_ready() -> Picture:
    """Show in which states a batch is sent, and when."""
    shown = Table("linger.ms=100; the queue of one partition", "sent in", box=None)
    for one in ready_states():
        shown.add_row(one.words, "now" if not one.due_ms else f"{one.due_ms:.0f} ms")
    young, *_, refused = ready_states()
    return picture(
        {"young_ms": f"{young.due_ms:.0f}", "refused_ms": f"{refused.due_ms:.0f}"}, shown
    )


# buffer.memory, with one partition and with many.


@cache
def records_that_fit(partitions: int) -> int:
    """Return how many records send() takes, in turn, until buffer.memory is used up."""
    settings = {"linger.ms": LINGER_MS, "buffer.memory": BUFFER}
    producer = SteppedProducer({"t": (0,) * partitions}, settings)
    taken = 0
    while producer.append("t", taken % partitions, VALUE) is not None:
        taken += 1
    return taken


def memory() -> Picture:
    """Show how many records fit into the same memory, with more and more partitions."""
    shown = Table("partitions", "records of 100 bytes until it is full", box=None)
    for partitions in (1, 2, 4, 8):
        shown.add_row(str(partitions), f"{records_that_fit(partitions):,}")
    return picture(
        {"fit_one": records_that_fit(1), "fit_eight": records_that_fit(8)},
        shown,
        Text(f"buffer.memory = {BUFFER:,}, batch.size = {BATCH_SIZE:,}; a record to each in turn"),
    )


# The requests in flight.


class Moment(NamedTuple):
    """The requests in flight after one step, oldest first."""

    words: str
    in_flight: tuple[str, ...]
    may_send: bool
    """Whether another request may be sent."""


MOST_IN_FLIGHT: Final = 3


@cache
def deque_moments() -> list[Moment]:
    """Send r1, r2, r3 and, without a response, r4; then the responses come (book 002 图2-34)."""
    producer = SteppedProducer(
        {"t": (0,)},
        {"batch.size": 0, "max.in.flight.requests.per.connection": MOST_IN_FLIGHT},
    )
    connections = producer.connections
    names: list[str] = []
    moments: list[Moment] = []

    def note(words: str) -> None:
        assert connections.in_flight.count(0) == len(names)
        moments.append(Moment(words, tuple(names), connections.ready(0, producer.now)))

    for number in range(1, MOST_IN_FLIGHT + 1):
        producer.append("t", 0, f"r{number}")
        producer.run()
        names.append(f"r{number}")
        note(f"r{number} is sent")
        if number == 2:
            first = producer.waiting[0]
            connections.send(0, first.request, first.version, producer.now, None)
            producer.run()
            producer.waiting.pop()  # a broker does not answer it
            note("r4 is sent, with acks=0")
    while names:
        producer.answer()
        done = names.pop(0)
        note(f"the response of {done} comes")
    return moments


def deque() -> Picture:
    """Show the queue of requests in flight after each step."""
    shown = Table("", "in flight, oldest first", "one more?", box=None)
    for one in deque_moments():
        shown.add_row(one.words, " ".join(one.in_flight) or "-", "yes" if one.may_send else "no")
    counts = [len(one.in_flight) for one in deque_moments()]
    return picture(
        {"most_in_flight": max(counts)},
        shown,
        Text(f"max.in.flight.requests.per.connection = {MOST_IN_FLIGHT}"),
    )


# Partitioners.


class Spread(NamedTuple):
    """The partitions and batches of twelve records."""

    name: str
    chosen: tuple[int, ...]
    batches: int
    """The number of batches, if linger.ms is over after every A_LINGER records."""


RECORDS: Final = 12
A_LINGER: Final = 4
USERS: Final = ("ann", "bob", "eve", "joe")


@cache
def spreads() -> list[Spread]:
    """Send twelve records to three partitions with each partitioner."""
    topic = TopicInfo("t", [PartitionInfo(number, 0, 0) for number in range(PARTITIONS)])
    no_keys: list[bytes | None] = [None] * RECORDS
    keys: list[bytes | None] = [USERS[n % len(USERS)].encode() for n in range(RECORDS)]
    ways: list[tuple[str, Partitioner, list[bytes | None]]] = [
        ("RoundRobinPartitioner", RoundRobinPartitioner(random.Random(1)), no_keys),
        ("RandomPartitioner", RandomPartitioner(random.Random(1)), no_keys),
        ("DefaultPartitioner, no key: sticky", DefaultPartitioner(random.Random(1)), no_keys),
        ("DefaultPartitioner, four keys", DefaultPartitioner(random.Random(1)), keys),
    ]
    return [_spread(name, partitioner, topic, each) for name, partitioner, each in ways]


def _spread(
    name: str, partitioner: Partitioner, topic: TopicInfo, keys: Sequence[bytes | None]
) -> Spread:
    chosen: list[int] = []
    batches = 0
    open_batches: set[int] = set()
    for number, key in enumerate(keys):
        if number % A_LINGER == 0:
            open_batches.clear()
        partition = partitioner.partition(topic, key, None)
        if partition not in open_batches and partitioner.sticky:
            partitioner.on_new_batch(topic, partition)
            partition = partitioner.partition(topic, key, None)
        batches += partition not in open_batches
        open_batches.add(partition)
        chosen.append(partition)
    return Spread(name, tuple(chosen), batches)


def partitioners() -> Picture:
    """Show where twelve records go, by each partitioner."""
    shown = Table("", "the partitions of 12 records", "batches", box=None)
    for one in spreads():
        shown.add_row(one.name, " ".join(map(str, one.chosen)), str(one.batches))
    turn, _, sticky, keyed = spreads()
    return picture(
        {
            "turn_batches": turn.batches,
            "sticky_batches": sticky.batches,
            "keyed_batches": keyed.batches,
        },
        shown,
        Text(f"linger.ms ends after every {A_LINGER} records"),
    )


@cache
def moved_keys(before: int, after: int) -> int:
    """Return how many of KEYS keys change their partition if a topic gets more partitions."""
    keys = [b"user %d" % number for number in range(KEYS)]
    return sum(partition_of_key(key, before) != partition_of_key(key, after) for key in keys)


def grown() -> Picture:
    """Show how many keys change their partition when partitions are added."""
    shown = Table("partitions", f"of {KEYS:,} keys in another partition", box=None)
    for after in (4, 5, 6):
        shown.add_row(f"{PARTITIONS} → {after}", str(moved_keys(PARTITIONS, after)))
    return picture({"moved": moved_keys(PARTITIONS, PARTITIONS + 1)}, shown)


# Interceptors.


@cache
def intercepted() -> list[str]:
    """Send a good and a too large record through two interceptors. Return the calls in order."""
    calls: list[str] = []

    class Stamp:
        """Adds a header with the time of sending, as in the book's example."""

        name = "stamp"

        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            calls.append(f"{self.name}.on_send({str(record.value)[:3]})")
            return record._replace(headers=[*record.headers, ("sent-at", b"12:00")])

        def on_acknowledgement(
            self, metadata: RecordMetadata | None, error: KafkaException | None
        ) -> None:
            calls.append(f"{self.name}.on_acknowledgement({_end(error)})")

    class Count(Stamp):
        """Counts the records, and changes nothing."""

        name = "count"

        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            super().on_send(record)
            return record

    def callback(metadata: RecordMetadata | None, error: KafkaException | None) -> None:
        calls.append(f"callback({_end(error)})")

    cluster = SimCluster(1, broker_ids=(1,))
    cluster.start_all()
    client = SimClient(cluster)
    cluster.run_as(client.process, client.create_topic("t", 1, 1))

    async def program() -> None:
        settings = {
            "bootstrap.servers": f"127.0.0.1:{FIRST_PORT + 1}",
            "interceptor.classes": [Stamp(), Count()],
            "max.request.size": LARGEST,
        }
        transport = cluster.network.transport()
        async with Producer(settings, transport=transport, time=cluster.time) as producer:
            for value in ("yes", "too" + "x" * LARGEST):
                await producer.send("t", value, on_delivery=callback)
                await producer.flush()

    cluster.run_as(SimProcess("program"), program())
    cluster.close()
    return calls


def _end(error: KafkaException | None) -> str:
    return "ok" if error is None else error.error.name


def interceptors() -> Picture:
    """Show the calls of two interceptors and a callback, in their order."""
    calls = intercepted()
    half = len(calls) // 2
    shown = Table("a record that fits", "a record that is too large", box=None)
    for good, bad in zip(calls[:half], calls[half:], strict=True):
        shown.add_row(good, bad)
    return picture({"calls": half}, shown)


# Five in flight, and the first one is refused.


class Log(NamedTuple):
    """The result of five records in flight."""

    words: str
    steps: tuple[str, ...]
    log: tuple[str, ...]


@cache
def reordered(idempotent: bool, in_flight: int) -> Log:
    """Send five batches; the broker refuses the first one once, as damaged."""
    producer = SteppedProducer(
        {"t": (0,)},
        {
            "batch.size": 0,
            "acks": "all",
            "enable.idempotence": idempotent,
            "max.in.flight.requests.per.connection": in_flight,
        },
    )
    log: list[str] = []
    steps: list[str] = []
    producer.append("t", 0, "0")
    producer.run()
    producer.answer()
    for number in range(1, 6):
        producer.append("t", 0, str(number))
    producer.run()
    refused, expected = False, 1
    while len(log) < 5:
        if not producer.waiting:
            producer.advance(100)
            continue
        ((value,),) = producer.waiting[0].batches().values()
        if value == "1" and not refused:
            refused, error = True, Errors.CORRUPT_MESSAGE
        elif idempotent and int(value) != expected:
            error = Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
        else:
            error = Errors.NONE
            log.append(value)
            expected = int(value) + 1
        steps.append(value if error is Errors.NONE else f"{value} {error.name}")
        producer.answer(error, len(log))
    words = "enable.idempotence" if idempotent else f"{in_flight} in flight"
    return Log(words, tuple(steps), tuple(log))


# The figures.


def _cluster_figure() -> graphviz.Digraph:
    """Draw which programs send requests to which: the book's figures 2-1 and 2-58."""
    legend = [(GREY, "clients"), (BLUE, "brokers"), (YELLOW, "ZooKeeper")]
    figure = new_figure("cluster", "Who talks to whom", legend)
    for name in ("producer", "consumer"):
        figure.node(name, name, fillcolor=GREY, style="filled", shape="box")
    for broker in range(2):
        figure.node(f"b{broker}", f"broker {broker}", fillcolor=BLUE, style="filled", shape="box")
        figure.edge("producer", f"b{broker}", label="Produce" if broker == 0 else "")
        figure.edge("consumer", f"b{broker}", label="Fetch" if broker == 1 else "")
        figure.edge(f"b{broker}", "zk", style="dashed")
    figure.node("zk", "ZooKeeper", fillcolor=YELLOW, style="filled", shape="box")
    return figure


def _path_figure() -> graphviz.Digraph:
    """Draw the classes of table 2-4, through which a record passes from send() to the log."""
    rows: Rows = [
        ("your program", [("send(record)", GREY)]),
        ("", [("interceptors, serializers, partitioner", WHITE)]),
        ("RecordAccumulator", [("the queue of its partition", YELLOW)]),
        ("Sender", [("one request to each broker", BLUE)]),
        ("ClientConnections", [("in flight, until the response comes", BLUE)]),
        ("transport (socket)", [("bytes", GREY)]),
        ("broker", [("SocketServer, KafkaApis, the log", GREEN)]),
        ("back the same way", [("your callback, or the future", GREY)]),
    ]
    return grid("path", "From send() to the acknowledgement", [], rows, 24)


def _regroup_figure() -> graphviz.Digraph:
    """Draw queues of batches by partition, and below the requests by broker."""
    found = regrouped()
    taken = {
        tp: broker for each in found.first for tp in each.batches() for broker in [each.broker]
    }
    colours = {0: GREEN, 1: BLUE}
    most = max(map(len, found.queues.values()))
    rows: Rows = []
    for tp, batches in found.queues.items():
        left = len(found.left.get(tp, ()))
        cells: Cells = []
        for place, count in enumerate(batches):
            colour = colours[taken[tp]] if place < len(batches) - left else WHITE
            cells.append((f"{count} rec.", colour))
        rows.append((_name(tp), cells + [GAP] * (most - len(batches))))
    for each in found.first:
        cells = [(_name(tp), colours[each.broker]) for tp in each.batches()]
        rows.append((f"request to broker {each.broker}", cells + [GAP] * (most - len(cells))))
    return grid(
        "regroup",
        "Queues of partitions become requests to brokers",
        [(GREEN, "to broker 0"), (BLUE, "to broker 1"), (WHITE, "waits")],
        rows,
    )


def _deque_figure() -> graphviz.Digraph:
    """Draw the queue of requests in flight after each step."""
    rows: Rows = []
    for one in deque_moments():
        cells: Cells = [(name, BLUE) for name in one.in_flight]
        cells += [(" ", WHITE)] * (MOST_IN_FLIGHT - len(cells))
        rows.append((one.words, [*cells, GAP, ("yes", GREEN) if one.may_send else ("no", RED)]))
    return grid(
        "deque",
        "Requests in flight, oldest first. May one more be sent?",
        [(BLUE, "waits for its response")],
        rows,
        24,
    )


def _bank_figure() -> graphviz.Digraph:
    """Draw the bank of the book: people, counters and what each waits for (图2-40 to 2-42)."""
    rows: Rows = [
        ("in the bank", [("counter A", GREY), ("counter B", GREY)]),
        ("is saying what he wants", [("person 4", YELLOW), ("person 3", YELLOW)]),
        ("sits and waits", [("persons 1, 2", BLUE), ("nobody", WHITE)]),
        ("leaves first", [("person 1", GREEN), ("person 3", GREEN)]),
        ("in Kafka", [("broker 0", GREY), ("broker 1", GREY)]),
    ]
    return grid(
        "bank",
        "A bank with two counters",
        [(YELLOW, "the request is being sent"), (BLUE, "in flight: no response yet")],
        rows,
        24,
    )


def _reorder_figure() -> graphviz.Digraph:
    """Draw what a broker has stored, for three settings of the producer."""
    rows: Rows = []
    for idempotent, in_flight in ((False, 5), (False, 1), (True, 5)):
        found = reordered(idempotent, in_flight)
        right = list(found.log) == sorted(found.log)
        cells: Cells = [(value, GREEN if right else RED) for value in found.log]
        rows.append((f"{found.words}: {len(found.steps)} requests", cells))
    return grid(
        "reorder",
        "The log after the request with record 1 was damaged once",
        [(GREEN, "in order"), (RED, "the order is lost")],
        rows,
        34,
    )


def _lost_answer_figure() -> graphviz.Digraph:
    """Draw the state of the producer and of the log after a response is lost."""
    rows: Rows = [
        ("", [("the producer knows", GREY), ("the log has", GREY)]),
        ("retries=0", [("NETWORK_EXCEPTION", RED), ("1 payment", YELLOW)]),
        ("retries", [("acknowledged", GREEN), ("2 payments", RED)]),
        ("enable.idempotence", [("acknowledged", GREEN), ("1 payment", GREEN)]),
    ]
    return grid("lost-answer", "The payment was written, and the response was lost", [], rows)


def _partitioners_figure() -> graphviz.Digraph:
    """Draw where twelve records go, by each partitioner."""
    colours = (GREEN, BLUE, YELLOW)
    rows: Rows = [
        (one.name, [(str(partition), colours[partition]) for partition in one.chosen])
        for one in spreads()
    ]
    return grid(
        "partitioners",
        "The partitions of twelve records",
        [(colour, f"partition {number}") for number, colour in enumerate(colours)],
        rows,
        24,
    )


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "regroup": regroup,
    "ready": when_ready,
    "memory": memory,
    "deque": deque,
    "partitioners": partitioners,
    "grown": grown,
    "interceptors": interceptors,
}
