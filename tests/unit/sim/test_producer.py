"""Our whole producer on a simulated cluster, in virtual time, with faults."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping

import pytest

from kafka_edu.clients.client_errors import (
    BufferExhaustedException,
    InvalidPartitionException,
    ProducerClosedException,
    RecordTooLargeException,
    SerializationException,
    TimeoutException,
)
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.clients.producer.producer_batch import RecordMetadata
from kafka_edu.clients.producer.producer_config import ProducerRecord
from kafka_edu.clients.producer.sender import Sender
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import FIRST_PORT, SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.event import CLIENT, Event, Level
from kafka_edu.trace.events.network import ConnectionClosed, RequestReceived, ResponseSent
from kafka_edu.trace.events.producer import (
    BatchAcknowledged,
    BatchDrained,
    ClientClosed,
    ClientRequestSent,
    ClientResponseReceived,
    ProducerSampled,
    ProducerSnapshot,
    RecordAccumulated,
)
from kafka_edu.trace.reader import History
from kafka_edu.trace.tracer import Tracer

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
TOPICS = {"t": 2}


class Bench:
    """A simulated cluster with topic t, and one process for producers."""

    def __init__(self, seed: int = 7, level: Level = Level.STATE, brokers: int = 3) -> None:
        self.cluster = SimCluster(
            seed,
            broker_ids=tuple(range(1, brokers + 1)),
            properties={"auto.create.topics.enable": "false"},
            level=level,
        )
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        self.process = SimProcess("producer")
        made = self.cluster.run_as(
            self.client.process, self.client.create_topic("t", 2, min(3, brokers))
        )
        assert made is Errors.NONE
        self.cluster.advance(1_000)
        self.trace = Tracer(CLIENT, self.cluster.time)
        self.trace.add_sink(self.cluster.sink)

    def producer(self, settings: Mapping[str, object] | None = None) -> Producer:
        servers = ",".join(f"127.0.0.1:{FIRST_PORT + b}" for b in self.cluster.brokers)
        return Producer(
            {"bootstrap.servers": servers, "client.id": "p"} | dict(settings or {}),
            transport=self.cluster.network.transport(),
            time=self.cluster.time,
            trace=self.trace,
            chance=random.Random(3),
        )

    def run(
        self,
        body: Callable[[Producer], Awaitable[None]],
        settings: Mapping[str, object] | None = None,
        limit_ms: float = 300_000,
    ) -> None:
        async def whole() -> None:
            async with self.producer(settings) as producer:
                await body(producer)

        self.cluster.run_as(self.process, whole(), limit_ms)

    def stored(self, tp: TopicPartition) -> list[str]:
        found = self.cluster.run_as(self.client.process, self.client.consume(tp))
        return [value for _, value in found]


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.cluster.close()


def test_records_are_acknowledged_where_they_are_stored(bench: Bench) -> None:
    async def body(producer: Producer) -> None:
        futures = [await producer.send("t", f"v{n}", partition=n % 2) for n in range(10)]
        for number, future in enumerate(futures):
            found = await future
            assert (found.partition, found.offset) == (number % 2, number // 2)
            assert future.done()
            assert future.result() == found
            assert (found.serialized_key_size, found.serialized_value_size) == (-1, 2)

    bench.run(body, {"acks": "all"})
    assert bench.stored(T0) == ["v0", "v2", "v4", "v6", "v8"]
    assert bench.stored(T1) == ["v1", "v3", "v5", "v7", "v9"]


def test_callbacks_come_in_order_and_a_bug_in_one_stops_nothing(bench: Bench) -> None:
    seen: list[tuple[int, KafkaException | None]] = []

    def callback(metadata: RecordMetadata | None, error: KafkaException | None) -> None:
        assert metadata is not None
        seen.append((metadata.offset, error))
        if metadata.offset == 1:
            raise RuntimeError("a bug of the program")

    async def body(producer: Producer) -> None:
        for number in range(4):
            await producer.send("t", b"%d" % number, partition=0, on_delivery=callback)
        await producer.flush()
        assert seen == [(0, None), (1, None), (2, None), (3, None)]

    bench.run(body, {"linger.ms": 1_000_000, "delivery.timeout.ms": 2_000_000})


class Recorder:
    def __init__(self) -> None:
        self.sent: list[ProducerRecord] = []
        self.ended: list[RecordMetadata | KafkaException | None] = []

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        self.sent.append(record)
        return record._replace(value=b"changed")

    def on_acknowledgement(
        self, metadata: RecordMetadata | None, error: KafkaException | None
    ) -> None:
        self.ended.append(metadata or error)


class Broken:
    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        raise RuntimeError("on_send has a bug")

    def on_acknowledgement(
        self, metadata: RecordMetadata | None, error: KafkaException | None
    ) -> None:
        raise RuntimeError("on_acknowledgement has a bug")


def test_interceptors_see_each_record_and_a_bug_in_one_stops_no_record(bench: Bench) -> None:
    recorder = Recorder()

    async def body(producer: Producer) -> None:
        found = await (await producer.send("t", b"v", partition=0))
        assert recorder.ended == [found]
        failed = await producer.send("t", b"v", partition=-1)
        assert recorder.ended[1:] == [failed.exception()]

    bench.run(body, {"interceptor.classes": [Broken(), recorder]})
    assert bench.stored(T0) == ["changed"]
    assert [record.value for record in recorder.sent] == [b"v", b"v"]


def test_an_error_of_kafka_is_in_the_future(bench: Bench) -> None:
    calls: list[KafkaException | None] = []

    async def body(producer: Producer) -> None:
        began = bench.cluster.time.milliseconds()
        missing = await producer.send("nothing", b"v", on_delivery=lambda _, e: calls.append(e))
        assert 500 <= bench.cluster.time.milliseconds() - began <= 600
        assert isinstance(missing.exception(), TimeoutException)
        assert str(missing.exception()).startswith(
            "TimeoutException: Topic nothing not present in metadata after 500 ms."
        )
        with pytest.raises(TimeoutException):
            await missing
        assert calls == [missing.exception()]
        far = await producer.send("t", b"v", partition=7)
        assert "Partition 7 of topic t with partition count 2 is not" in str(far.exception())
        early = await producer.send("t", b"v", timestamp_ms=-1)
        assert str(early.exception()).startswith(
            "InvalidTimestampException: Invalid timestamp: -1. Timestamp should always be"
            " non-negative or null."
        )
        wrong = await producer.send("t/", b"v")
        assert str(wrong.exception()).startswith("INVALID_TOPIC_EXCEPTION: ")
        large = await producer.send("t", b"v" * 2_000_000)
        assert isinstance(large.exception(), RecordTooLargeException)
        with pytest.raises(SerializationException, match="The value is of type int"):
            await producer.send("t", 3)

    bench.run(body, {"max.block.ms": 500})


def test_a_partitioner_that_is_wrong_and_serializers(bench: Bench) -> None:
    async def body(producer: Producer) -> None:
        future = await producer.send("t", 5, key=2)
        assert isinstance(future.exception(), InvalidPartitionException)
        assert (await (await producer.send("t", 6, key=1))).partition == 1

    bench.run(
        body,
        {
            "partitioner.class": lambda topic, key, value, count: int(key),
            "key.serializer": lambda key: str(key).encode(),
            "value.serializer": lambda value: str(value).encode(),
        },
    )
    assert bench.stored(T1) == ["6"]


def test_send_waits_for_memory_at_most_max_block_ms(bench: Bench) -> None:
    settings = {
        "buffer.memory": 1_000,
        "batch.size": 500,
        "max.block.ms": 2_000,
        "linger.ms": 0,
        "retry.backoff.ms": 100,
    }

    async def body(producer: Producer) -> None:
        await (await producer.send("t", b"x" * 400, partition=0))
        for broker in bench.cluster.brokers:
            bench.cluster.pause(broker)
        futures = [await producer.send("t", b"%d" % n * 400, partition=1) for n in range(2)]
        began = bench.cluster.time.milliseconds()
        late = await producer.send("t", b"x" * 400, partition=1)
        assert isinstance(late.exception(), BufferExhaustedException)
        waited = bench.cluster.time.milliseconds() - began
        assert 2_000 <= waited <= 2_100
        waiting = [
            asyncio.ensure_future(producer.send("t", b"y" * 400, partition=1)) for _ in range(3)
        ]
        await asyncio.sleep(0.5)
        for broker in bench.cluster.brokers:
            bench.cluster.resume(broker)
        for future in futures:
            await future
        for each in waiting:
            await (await each)
        await (await producer.send("t", b"z" * 890, partition=1))  # takes the whole memory

    bench.run(body, settings)
    assert [value[0] for value in bench.stored(T1)] == ["0", "1", "y", "y", "y", "z"]


def test_a_record_may_not_be_larger_than_a_request_or_the_memory(bench: Bench) -> None:
    async def body(producer: Producer) -> None:
        await producer.send("t", b"small", partition=0)
        large = await producer.send("t", b"x" * 400, partition=0)  # though its batch has room
        assert "400, which is the value of max.request.size" in str(large.exception())
        fits = await producer.send("t", b"x" * 250, partition=0)
        assert (await fits).offset == 1

    settings = {"max.request.size": 400, "batch.size": 1_000, "linger.ms": 5}
    bench.run(body, settings)

    async def little(producer: Producer) -> None:
        failed = await producer.send("t", b"x" * 90, partition=0)
        assert "buffer.memory is 150" in str(failed.exception())

    bench.run(little, {"buffer.memory": 150, "batch.size": 100})


def test_without_keys_the_batches_go_to_all_partitions(bench: Bench) -> None:
    async def body(producer: Producer) -> None:
        futures = [await producer.send("t", b"x" * 40) for _ in range(12)]
        assert {(await future).partition for future in futures} == {0, 1}

    bench.run(body, {"batch.size": 200, "linger.ms": 5})


def test_close_refuses_more_and_fails_what_has_no_answer(bench: Bench) -> None:
    async def body(producer: Producer) -> None:
        first = await producer.send("t", b"a", partition=0)
        await first
        for broker in bench.cluster.brokers:
            bench.cluster.pause(broker)
        second = await producer.send("t", b"b", partition=0)
        await producer.close(timeout_s=1)
        assert isinstance(second.exception(), ProducerClosedException)
        with pytest.raises(ProducerClosedException, match="Create a new producer"):
            await producer.send("t", b"c")
        for broker in bench.cluster.brokers:
            bench.cluster.resume(broker)

    bench.run(body)


def test_a_bug_fails_every_record_and_closes_the_connections(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(sender: Sender, now: float) -> bool:
        raise RuntimeError("a bug of the producer")

    def closed() -> int:
        return len(bench.cluster.facts(ConnectionClosed))

    async def body(producer: Producer) -> None:
        await (await producer.send("t", b"a", partition=0))
        before = closed()
        waiting = asyncio.ensure_future(producer.send("nothing", b"v"))
        await asyncio.sleep(0.01)
        monkeypatch.setattr(Sender, "run", bug)
        failed = await producer.send("t", b"b", partition=0)
        assert isinstance(failed.exception(), ProducerClosedException)
        await asyncio.sleep(1)
        assert closed() > before
        assert waiting.done()
        assert isinstance((await waiting).exception(), ProducerClosedException)
        with pytest.raises(ProducerClosedException, match="a bug of the producer") as later:
            await producer.send("t", b"c", partition=0)
        assert isinstance(later.value.__cause__, RuntimeError)

    bench.run(body)


def test_a_producer_that_is_not_started_says_so() -> None:
    async def body() -> None:
        producer = Producer({"bootstrap.servers": "127.0.0.1:1"})
        with pytest.raises(ProducerClosedException, match="async with Producer"):
            await producer.send("t", b"v")
        await producer.close()

    asyncio.run(body())


def test_a_records_story_begins_in_send() -> None:
    """The chain of causes of an acknowledgement leads through the broker back to `send`."""
    bench = Bench(level=Level.HOPS)

    async def body(producer: Producer) -> None:
        await producer.send("t", b"first", partition=0)
        await producer.flush()

    bench.run(body, {"acks": "1"})
    history = History(bench.cluster.sink.events)
    [acked] = bench.cluster.facts(BatchAcknowledged)
    kinds = [type(each.event) for each in history.chain(acked)]
    wanted = (
        ClientResponseReceived,
        ResponseSent,
        RequestReceived,
        ClientRequestSent,
        BatchDrained,
        RecordAccumulated,
    )
    places = [kinds.index(kind) for kind in wanted]
    assert places == sorted(places, reverse=True)
    assert kinds[0] is RecordAccumulated
    bench.cluster.close()


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.faults) for n in (2, 3, 4, 5))]
)
def test_with_idempotence_faults_lose_and_double_nothing(seed: int) -> None:
    """Leaders change, brokers die, and answers are lost. Each record is stored once, in order."""
    bench = Bench(seed)
    chance = random.Random(seed)
    acked: dict[int, list[tuple[int, str]]] = {0: [], 1: []}
    sent: dict[int, list[str]] = {0: [], 1: []}

    async def body(producer: Producer) -> None:
        futures = []
        for number in range(400):
            partition = number % 2
            sent[partition].append(f"{number}")
            futures.append(
                (f"{number}", await producer.send("t", f"{number}", partition=partition))
            )
            await asyncio.sleep(chance.uniform(0, 0.2))
        for value, future in futures:
            found = await future
            acked[found.partition].append((found.offset, value))

    async def faults() -> None:
        brokers = list(bench.cluster.brokers)
        for _ in range(4):
            await asyncio.sleep(chance.uniform(2, 6))
            victim = chance.choice(brokers)
            match chance.choice(("kill", "pause", "cut")):
                case "kill":
                    down.append(victim)
                case "pause":
                    bench.cluster.pause(victim)
                    await asyncio.sleep(chance.uniform(1, 4))
                    bench.cluster.resume(victim)
                case _:
                    process = bench.cluster.brokers[victim].process
                    bench.cluster.network.cut(bench.process, process)
                    await asyncio.sleep(chance.uniform(1, 12))
                    bench.cluster.network.mend(bench.process, process)

    down: list[int] = []
    loop = bench.cluster.loop
    settings = {
        "enable.idempotence": True,
        "batch.size": 60,
        "request.timeout.ms": 3_000,
        "delivery.timeout.ms": 250_000,
    }

    async def whole() -> None:
        async with bench.producer(settings) as producer:
            await body(producer)

    task = loop.spawn(bench.process, whole())
    loop.spawn(SimProcess("faults"), faults())
    killed: list[int] = []
    for _ in range(4_000):
        if task.done():
            break
        bench.cluster.advance(100)
        if down:
            victim = down.pop()
            bench.cluster.kill(victim)
            killed.append(victim)
            bench.cluster.advance(12_000)
            bench.cluster.start(victim)
    assert task.done()
    task.result()
    bench.cluster.advance(20_000)
    for partition, tp in enumerate((T0, T1)):
        stored = bench.stored(tp)
        assert stored == sent[partition]
        assert [value for _, value in acked[partition]] == sent[partition]
        assert all(stored[offset] == value for offset, value in acked[partition] if offset >= 0)
    bench.cluster.close()


def test_a_producer_reports_itself_until_it_is_closed(bench: Bench) -> None:
    seen: list[Event] = []

    async def body(producer: Producer) -> None:
        await (await producer.send("t", b"a", partition=1))
        seen.extend(each.event for each in [*bench.trace.snapshot(), *bench.trace.gauges()])

    bench.run(body)
    snapshot, sample = seen
    assert isinstance(snapshot, ProducerSnapshot)
    assert isinstance(sample, ProducerSampled)
    assert (snapshot.producer.client, snapshot.producer.acked) == ("p", 1)
    assert snapshot.producer == sample.producer
    assert bench.trace.snapshot() == []
    assert bench.trace.gauges() == []
    closed = [each for each in bench.cluster.sink.events if isinstance(each.event, ClientClosed)]
    assert [each.event for each in closed] == [ClientClosed(client="p", role="producer")]
