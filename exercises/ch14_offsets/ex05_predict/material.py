"""The ten situations of exercise 14-5, and the right answers from runs of our consumer.

The runs are in virtual time, on a simulated broker.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from random import Random
from typing import Final, NamedTuple

from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.cluster.topic_assignment import TopicAssignment
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.sim.no_log import no_log
from kafka_edu.sim.sim_cluster import FIRST_PORT, SimCluster
from kafka_edu.sim.sim_loop import SimProcess

QUESTIONS: Final = """\
# 14-5: your situations

Each situation has a new topic and a new group. Consumer A reads first, then
consumer B of the same group. If nothing else is said, the topic has one partition, whose
offsets begin at 0; auto.offset.reset is earliest, enable.auto.commit is false, and A has
ended before B begins.

A program calls poll(), works on each record that it returned, and calls poll() again. A
record *comes again* if poll() has returned it to A and later to B. A record is *missed* if
A has not ended its work on it, and poll() does not return it to B.

{situations}
"""
NAMES: Final = (
    *("kill", "close", "each", "batch", "before", "low", "high", "gone", "latest"),
    "rebalance",
)
"""The names of the questions."""
BROKER: Final = 0
PROPERTIES: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}
LIMIT_MS: Final = 600_000
SETTLE_MS: Final = 3_000
"""In this time consumer B has read all records: it works 1 ms on each record."""
Program = Callable[["Reader", Consumer], Awaitable[None]]


class Situation(NamedTuple):
    """One question, its answer, and why it is right."""

    name: str
    words: str
    answer: int
    why: str


class Reader:
    """A program with a consumer, in a simulated process of its own."""

    def __init__(self, topic: str, work_ms: int) -> None:
        self.topic = topic
        self.work_ms = work_ms
        self.returned: list[int] = []
        """The offsets of the records that poll() has returned, in their order."""
        self.done: list[int] = []
        self.has_partitions = False
        self.closing = False
        self.process = SimProcess("reader")

    async def work(self, offset: int) -> None:
        """Work on a record."""
        await asyncio.sleep(self.work_ms / 1_000)
        self.done.append(offset)

    async def poll(self, consumer: Consumer) -> list[int]:
        """Return the offsets of the records of one poll()."""
        records = [record.offset for record in await consumer.poll(100)]
        self.returned += records
        return records


async def _plain(reader: Reader, consumer: Consumer) -> None:
    """Work on each record, and commit nothing."""
    for offset in await reader.poll(consumer):
        await reader.work(offset)


async def _each(reader: Reader, consumer: Consumer) -> None:
    """Commit after each record."""
    for offset in await reader.poll(consumer):
        await reader.work(offset)
        tp = TopicPartition(reader.topic, 0)
        await consumer.commit({tp: OffsetAndMetadata(offset + 1)})


async def _batch(reader: Reader, consumer: Consumer) -> None:
    """Commit after all records of a poll()."""
    await _plain(reader, consumer)
    await consumer.commit()


async def _before(reader: Reader, consumer: Consumer) -> None:
    """Commit before the work on the records of a poll()."""
    records = await reader.poll(consumer)
    await consumer.commit()
    for offset in records:
        await reader.work(offset)


class Bench:
    """A simulated broker, on which programs run."""

    def __init__(self, seed: int) -> None:
        self._cluster = SimCluster(seed, (BROKER,), PROPERTIES)
        self._cluster.start_all()
        self._tool = self._cluster.brokers[BROKER].process
        self._zk = self._cluster.admin(self._tool)
        self._topics = 0
        self._servers = f"127.0.0.1:{FIRST_PORT + BROKER}"

    def topic(self) -> str:
        """Make a new topic."""
        self._topics += 1
        name = f"web{self._topics}"
        assignment = TopicAssignment.of({0: [BROKER]})
        self._cluster.run_as(self._tool, self._zk.create_topic_assignment(name, assignment))
        self._cluster.advance(500)
        return name

    def send(self, topic: str, count: int) -> None:
        """Store records."""

        async def whole() -> None:
            async with Producer(
                {"bootstrap.servers": self._servers},
                transport=self._cluster.network.transport(),
                time=self._cluster.time,
                chance=Random(1),
            ) as producer:
                for _ in range(count):
                    await producer.send(topic, b"a record", partition=0)
                await producer.flush()

        self._cluster.run_as(SimProcess("producer"), whole(), LIMIT_MS)

    def delete_before(self, topic: str, offset: int) -> None:
        """Delete the records before an offset."""

        async def whole() -> None:
            async with Admin(
                {"bootstrap.servers": self._servers},
                transport=self._cluster.network.transport(),
                time=self._cluster.time,
                chance=Random(1),
            ) as admin:
                await admin.delete_records({TopicPartition(topic, 0): offset})

        self._cluster.run_as(SimProcess("admin"), whole(), LIMIT_MS)

    def _consumer(self, topic: str, config: Mapping[str, object]) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": f"readers-of-{topic}",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                **config,
            },
            transport=self._cluster.network.transport(),
            time=self._cluster.time,
            chance=Random(1),
        )

    def begin(
        self, topic: str, config: Mapping[str, object], program: Program = _plain, work_ms: int = 1
    ) -> Reader:
        """Let a program begin to read."""
        reader = Reader(topic, work_ms)

        def assigned(partitions: tuple[TopicPartition, ...]) -> None:
            reader.has_partitions = True

        async def whole() -> None:
            consumer = await self._consumer(topic, config).start()
            consumer.subscribe([topic], on_assigned=assigned)
            while not reader.closing:
                await program(reader, consumer)
            await consumer.close()  # not after kill -9: nothing of the program runs any more

        self._cluster.loop.spawn(reader.process, whole())
        return reader

    def wait_for(self, done: Callable[[], bool]) -> None:
        """Let time pass until something has happened."""
        for _ in range(LIMIT_MS):
            if done():
                return
            self._cluster.advance(1)
        raise AssertionError("it has not happened")

    def pass_ms(self, ms: int) -> None:
        """Let time pass."""
        self._cluster.advance(ms)

    def until_done(self, reader: Reader, count: int) -> None:
        """Let time pass until the program has worked on this number of records."""
        self.wait_for(lambda: len(reader.done) >= count)

    def kill(self, reader: Reader) -> None:
        """End the program as kill -9 does."""
        self._cluster.loop.kill(reader.process)
        self._cluster.network.process_died(reader.process)

    def close(self, reader: Reader) -> None:
        """Let the program close its consumer and end."""
        reader.closing = True
        self._cluster.advance(SETTLE_MS)

    def commit(self, topic: str, offset: int) -> None:
        """Commit an offset of the group, which has no member."""

        async def whole() -> None:
            async with self._consumer(topic, {}) as consumer:
                tp = TopicPartition(topic, 0)
                consumer.assign([tp])
                await consumer.commit({tp: OffsetAndMetadata(offset)})

        self._cluster.run_as(SimProcess("committer"), whole(), LIMIT_MS)

    def read_on(
        self, topic: str, more: int = 0, config: Mapping[str, object] | None = None
    ) -> Reader:
        """Let consumer B read all records. `more` records are sent after B has its partition."""
        reader = self.begin(topic, config or {})
        self.wait_for(lambda: reader.has_partitions)
        self._cluster.advance(SETTLE_MS)
        if more:
            self.send(topic, more)
        self._cluster.advance(SETTLE_MS)
        self.close(reader)
        return reader

    def end(self) -> None:
        """End the cluster."""
        self._cluster.close()


def _again(a: Reader, b: Reader) -> int:
    return len({*a.returned} & {*b.returned})


def _missed(a: Reader, b: Reader, records: int) -> int:
    return len({*range(records)} - {*a.done} - {*b.returned})


@cache
def situations(seed: int) -> tuple[Situation, ...]:
    """Return the ten situations for this seed."""
    random = Random(f"what comes again/{seed}")
    makers = (
        *(_kill, _close, _in_each, _in_batches, _first_commit, _low, _high, _gone, _latest),
        _rebalance,
    )
    with no_log():
        bench = Bench(seed)
        try:
            return tuple(make_one(random, bench) for make_one in makers)
        finally:
            bench.end()


def _auto(random: Random) -> tuple[dict[str, object], int, int]:
    """Return the settings of an automatic commit, the work on a record in ms, and how many records
    are done between two commits.
    """
    work_ms = random.choice((60, 80, 130, 150, 160, 170))
    config: dict[str, object] = {
        "enable.auto.commit": True,
        "auto.commit.interval.ms": 1_000,
        "max.poll.records": 1,
    }
    return config, work_ms, -(-1_000 // work_ms)


def _auto_words(work_ms: int, done: int) -> str:
    return (
        "enable.auto.commit is true, auto.commit.interval.ms 1000, and max.poll.records 1. A's"
        f" program works {work_ms} ms on each record. It has ended its work on {done} records, and"
        " works on the next one, when it"
    )


def _kill(random: Random, bench: Bench) -> Situation:
    """Return the question about an automatic commit and kill -9."""
    config, work_ms, between = _auto(random)
    done = between * random.randint(1, 3) + random.randint(1, between - 2)
    topic = bench.topic()
    bench.send(topic, 100)
    a = bench.begin(topic, config, work_ms=work_ms)
    bench.until_done(a, done)
    bench.kill(a)
    b = bench.read_on(topic)
    return Situation(
        "kill",
        f"100 records. {_auto_words(work_ms, done)} is ended by kill -9. How many records come"
        " again?",
        _again(a, b),
        f"a commit is sent in the first poll() after 1000 ms, so after each {between} records; the"
        " record in work comes again too",
    )


def _close(random: Random, bench: Bench) -> Situation:
    """Return the question about an automatic commit and close()."""
    config, work_ms, between = _auto(random)
    done = between * random.randint(1, 3) + random.randint(1, between - 2)
    topic = bench.topic()
    bench.send(topic, 100)
    a = bench.begin(topic, config, work_ms=work_ms)
    bench.until_done(a, done)
    bench.close(a)
    b = bench.read_on(topic)
    return Situation(
        "close",
        f"100 records. {_auto_words(work_ms, done)} is asked to end. It ends its work on this"
        " record, and calls close(). How many records come again?",
        _again(a, b),
        "with enable.auto.commit, close() commits all that poll() has returned",
    )


def _in_each(random: Random, bench: Bench) -> Situation:
    """Return the question about a commit after each record."""
    most, done = random.randint(5, 20), random.randint(21, 40)
    topic = bench.topic()
    bench.send(topic, 60)
    a = bench.begin(topic, {"max.poll.records": most}, _each, work_ms=40)
    bench.until_done(a, done)
    bench.pass_ms(20)
    bench.kill(a)
    b = bench.read_on(topic)
    return Situation(
        "each",
        f"60 records. max.poll.records is {most}. A's program commits after each record. It has"
        f" ended its work on {done} records and committed that, and works on the next one, when it"
        " is ended by kill -9. How many of the records on which it has ended its work come again?",
        len({*a.done} & {*b.returned}),
        "all that is done is committed; only the record in work comes again, and it is not done",
    )


def _in_batches(random: Random, bench: Bench) -> Situation:
    """Return the question about a commit after all records of a poll()."""
    most, batches = random.randint(8, 20), random.randint(1, 3)
    done = batches * most + random.randint(2, most - 2)
    topic = bench.topic()
    bench.send(topic, 100)
    a = bench.begin(topic, {"max.poll.records": most}, _batch, work_ms=40)
    bench.until_done(a, done)
    bench.kill(a)
    b = bench.read_on(topic)
    return Situation(
        "batch",
        f"100 records. max.poll.records is {most}. A's program works on all records of a poll(),"
        f" and then calls commit(). It has ended its work on {done} records, when it is ended by"
        " kill -9. How many records come again?",
        _again(a, b),
        f"the last commit is {batches * most}; all {most} records of the last poll() come again,"
        " also those that A has not begun",
    )


def _first_commit(random: Random, bench: Bench) -> Situation:
    """Return the question about a commit before the work."""
    most, batches = random.randint(8, 20), random.randint(1, 3)
    done = batches * most + random.randint(2, most - 2)
    topic = bench.topic()
    bench.send(topic, 100)
    a = bench.begin(topic, {"max.poll.records": most}, _before, work_ms=40)
    bench.until_done(a, done)
    bench.kill(a)
    b = bench.read_on(topic)
    return Situation(
        "before",
        f"100 records. max.poll.records is {most}. A's program calls commit() first, and then works"
        f" on all records of the poll(). It has ended its work on {done} records, when it is ended"
        " by kill -9. How many records are missed?",
        _missed(a, b, 100),
        f"{(batches + 1) * most} is committed already, so B begins there",
    )


def _read_all(random: Random, bench: Bench) -> tuple[str, Reader, int]:
    """Let consumer A read a topic to its end, without a commit."""
    records = random.randint(15, 40)
    topic = bench.topic()
    bench.send(topic, records)
    a = bench.begin(topic, {})
    bench.until_done(a, records)
    bench.close(a)
    return topic, a, records


def _low(random: Random, bench: Bench) -> Situation:
    """Return the question about a commit below the program's progress."""
    topic, a, records = _read_all(random, bench)
    committed = records - random.randint(3, 12)
    more = random.randint(5, 20)
    bench.commit(topic, committed)
    b = bench.read_on(topic, more)
    return Situation(
        "low",
        f"A has worked on all {records} records, and its last commit is the offset {committed}. B"
        f" begins, and {more} more records are stored. How many records come again?",
        _again(a, b),
        f"{committed} is the offset of the next record to read",
    )


def _high(random: Random, bench: Bench) -> Situation:
    """Return the question about a commit above the program's progress."""
    topic, a, records = _read_all(random, bench)
    beyond = random.randint(3, 9)
    more = beyond + random.randint(5, 20)
    bench.commit(topic, records + beyond)
    bench.send(topic, more)
    b = bench.read_on(topic)
    return Situation(
        "high",
        f"A has worked on all {records} records, and by mistake it commits the offset"
        f" {records + beyond}. Then {more} more records are stored, and B begins. How many records"
        " are missed?",
        _missed(a, b, records + more),
        f"B begins at {records + beyond}, and nobody has had those from {records} on",
    )


def _gone(random: Random, bench: Bench) -> Situation:
    """Return the question about an offset that is out of range."""
    topic, a, records = _read_all(random, bench)
    more = random.randint(15, 30)
    start = records + random.randint(3, 12)
    bench.commit(topic, records)
    bench.send(topic, more)
    bench.delete_before(topic, start)
    b = bench.read_on(topic)
    return Situation(
        "gone",
        f"A has worked on all {records} records, and has committed that. While no consumer runs,"
        f" {more} more records are stored, and retention deletes all records before offset {start}."
        " Then B begins. How many records are missed?",
        _missed(a, b, records + more),
        f"the committed offset {records} is out of range, and earliest is {start} now",
    )


def _latest(random: Random, bench: Bench) -> Situation:
    """Return the question about auto.offset.reset latest without a commit."""
    records, unseen, more = (random.randint(5, 30) for _ in range(3))
    topic = bench.topic()
    a = bench.begin(topic, {"auto.offset.reset": "latest"})
    bench.wait_for(lambda: a.has_partitions)
    bench.pass_ms(SETTLE_MS)
    bench.send(topic, records)
    bench.until_done(a, records)
    bench.close(a)
    bench.send(topic, unseen)
    b = bench.read_on(topic, more, {"auto.offset.reset": "latest"})
    return Situation(
        "latest",
        "auto.offset.reset is latest, and the topic is empty when A begins. A works on"
        f" {records} records, and ends without a commit. Then {unseen} records are stored. B"
        f" begins, and a little later {more} more are stored. How many records are missed?",
        _missed(a, b, records + unseen + more),
        "nothing is committed, so B begins at the end of the log, and what came meanwhile is before"
        " it",
    )


def _rebalance(random: Random, bench: Bench) -> Situation:
    """Return the question about a member that joins between two automatic commits."""
    config, work_ms, between = _auto(random)
    done = between * random.randint(1, 2) + random.randint(2, between - 3)
    topic = bench.topic()
    bench.send(topic, 200)
    a = bench.begin(topic, config, work_ms=work_ms)
    bench.until_done(a, done)
    b = bench.begin(topic, config, work_ms=work_ms)
    bench.wait_for(lambda: b.has_partitions)
    bench.pass_ms(SETTLE_MS)
    bench.close(a)
    bench.wait_for(lambda: len(b.returned) > 0)
    bench.pass_ms(SETTLE_MS)
    bench.close(b)
    return Situation(
        "rebalance",
        f"200 records. {_auto_words(work_ms, done)} meets a rebalance: B joins the group. Both go"
        " on for some seconds. Then A calls close(), and B reads on. How many records come again?",
        _again(a, b),
        "poll() commits before it gives partitions up, and close() commits too",
    )


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    texts = [
        f"## {number}. `{one.name}`\n\n{one.words}"
        for number, one in enumerate(situations(seed), 1)
    ]
    return {"questions.md": QUESTIONS.format(situations="\n\n".join(texts))}
