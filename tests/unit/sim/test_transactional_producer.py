"""Our whole transactional producer on a simulated cluster, in virtual time, with faults."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence

import pytest

from kafka_edu.clients.client_errors import (
    ClientException,
    IllegalStateException,
    ProducerClosedException,
    ProducerFencedException,
    TimeoutException,
    TransactionAbortedException,
)
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.group_offsets import CommitFailedException
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.clients.producer.sender import Sender
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import FIRST_PORT, SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.event import CLIENT
from kafka_edu.trace.events.producer import (
    OffsetsAddedToTransaction,
    PartitionsAddedToTransaction,
    ProducerStateChanged,
)
from kafka_edu.trace.events.transaction import TransactionStateChanged
from kafka_edu.trace.tracer import Tracer

IN, OUT = "in", "out"
PARTITIONS = 2
PROPERTIES = {
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "replica.lag.time.max.ms": "5000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "5000",
}


class Bench:
    """A simulated cluster with two topics, and one process for clients."""

    def __init__(self, seed: int = 7) -> None:
        self.cluster = SimCluster(seed, properties=PROPERTIES)
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        self.process = SimProcess("clients")
        for topic in (IN, OUT):
            made = self.cluster.run_as(
                self.client.process, self.client.create_topic(topic, PARTITIONS, 3)
            )
            assert made is Errors.NONE
        self.cluster.advance(1_000)
        self.trace = Tracer(CLIENT, self.cluster.time)
        self.trace.add_sink(self.cluster.sink)
        self._made = 0

    def _settings(self, settings: Mapping[str, object]) -> dict[str, object]:
        servers = ",".join(f"127.0.0.1:{FIRST_PORT + b}" for b in self.cluster.brokers)
        return {"bootstrap.servers": servers} | dict(settings)

    def producer(self, settings: Mapping[str, object] | None = None) -> Producer:
        self._made += 1
        return Producer(
            self._settings(
                {"client.id": f"p{self._made}", "transactional.id": "x"} | dict(settings or {})
            ),
            transport=self.cluster.network.transport(),
            time=self.cluster.time,
            trace=self.trace,
            chance=random.Random(self._made),
        )

    def consumer(self, settings: Mapping[str, object] | None = None) -> Consumer:
        self._made += 1
        given = {
            "client.id": f"c{self._made}",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "group.id": "g",
        }
        return Consumer(
            self._settings(given | dict(settings or {})),
            transport=self.cluster.network.transport(),
            time=self.cluster.time,
            trace=self.trace,
            chance=random.Random(self._made),
        )

    def run(self, body: Coroutine[object, object, None], limit_ms: float = 300_000) -> None:
        self.cluster.run_as(self.process, body, limit_ms)

    def run_with(
        self,
        body: Callable[[Producer], Awaitable[None]],
        settings: Mapping[str, object] | None = None,
    ) -> None:
        async def whole() -> None:
            async with self.producer(settings) as producer:
                await producer.init_transactions()
                await body(producer)

        self.run(whole())

    def committed(self, topic: str = OUT) -> list[list[str]]:
        """Return the values that a read_committed consumer reads of each partition, to the log's
        end.
        """
        found: list[list[str]] = []

        async def read() -> None:
            for partition in range(PARTITIONS):
                tp = TopicPartition(topic, partition)
                values: list[str] = []
                async with self.consumer({"group.id": ""}) as consumer:
                    consumer.assign([tp])
                    # With read_committed, this is the last stable offset.
                    [end] = (await consumer.end_offsets([tp])).values()
                    while await consumer.position(tp) < end:
                        values += [_text(each.value) for each in await consumer.poll(1_000)]
                found.append(values)

        self.run(read())
        return found

    def states(self) -> list[str]:
        return [
            each.event.after
            for each in self.cluster.facts(ProducerStateChanged)
            if isinstance(each.event, ProducerStateChanged)
        ]


def _text(value: object) -> str:
    assert isinstance(value, bytes)
    return value.decode()


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.cluster.close()


async def write(producer: Producer, name: str) -> None:
    for partition in range(PARTITIONS):
        await producer.send(OUT, name, partition=partition)


async def fails(producer: Producer) -> None:
    async with producer.transaction():
        await write(producer, "c")
        raise RuntimeError("a bug of the program")


def test_a_transaction_is_read_when_it_is_committed_and_never_when_it_is_aborted(
    bench: Bench,
) -> None:
    async def body(producer: Producer) -> None:
        async with producer.transaction():
            await write(producer, "a")
        producer.begin_transaction()
        await write(producer, "b")
        await producer.flush()
        await producer.abort_transaction()
        with pytest.raises(RuntimeError, match="a bug of the program"):
            await fails(producer)
        async with producer.transaction():
            pass  # nothing to tell the coordinator
        async with producer.transaction():
            await write(producer, "d")

    bench.run_with(body)
    assert bench.committed() == [["a", "d"]] * PARTITIONS
    assert bench.states() == [
        "INITIALIZING",
        "READY",
        *("IN_TRANSACTION", "COMMITTING_TRANSACTION", "READY"),
        *("IN_TRANSACTION", "ABORTING_TRANSACTION", "READY"),
        *("IN_TRANSACTION", "ABORTING_TRANSACTION", "READY"),
        *("IN_TRANSACTION", "COMMITTING_TRANSACTION", "READY"),
        *("IN_TRANSACTION", "COMMITTING_TRANSACTION", "READY"),
    ]
    added = [
        tuple(sorted(each.event.partitions))
        for each in bench.cluster.facts(PartitionsAddedToTransaction)
        if isinstance(each.event, PartitionsAddedToTransaction)
    ]
    assert (f"{OUT}-0", f"{OUT}-1") in added or (f"{OUT}-0",) in added


def test_an_abort_gives_up_what_was_not_sent(bench: Bench) -> None:
    async def body(producer: Producer) -> None:
        producer.begin_transaction()
        lingers = await producer.send(OUT, b"lingers", partition=0)
        await producer.abort_transaction()
        assert isinstance(lingers.exception(), TransactionAbortedException)
        async with producer.transaction():  # a commit does not wait for linger.ms
            stored = await producer.send(OUT, b"stored", partition=0)
        assert stored.done()

    began = bench.cluster.time.milliseconds()
    bench.run_with(body, {"linger.ms": 100_000, "delivery.timeout.ms": 200_000})
    assert bench.cluster.time.milliseconds() - began < 50_000
    assert bench.committed()[0] == ["stored"]


def test_calls_in_the_wrong_order_say_what_to_do(bench: Bench) -> None:
    async def body() -> None:
        async with bench.producer() as producer:
            with pytest.raises(IllegalStateException, match=r"Await init_transactions\(\) first"):
                producer.begin_transaction()
            await producer.init_transactions()
            with pytest.raises(IllegalStateException, match=r"Call begin_transaction\(\) first"):
                await producer.send(OUT, b"v")
            producer.begin_transaction()
            with pytest.raises(IllegalStateException, match="Commit or abort the open transaction"):
                producer.begin_transaction()
            await producer.abort_transaction()
        async with bench.producer({"transactional.id": ""}) as plain:
            with pytest.raises(IllegalStateException, match=r"Set transactional\.id"):
                await plain.init_transactions()

    bench.run(body())


def test_a_newer_producer_fences_an_older_one(bench: Bench) -> None:
    async def body() -> None:
        async with bench.producer() as zombie, bench.producer() as newer:
            await zombie.init_transactions()
            zombie.begin_transaction()
            await write(zombie, "zombie")
            await zombie.flush()
            await newer.init_transactions()
            with pytest.raises(ProducerFencedException) as fenced:
                await zombie.commit_transaction()
            assert str(fenced.value) == (
                "PRODUCER_FENCED: Another producer with the transactional id x has started, or the"
                " transaction was open for longer than transaction.timeout.ms. Close this"
                " producer. Only the newest one may go on."
            )
            with pytest.raises(ProducerFencedException):
                await zombie.abort_transaction()
            async with newer.transaction():
                await write(newer, "newer")

    bench.run(body())
    assert bench.committed() == [["newer"]] * PARTITIONS


def test_a_zombie_that_sends_is_refused_by_the_partition_and_then_fenced(bench: Bench) -> None:
    async def body() -> None:
        async with bench.producer() as zombie, bench.producer() as newer:
            await zombie.init_transactions()
            zombie.begin_transaction()
            await write(zombie, "zombie")
            await zombie.flush()
            await newer.init_transactions()
            async with newer.transaction():
                await write(newer, "newer")
            late = await zombie.send(OUT, b"late", partition=0)
            with pytest.raises(ClientException) as refused:
                await late
            assert refused.value.error is Errors.INVALID_PRODUCER_EPOCH
            with pytest.raises(ClientException):
                await zombie.commit_transaction()
            with pytest.raises(ProducerFencedException):
                await zombie.abort_transaction()

    bench.run(body())
    assert bench.committed() == [["newer"]] * PARTITIONS


def test_a_transaction_that_lasts_too_long_is_aborted_by_its_coordinator(bench: Bench) -> None:
    async def body(producer: Producer) -> None:
        producer.begin_transaction()
        await write(producer, "late")
        await producer.flush()
        await asyncio.sleep(30)
        with pytest.raises(ProducerFencedException):
            await producer.commit_transaction()

    bench.run_with(body, {"transaction.timeout.ms": 10_000})
    assert bench.committed() == [[]] * PARTITIONS


def test_close_aborts_the_open_transaction_at_once(bench: Bench) -> None:
    async def body(producer: Producer) -> None:
        producer.begin_transaction()
        await write(producer, "open")
        await producer.flush()

    bench.run_with(body)
    after = [
        each.event.after
        for each in bench.cluster.facts(TransactionStateChanged)
        if isinstance(each.event, TransactionStateChanged)
    ]
    assert after[-1] in ("PrepareAbort", "CompleteAbort")
    assert bench.committed() == [[]] * PARTITIONS


def test_an_expired_record_aborts_the_transaction_and_raises_the_epoch(bench: Bench) -> None:
    settings = {"request.timeout.ms": 1_000, "delivery.timeout.ms": 2_000, "max.block.ms": 60_000}

    async def body(producer: Producer) -> None:
        async with producer.transaction():
            await write(producer, "first")
        producer.begin_transaction()
        await write(producer, "sent")
        await producer.flush()
        for broker in bench.cluster.brokers:
            bench.cluster.pause(broker)
        lost = await producer.send(OUT, b"lost", partition=0)
        with pytest.raises(TimeoutException):
            await lost
        for broker in bench.cluster.brokers:
            bench.cluster.resume(broker)
        with pytest.raises(ClientException):
            await producer.commit_transaction()
        await producer.abort_transaction()
        async with producer.transaction():
            await write(producer, "next")

    bench.run_with(body, settings)
    bench.cluster.advance(5_000)
    assert bench.committed() == [["first", "next"]] * PARTITIONS
    assert "INITIALIZING" in bench.states()[bench.states().index("ABORTING_TRANSACTION") :]


def test_offsets_belong_to_the_transaction_and_a_removed_member_is_refused(bench: Bench) -> None:
    tp = TopicPartition(IN, 0)

    async def body(producer: Producer) -> None:
        async with bench.producer({"transactional.id": "", "acks": "all"}) as plain:
            for number in range(4):
                await (await plain.send(IN, f"{number}", partition=0))
        async with bench.consumer() as consumer:
            consumer.subscribe([IN])
            read = 0
            while read < 4:
                read += len(await consumer.poll(1_000))
            for offset, commit in ((1, True), (2, False), (3, True)):
                producer.begin_transaction()
                await producer.send(OUT, f"{offset}", partition=0)
                await producer.send_offsets_to_transaction(
                    {tp: OffsetAndMetadata(offset, "m")}, consumer.group_metadata()
                )
                if commit:
                    await producer.commit_transaction()
                else:
                    await producer.abort_transaction()
                found = await consumer.committed([tp])
                assert (found[tp].offset, found[tp].metadata) == (3 if offset == 3 else 1, "m")
            stale = consumer.group_metadata()._replace(generation_id=77)
            producer.begin_transaction()
            with pytest.raises(CommitFailedException):
                await producer.send_offsets_to_transaction({tp: OffsetAndMetadata(4)}, stale)
            with pytest.raises(CommitFailedException):
                await producer.commit_transaction()
            await producer.abort_transaction()
            async with producer.transaction():  # only by the group's name
                await producer.send_offsets_to_transaction({tp: OffsetAndMetadata(4)}, "other")
            assert (await consumer.committed([tp]))[tp].offset == 3

    bench.run_with(body)
    assert bench.committed()[0] == ["1", "3"]
    assert len(bench.cluster.facts(OffsetsAddedToTransaction)) == 4


def test_a_record_that_send_cannot_take_forbids_the_commit(bench: Bench) -> None:
    async def body(producer: Producer) -> None:
        producer.begin_transaction()
        await write(producer, "whole")
        lost = await producer.send("nothing", b"v")
        assert isinstance(lost.exception(), TimeoutException)
        with pytest.raises(TimeoutException, match="Topic nothing not present in metadata"):
            await producer.commit_transaction()
        await producer.abort_transaction()
        async with producer.transaction():
            await write(producer, "next")

    bench.run_with(body, {"max.block.ms": 2_000})
    assert bench.committed() == [["next"]] * PARTITIONS


def everywhere(bench: Bench, act: Callable[[int], None]) -> None:
    for broker in bench.cluster.brokers:
        act(broker)


def test_a_record_that_waited_is_refused_if_its_transaction_has_ended_meanwhile(
    bench: Bench,
) -> None:
    async def body(producer: Producer) -> None:
        producer.begin_transaction()
        for_metadata = asyncio.create_task(producer.send(OUT, b"a", partition=0))
        await asyncio.sleep(0)
        await producer.abort_transaction()
        assert not for_metadata.done()
        assert isinstance((await for_metadata).exception(), IllegalStateException)
        producer.begin_transaction()
        full = await producer.send(OUT, b"b", partition=0)
        for_memory = asyncio.create_task(producer.send(OUT, b"c", partition=1))
        await asyncio.sleep(0)
        await producer.abort_transaction()
        assert isinstance(full.exception(), TransactionAbortedException)
        assert isinstance((await for_memory).exception(), IllegalStateException)

    bench.run_with(body, {"linger.ms": 1_000, "batch.size": 16_384, "buffer.memory": 16_384})
    assert bench.committed() == [[], []]


def test_a_commit_that_timed_out_is_awaited_again(bench: Bench) -> None:
    async def body(producer: Producer) -> None:
        producer.begin_transaction()
        await write(producer, "a")
        await producer.flush()
        everywhere(bench, bench.cluster.pause)
        with pytest.raises(TimeoutException, match=r"Then await commit_transaction\(\) again"):
            await producer.commit_transaction()
        with pytest.raises(IllegalStateException, match=r"Await commit_transaction\(\) until"):
            await producer.abort_transaction()
        everywhere(bench, bench.cluster.resume)
        await producer.commit_transaction()
        async with producer.transaction():
            await write(producer, "b")

    bench.run_with(body, {"max.block.ms": 1_000})
    assert bench.committed() == [["a", "b"]] * PARTITIONS


def test_init_transactions_that_timed_out_is_awaited_again(bench: Bench) -> None:
    async def body() -> None:
        async with bench.producer({"max.block.ms": 1_000}) as producer:
            everywhere(bench, bench.cluster.pause)
            with pytest.raises(TimeoutException, match=r"Then await init_transactions\(\) again"):
                await producer.init_transactions()
            everywhere(bench, bench.cluster.resume)
            await producer.init_transactions()
            async with producer.transaction():
                await write(producer, "a")

    bench.run(body())
    assert bench.committed() == [["a"]] * PARTITIONS


def test_a_commit_that_is_cancelled_is_ended_by_close(bench: Bench) -> None:
    """Ctrl-C during a commit: the records were acknowledged, so the commit goes on."""

    async def body(producer: Producer) -> None:
        producer.begin_transaction()
        await write(producer, "a")
        await producer.flush()
        committing = asyncio.ensure_future(producer.commit_transaction())
        await asyncio.sleep(0)
        committing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await committing

    bench.run_with(body)
    assert bench.committed() == [["a"]] * PARTITIONS


def test_close_without_brokers_ends_and_the_coordinator_aborts(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(producer: Producer) -> None:
        async with producer.transaction():
            await write(producer, "committed")
        producer.begin_transaction()
        await write(producer, "open")
        await producer.flush()
        everywhere(bench, bench.cluster.pause)

    bench.run_with(body, {"max.block.ms": 3_000, "transaction.timeout.ms": 10_000})
    [line] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert line.startswith("The producer closes with an open transaction. The coordinator aborts")
    everywhere(bench, bench.cluster.resume)
    bench.cluster.advance(60_000)
    assert bench.committed() == [["committed"]] * PARTITIONS


def test_a_bug_ends_the_calls_that_wait(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(sender: Sender, now: float) -> bool:
        raise RuntimeError("a bug of the producer")

    async def body(producer: Producer) -> None:
        producer.begin_transaction()
        await write(producer, "a")
        await producer.flush()
        everywhere(bench, bench.cluster.pause)
        began = bench.cluster.time.milliseconds()
        committing = asyncio.ensure_future(producer.commit_transaction())
        await asyncio.sleep(1)
        monkeypatch.setattr(Sender, "run", bug)
        producer._wake()  # as an answer would
        with pytest.raises(ProducerClosedException, match=r"closed during commit_transaction\(\)"):
            await committing
        assert bench.cluster.time.milliseconds() - began < 2_000
        everywhere(bench, bench.cluster.resume)

    bench.run_with(body)


def test_a_block_that_fails_keeps_its_own_error_if_the_abort_fails_too(bench: Bench) -> None:
    async def body() -> None:
        async with bench.producer() as zombie, bench.producer() as newer:
            await zombie.init_transactions()
            transaction = zombie.transaction()
            await transaction.__aenter__()
            await write(zombie, "zombie")
            await zombie.flush()
            await newer.init_transactions()
            bug = RuntimeError("a bug of the program")
            assert not await transaction.__aexit__(RuntimeError, bug, None)  # it goes on
            [note] = bug.__notes__
            assert note.startswith("The transaction could not be aborted: PRODUCER_FENCED: ")

    bench.run(body())


class Faults:
    """Kills, pauses and cuts brokers at random from a seed, until the client's task ends."""

    def __init__(
        self, bench: Bench, seed: int, kinds: Sequence[str] = ("kill", "kill", "pause", "cut")
    ) -> None:
        self._bench = bench
        self._kinds = kinds
        self._chance = random.Random(seed)
        self._down: list[int] = []
        self.kills = 0

    async def _do(self) -> None:
        cluster, chance = self._bench.cluster, self._chance
        for _ in range(6):
            await asyncio.sleep(chance.uniform(2, 6))
            victim = chance.choice(list(cluster.brokers))
            match chance.choice(self._kinds):
                case "kill":
                    self._down.append(victim)
                case "pause":
                    cluster.pause(victim)
                    await asyncio.sleep(chance.uniform(1, 4))
                    cluster.resume(victim)
                case _:
                    process = cluster.brokers[victim].process
                    cluster.network.cut(self._bench.process, process)
                    await asyncio.sleep(chance.uniform(1, 12))
                    cluster.network.mend(self._bench.process, process)

    def run(self, body: Coroutine[object, object, None]) -> None:
        cluster = self._bench.cluster
        task = cluster.loop.spawn(self._bench.process, body)
        cluster.loop.spawn(SimProcess("faults"), self._do())
        for _ in range(20_000):
            if task.done():
                break
            cluster.advance(100)
            if self._down:
                victim = self._down.pop()
                cluster.kill(victim)
                self.kills += 1
                cluster.advance(12_000)
                cluster.start(victim)
        assert task.done()
        task.result()
        cluster.advance(30_000)


SETTINGS: dict[str, object] = {
    "batch.size": 60,
    "request.timeout.ms": 3_000,
    "delivery.timeout.ms": 20_000,
    "transaction.timeout.ms": 60_000,
    "max.block.ms": 120_000,
}
#: Records expire, commits time out, and coordinators abort transactions that last too long.
HASTY: dict[str, object] = SETTINGS | {
    "delivery.timeout.ms": 3_500,
    "transaction.timeout.ms": 6_000,
    "max.block.ms": 5_000,
}


@pytest.mark.parametrize("settings", [SETTINGS, HASTY], ids=["patient", "hasty"])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.faults) for n in range(1, 8))]
)
def test_with_faults_each_transaction_is_there_whole_or_not_at_all(
    seed: int, settings: Mapping[str, object]
) -> None:
    """Coordinators move, leaders die, and answers are lost."""
    bench = Bench(seed)
    chance = random.Random(seed)
    ended: dict[int, str] = {}

    async def one(producer: Producer, number: int) -> None:
        commit = number % 4 != 3
        producer.begin_transaction()
        try:
            for part in range(4):
                await producer.send(OUT, f"{number}.{part}", partition=part % PARTITIONS)
                await asyncio.sleep(chance.uniform(0, 0.4))
            if commit:
                ended[number] = "unknown"
                await producer.commit_transaction()
                ended[number] = "committed"
            else:
                await producer.abort_transaction()
        except TimeoutException as error:
            if "awaiting commit_transaction" in str(error):
                raise  # nobody knows; close() ends the commit
            ended[number] = "aborted"
            await producer.abort_transaction()
        except KafkaException:
            ended[number] = "aborted"
            await producer.abort_transaction()

    async def body() -> None:
        number = 0
        while number < 40:
            async with bench.producer(settings) as producer:
                try:
                    await producer.init_transactions()
                    while number < 40:
                        number += 1
                        await one(producer, number)
                except KafkaException:
                    continue  # fenced: a new producer goes on

    # A record that has expired may still wait in a paused broker. If that broker appends it after
    # the abort, the next commit makes it visible. This is a gap in the protocol, which KIP-890
    # closes. So the brokers of a hasty producer are only killed.
    Faults(bench, seed, ("kill",) if settings is HASTY else ("kill", "kill", "pause", "cut")).run(
        body()
    )
    stored = bench.committed()
    found = {int(value.partition(".")[0]) for values in stored for value in values}
    kept = [
        number
        for number, end in sorted(ended.items())
        if end == "committed" or (end == "unknown" and number in found)
    ]
    assert stored == [
        [f"{number}.{part}" for number in kept for part in range(partition, 4, PARTITIONS)]
        for partition in range(PARTITIONS)
    ]
    assert sum(end == "committed" for end in ended.values()) >= 15
    if settings is SETTINGS:
        assert "unknown" not in ended.values()
    bench.cluster.close()


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.faults) for n in range(1, 8))]
)
def test_with_faults_read_process_write_handles_each_record_once(seed: int) -> None:
    bench = Bench(seed)
    count = 60

    async def feed() -> None:
        async with bench.producer({"transactional.id": "", "enable.idempotence": True}) as plain:
            for number in range(count):
                await (await plain.send(IN, f"{number}", partition=number % PARTITIONS))

    bench.run(feed())
    tps = [TopicPartition(IN, partition) for partition in range(PARTITIONS)]

    async def rounds(producer: Producer, consumer: Consumer) -> bool:
        """Process records until all are committed. Return False if the transaction was aborted."""
        while True:
            committed = await consumer.committed(tps)
            if sum(each.offset for each in committed.values()) == count:
                return True
            records = await consumer.poll(1_000)
            if not records:
                continue
            ends = {TopicPartition(IN, r.partition): r.offset + 1 for r in records}
            try:
                async with producer.transaction():
                    for record in records:
                        text = _text(record.value)
                        await producer.send(OUT, text, partition=record.partition)
                    await producer.send_offsets_to_transaction(
                        {tp: OffsetAndMetadata(offset) for tp, offset in ends.items()},
                        consumer.group_metadata(),
                    )
            except KafkaException:
                return False

    async def body() -> None:
        done = False
        while not done:
            settings = {"request.timeout.ms": 3_000, "max.poll.records": 5}
            async with bench.consumer(settings) as consumer:
                consumer.subscribe([IN])
                async with bench.producer(SETTINGS) as producer:
                    try:
                        await producer.init_transactions()
                        done = await rounds(producer, consumer)
                    except KafkaException:
                        continue

    Faults(bench, seed).run(body())
    stored = bench.committed()
    assert stored == [[str(n) for n in range(p, count, PARTITIONS)] for p in range(PARTITIONS)]
    bench.cluster.close()
