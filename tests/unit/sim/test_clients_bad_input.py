"""Our producer and consumer with brokers, topics, records and clocks that are not as expected: one
clear line says what to do, and nothing that was acknowledged is lost.
"""

import asyncio
import logging
from collections.abc import Iterator

import pytest

from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.consumer_core import ConsumerCore
from kafka_edu.clients.producer.producer import FutureRecordMetadata
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from tests.unit.sim.test_consumer import T0, Bench, numbers, read

NOWHERE = {"bootstrap.servers": "127.0.0.1:1"}
GONE = TopicPartition("gone", 0)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.cluster.close()


def test_a_consumer_without_a_broker_says_so_once_and_does_not_spin(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, runs = ConsumerCore.run, 0

    def counted(core: ConsumerCore, now: float) -> None:
        nonlocal runs
        runs += 1
        run(core, now)

    monkeypatch.setattr(ConsumerCore, "run", counted)

    async def body() -> None:
        async with bench.consumer(NOWHERE) as consumer:
            consumer.subscribe(["t"])
            with caplog.at_level(logging.WARNING):
                assert await consumer.poll(20_000) == []
                assert await consumer.poll(20_000) == []

    bench.run(body())
    [line] = [record.getMessage() for record in caplog.records if "clients" in record.name]
    assert line.startswith("Consumer c has reached no broker of bootstrap.servers yet: ")
    assert "127.0.0.1:1" in line
    assert line.endswith("Check bootstrap.servers, and that a broker is alive there.")
    assert runs < 1_000  # in 40 s, with an attempt to connect each second


def test_a_consumer_that_has_reached_a_broker_does_not_warn_of_later_losses(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """A broker that dies later is usual: the consumer finds another one."""

    async def body(consumer: Consumer) -> None:
        await bench.send(range(4))
        consumer.subscribe(["t"])
        with caplog.at_level(logging.WARNING):
            await read(consumer, 4)
            bench.cluster.kill(2)
            await consumer.poll(30_000)

    bench.with_consumer(body)
    assert [record.getMessage() for record in caplog.records if "consumer" in record.name] == []


async def outcome(future: FutureRecordMetadata) -> str:
    """Return the error of a record, or "stored"."""
    try:
        await future
    except KafkaException as error:
        return str(error)
    return "stored"


def test_a_topic_that_vanishes_ends_in_one_line_and_its_acked_records_were_read(
    bench: Bench,
) -> None:
    """The records of the other topic still arrive. When the topic is created again, the producer
    and the consumer use it again.
    """

    async def body() -> None:
        assert await bench.client.create_topic("gone", 1, 3) is Errors.NONE
        settings = {"delivery.timeout.ms": 20_000, "request.timeout.ms": 5_000}
        async with (
            bench.producer(settings | {"max.block.ms": 5_000}) as producer,
            bench.consumer({"metadata.max.age.ms": 3_000}) as consumer,
        ):
            consumer.subscribe(["t", "gone"])
            assert await outcome(await producer.send("gone", b"1")) == "stored"
            assert numbers(await read(consumer, 1)) == [1]
            assert await bench.client.delete_topic("gone") is Errors.NONE
            await asyncio.sleep(5)
            error = await outcome(await producer.send("gone", b"2"))
            assert error == (
                "TimeoutException: Expiring 1 record(s) for gone-0: 20000 ms has passed since batch"
                " creation. The brokers do not know the topic any more. Check that the topic"
                " exists."
            )
            error = await outcome(await producer.send("gone", b"2"))
            assert error == (
                "TimeoutException: Topic gone not present in metadata after 5000 ms. The brokers"
                " answer: UNKNOWN_TOPIC_OR_PARTITION. Check bootstrap.servers, and that the topic"
                " exists."
            )
            await bench.send(range(10, 14))
            assert sorted(numbers(await read(consumer, 4))) == [10, 11, 12, 13]
            began_ms = bench.cluster.time.milliseconds()
            while GONE in consumer.assignment():
                await consumer.poll(1_000)
            # It does not wait for a commit of the topic, which can never succeed.
            assert bench.cluster.time.milliseconds() - began_ms < 20_000
            assert await bench.client.create_topic("gone", 1, 3) is Errors.NONE
            await asyncio.sleep(10)
            assert await outcome(await producer.send("gone", b"3")) == "stored"
            found: list[int] = []
            while 3 not in found:
                found += numbers(await consumer.poll(1_000))
            assert set(found) == {3}

    bench.run(body())


def test_a_transaction_whose_topic_vanishes_ends_all_the_same(bench: Bench) -> None:
    """The transaction's records in the other topic are committed. A later record for the vanished
    topic fails, and then the transaction can only be aborted.
    """
    settings = {
        "transactional.id": "x",
        "delivery.timeout.ms": 20_000,
        "request.timeout.ms": 5_000,
        "max.block.ms": 10_000,
    }

    async def body() -> None:
        assert await bench.client.create_topic("gone", 1, 3) is Errors.NONE
        async with bench.producer(settings) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            for topic in ("gone", "t"):
                future = await producer.send(topic, b"1", partition=0)
                assert await outcome(future) == "stored"
            assert await bench.client.delete_topic("gone") is Errors.NONE
            await asyncio.sleep(5)
            await producer.commit_transaction()
            producer.begin_transaction()
            assert await outcome(await producer.send("t", b"2", partition=0)) == "stored"
            error = await outcome(await producer.send("gone", b"3"))
            assert "gone-0" in error
            with pytest.raises(KafkaException):
                await producer.commit_transaction()
            await producer.abort_transaction()
            producer.begin_transaction()
            assert await outcome(await producer.send("t", b"4", partition=0)) == "stored"
            await producer.commit_transaction()
        async with bench.consumer({"group.id": "", "isolation.level": "read_committed"}) as reader:
            reader.assign([T0])
            assert numbers(await read(reader, 2)) == [1, 4]

    bench.run(body())


def test_a_record_that_the_broker_finds_too_large_fails_alone(bench: Bench) -> None:
    """message.max.bytes of the broker is smaller than max.request.size of the producer."""

    async def body() -> None:
        async with bench.producer({"linger.ms": 50, "max.request.size": 10_000_000}) as producer:
            sent = [
                await producer.send("t", value, partition=0)
                for value in (b"1", b"x" * 3_000_000, b"2")
            ]
            [first, large, last] = [await outcome(future) for future in sent]
            assert (first, last) == ("stored", "stored")
            assert large.startswith("MESSAGE_TOO_LARGE: ")
            assert "max.message.bytes" in large or "max.request.size" in large, large
        async with bench.consumer({"group.id": ""}) as consumer:
            consumer.assign([T0])
            assert numbers(await read(consumer, 2)) == [1, 2]

    bench.run(body())


class JumpingTime(Time):
    """The simulator's time with jumps: the test sets the wall clock, and the monotonic clock may
    jump forward, as after a laptop has slept.
    """

    def __init__(self, time: Time) -> None:
        self._time = time
        self.wall_ms = 0
        self.slept_ms = 0

    def milliseconds(self) -> int:
        return self._time.milliseconds() + self.wall_ms + self.slept_ms

    def nanoseconds(self) -> int:
        return self._time.nanoseconds() + self.slept_ms * 1_000_000

    def hi_res_clock_ms(self) -> int:
        return self._time.hi_res_clock_ms() + self.slept_ms

    async def sleep(self, ms: float) -> None:
        await self._time.sleep(ms)


@pytest.mark.parametrize("jump_ms", [-3_600_000, 3_600_000, 10 * 365 * 86_400_000])
def test_a_wall_clock_that_jumps_changes_nothing(bench: Bench, jump_ms: int) -> None:
    """All time limits use the monotonic clock. Only the records' timestamps show the jump."""
    time = JumpingTime(bench.cluster.time)

    async def body() -> None:
        async with bench.producer(time=time) as producer, bench.consumer(time=time) as consumer:
            consumer.subscribe(["t"])
            timestamps = []
            for number in range(20):
                if number == 10:
                    time.wall_ms = jump_ms
                metadata = await (await producer.send("t", f"{number}", partition=0))
                timestamps.append(metadata.timestamp)
                await asyncio.sleep(1)
            assert numbers(await read(consumer, 20)) == [*range(20)]
            assert abs(timestamps[10] - timestamps[9] - jump_ms) < 5_000
            await consumer.commit()
            assert (await consumer.committed([T0]))[T0].offset == 20

    bench.run(body())


def test_after_a_machine_has_slept_the_clients_go_on(bench: Bench) -> None:
    """All time limits are over at once. A record may fail with a time-out. But every acknowledged
    record is read, even by a consumer that the group has expelled in the meantime.
    """
    time = JumpingTime(bench.cluster.time)

    async def body() -> None:
        async with (
            bench.producer({"linger.ms": 100}, time) as producer,
            bench.consumer(time=time) as consumer,
        ):
            consumer.subscribe(["t"])
            found = numbers(await consumer.poll(5_000))
            outcomes = []
            for number in range(20):
                future = await producer.send("t", f"{number}", partition=0)
                if number == 10:
                    time.slept_ms = 3_600_000
                outcomes.append(await outcome(future))
                found += numbers(await consumer.poll(100))
            acked = [n for n, each in enumerate(outcomes) if each == "stored"]
            assert len(acked) >= 19, outcomes
            assert all("TimeoutException" in each for each in outcomes if each != "stored")
            while not {*acked} <= {*found}:
                found += numbers(await consumer.poll(1_000))
            await consumer.commit()

    bench.run(body())
