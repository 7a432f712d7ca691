"""The nine programs of exercise 12-6, and the right answers by runs of our producer.

The runs are in virtual time, on a simulated cluster of three brokers.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Final, NamedTuple

from kafka_edu.clients.producer.producer import Producer
from kafka_edu.cluster.topic_assignment import TopicAssignment
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.record.record import encode_record
from kafka_edu.record.record_batch import HEADER_BYTES
from kafka_edu.sim.no_log import no_log
from kafka_edu.sim.sim_cluster import FIRST_PORT, SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.event import CLIENT, Event, Level
from kafka_edu.trace.events.producer import BatchDrained, ClientRequestSent
from kafka_edu.trace.tracer import Tracer

QUESTIONS: Final = """\
# 12-6: your programs

Each program uses a new producer, which is connected and knows its topic. Nothing
fails, and an answer takes less than 5 ms. Where nothing else is said, batch.size is
16384, linger.ms is 0 and max.request.size is 1048576; the records have no keys and
the partitioner is the default one.

Topic web has 6 partitions: each of the brokers 0, 1 and 2 leads two of them. Broker 1
leads all 6 partitions of topic orders. The header of a batch has {header} bytes.

{situations}
"""
BROKERS: Final = (0, 1, 2)
PARTITIONS: Final = 6
WEB: Final = "web"
ORDERS: Final = "orders"
DEFAULT_BATCH: Final = 16_384
NAMES: Final = (
    *("one_burst", "slow", "no_linger", "brokers", "flush", "sticky", "round_robin", "large"),
    "request_size",
)
"""The names of the questions."""
SETTLE_MS: Final = 2_000
"""After the last record, so that every batch has lingered."""
LIMIT_MS: Final = 600_000


class Send(NamedTuple):
    """One record of a program."""

    at_ms: int
    """When the record is sent, in ms after the program's begin."""
    value_bytes: int
    partition: int | None = None
    """None: the partitioner chooses."""
    flush: bool = False
    """Whether the program calls flush() after it."""


class Counts(NamedTuple):
    """The number of batches and of Produce requests in a run."""

    batches: int
    requests: int


class Situation(NamedTuple):
    """One question, its answer, and why it is right."""

    name: str
    words: str
    answer: int
    why: str


class Bench:
    """A simulated cluster with the topics WEB and ORDERS. The programs run one after the other."""

    def __init__(self, seed: int) -> None:
        self._cluster = SimCluster(seed, BROKERS, level=Level.HOPS)
        self._cluster.start_all()
        tool = self._cluster.brokers[0].process
        admin = self._cluster.admin(tool)
        for topic, leader in ((WEB, None), (ORDERS, 1)):
            replicas = {n: [n % 3 if leader is None else leader] for n in range(PARTITIONS)}
            assignment = TopicAssignment.of(replicas)
            self._cluster.run_as(tool, admin.create_topic_assignment(topic, assignment))
        self._cluster.advance(2_000)

    def count(self, topic: str, config: Mapping[str, object], program: Sequence[Send]) -> Counts:
        """Run a program with these settings, and count its batches and requests."""
        events: list[Event] = []
        trace = Tracer(CLIENT, self._cluster.time)
        trace.add_sink(self._cluster.sink)
        servers = ",".join(f"127.0.0.1:{FIRST_PORT + broker}" for broker in BROKERS)

        async def whole() -> None:
            async with Producer(
                {"bootstrap.servers": servers, "delivery.timeout.ms": LIMIT_MS, **config},
                transport=self._cluster.network.transport(),
                time=self._cluster.time,
                trace=trace,
                chance=Random(1),
            ) as producer:
                for partition in range(PARTITIONS):
                    await producer.send(topic, b"first", partition=partition)
                await producer.flush()
                begin = len(self._cluster.sink.events)
                began_ms = self._cluster.time.hi_res_clock_ms()
                for one in program:
                    wait_ms = began_ms + one.at_ms - self._cluster.time.hi_res_clock_ms()
                    if wait_ms > 0:
                        await asyncio.sleep(wait_ms / 1_000)
                    value = bytes(one.value_bytes)
                    await producer.send(topic, value, partition=one.partition)
                    if one.flush:
                        await producer.flush()
                await asyncio.sleep(SETTLE_MS / 1_000)
                events.extend(e.event for e in self._cluster.sink.events[begin:])

        self._cluster.run_as(SimProcess("program"), whole(), LIMIT_MS)
        batches = [event for event in events if isinstance(event, BatchDrained)]
        assert sum(one.records for one in batches) == len(program)
        requests = [
            event
            for event in events
            if isinstance(event, ClientRequestSent) and event.api_key == ApiKey.PRODUCE
        ]
        return Counts(len(batches), len(requests))

    def close(self) -> None:
        """End the cluster."""
        self._cluster.close()


def record_bytes(value_bytes: int) -> int:
    """Return the bytes of a record in its batch. It must be one of the batch's first 64 records."""
    return len(encode_record(0, 0, None, bytes(value_bytes), ()))


@cache
def situations(seed: int) -> tuple[Situation, ...]:
    """Return the nine situations for this seed."""
    random = Random(f"how many requests/{seed}")
    makers = (
        _one_burst,
        _slow,
        _no_linger,
        _brokers,
        _flush,
        _sticky,
        _round_robin,
        _large,
        _request_size,
    )
    with no_log():
        bench = Bench(seed)
        try:
            return tuple(make_one(random, bench) for make_one in makers)
        finally:
            bench.close()


def _one_burst(random: Random, bench: Bench) -> Situation:
    """Return the question about many records at one moment."""
    value, fit = random.randint(70, 300), random.randint(5, 20)
    size = HEADER_BYTES + fit * record_bytes(value) + random.randrange(record_bytes(value))
    count = fit * random.randint(4, 8) + random.randint(1, fit - 1)
    found = bench.count(
        WEB, {"batch.size": size, "linger.ms": 100}, [Send(0, value, 2) for _ in range(count)]
    )
    return Situation(
        "one_burst",
        f"batch.size is {size}, linger.ms 100. {count} records for partition 2 of web are sent at"
        f" the same moment. Each takes {record_bytes(value)} bytes in its batch. How many batches?",
        found.batches,
        f"{fit} records fit next to the header; only the last batch is not full",
    )


def _slow(random: Random, bench: Bench) -> Situation:
    """Return the question about a record every few ms."""
    every_ms = random.randint(8, 20)
    linger_ms = every_ms * random.randint(3, 7) + random.randint(3, every_ms - 3)
    count = random.randint(30, 60)
    program = [Send(n * every_ms, 50, 4) for n in range(count)]
    found = bench.count(WEB, {"linger.ms": linger_ms}, program)
    together = linger_ms // every_ms + 1
    return Situation(
        "slow",
        f"linger.ms is {linger_ms}. {count} small records for partition 4 of web are sent, one"
        f" every {every_ms} ms. How many batches?",
        found.batches,
        f"a batch goes {linger_ms} ms after its first record, with {together} records; linger.ms"
        " begins again with the first record of the next batch",
    )


def _no_linger(random: Random, bench: Bench) -> Situation:
    """Return the question about linger.ms 0."""
    count, every_ms = random.randint(20, 60), random.randint(10, 30)
    found = bench.count(WEB, {}, [Send(n * every_ms, 50, 1) for n in range(count)])
    return Situation(
        "no_linger",
        f"{count} small records for partition 1 of web are sent, one every {every_ms} ms. How many"
        " batches?",
        found.batches,
        "with linger.ms 0 a batch is ready with its first record, whatever batch.size is",
    )


def _brokers(random: Random, bench: Bench) -> Situation:
    """Return the question about requests to three brokers."""
    used = sorted(random.sample(range(PARTITIONS), random.randint(3, PARTITIONS)))
    each = random.randint(5, 20)
    program = [Send(0, 60, partition) for _ in range(each) for partition in used]
    found = bench.count(WEB, {"linger.ms": 50}, program)
    leaders = ", ".join(f"{n} by broker {n % 3}" for n in used)
    return Situation(
        "brokers",
        f"linger.ms is 50. {each} small records for each of the partitions {_listed(used)} of web"
        f" are sent at the same moment. They are led so: {leaders}. How many requests?",
        found.requests,
        "all batches that are ready for one broker go in one request",
    )


def _flush(random: Random, bench: Bench) -> Situation:
    """Return the question about a program that calls flush()."""
    every, count = random.randint(4, 9), random.randint(30, 60)
    program = [Send(0, 50, 3, flush=(n + 1) % every == 0) for n in range(count)]
    found = bench.count(WEB, {"linger.ms": 1_000}, program)
    return Situation(
        "flush",
        f"linger.ms is 1000. {count} small records for partition 3 of web are sent, as fast as it"
        f" goes. After each {every} records the program calls flush(). How many batches?",
        found.batches,
        "flush() sends what there is, and waits for the answer; then a new batch begins",
    )


def _sticky(random: Random, bench: Bench) -> Situation:
    """Return the question about the default partitioner."""
    value, fit = random.randint(70, 300), random.randint(5, 15)
    size = HEADER_BYTES + fit * record_bytes(value)
    count = fit * random.randint(2, 4) + random.randint(1, fit)
    config = {"batch.size": size, "linger.ms": 100}
    found = bench.count(WEB, config, [Send(0, value) for _ in range(count)])
    return Situation(
        "sticky",
        f"batch.size is {size}, linger.ms 100. {count} records for web are sent at the same moment."
        f" Each takes {record_bytes(value)} bytes in its batch. How many batches?",
        found.batches,
        f"records without keys fill the batch of one partition, {fit} in each, before another"
        " partition gets some",
    )


def _round_robin(random: Random, bench: Bench) -> Situation:
    """Return the question about another partitioner."""
    value, fit = random.randint(70, 300), random.randint(5, 15)
    size = HEADER_BYTES + fit * record_bytes(value)
    count = PARTITIONS * fit * random.randint(1, 3) + random.randint(1, PARTITIONS * fit - 1)
    config = {
        "batch.size": size,
        "linger.ms": 100,
        "partitioner.class": "RoundRobinPartitioner",
    }
    found = bench.count(WEB, config, [Send(0, value) for _ in range(count)])
    return Situation(
        "round_robin",
        f"partitioner.class is RoundRobinPartitioner, batch.size {size}, linger.ms 100. {count}"
        f" records for web are sent at the same moment. Each takes {record_bytes(value)} bytes in"
        " its batch. How many batches?",
        found.batches,
        f"each of the {PARTITIONS} partitions gets the same number, or one more than others, and"
        " ends with a batch that may not be full",
    )


def _large(random: Random, bench: Bench) -> Situation:
    """Return the question about records that are larger than batch.size."""
    small, fit = 60, random.randint(6, 12)
    size = HEADER_BYTES + fit * record_bytes(small)
    large = size + random.randint(10, 500)
    between, rounds = random.randint(2, fit - 1), random.randint(4, 9)
    program = [Send(0, value, 5) for _ in range(rounds) for value in (*[small] * between, large)]
    found = bench.count(WEB, {"batch.size": size, "linger.ms": 100}, program)
    return Situation(
        "large",
        f"batch.size is {size}, linger.ms 100. For partition 5 of web {rounds} times in a row these"
        f" are sent, all at the same moment: {between} records that take {record_bytes(small)}"
        f" bytes each, and one that takes {record_bytes(large)}. How many batches?",
        found.batches,
        "a record that is larger than batch.size is a batch of its own, and ends the batch before"
        " it",
    )


def _request_size(random: Random, bench: Bench) -> Situation:
    """Return the question about max.request.size."""
    value, together = random.randint(300, 900), random.randint(2, PARTITIONS - 1)
    batch = HEADER_BYTES + record_bytes(value)
    most = together * batch + random.randrange(batch)
    config = {"linger.ms": 50, "max.request.size": most, "batch.size": 2 * batch}
    found = bench.count(ORDERS, config, [Send(0, value, n) for n in range(PARTITIONS)])
    return Situation(
        "request_size",
        f"max.request.size is {most}, batch.size {2 * batch}, linger.ms 50. One record for each of"
        f" the {PARTITIONS} partitions of orders is sent, all at the same moment. With its header"
        f" each batch has {batch} bytes. How many requests?",
        found.requests,
        f"a request has one batch of each partition, as long as all fit: {together} of them",
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    texts = [
        f"## {number}. `{one.name}`\n\n{one.words}"
        for number, one in enumerate(situations(seed), 1)
    ]
    text = QUESTIONS.format(header=HEADER_BYTES, situations="\n\n".join(texts))
    return {"questions.md": text}
