"""The load with our own clients. Fakes stand in for the producer and the consumer."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from kafka_edu.clients.client_errors import BufferExhaustedException, ClientException
from kafka_edu.clients.consumer.consumer import ConsumerStateException
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.clients.load.load import LoadSpec
from kafka_edu.clients.load.load_outcomes import Acked, Broken, Found, Outcome, Refused, Sent
from kafka_edu.clients.load.load_tally import StoredRecord
from kafka_edu.clients.load.own_clients import OwnConsumer, OwnProducer
from kafka_edu.clients.producer.producer_batch import Callback, RecordMetadata
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import MockTime
from kafka_edu.record.record_batch import TimestampType

FIRST: Final = 1_000
RATE: Final = 1_000


class Future:
    """The future that the fake producer returns for a record. The record is in a batch, or has
    failed at once.
    """

    def __init__(self, error: KafkaException | None = None) -> None:
        self.in_batch = error is None
        self.failed: KafkaException | None = error

    def done(self) -> bool:
        return self.failed is not None

    def exception(self) -> KafkaException | None:
        return self.failed


class FakeProducer:
    """A producer that only stores the callbacks. After `most` records its memory is full, and
    `send` fails.
    """

    def __init__(self, most: int) -> None:
        self.last_failure = ""
        self.callbacks: list[Callback] = []
        self.values: list[bytes] = []
        self.full = asyncio.Event()
        self._most = most

    async def start(self) -> None: ...

    async def send(
        self, topic: str, value: bytes, *, key: bytes | None, on_delivery: Callback
    ) -> Future:
        if len(self.callbacks) >= self._most:
            self.full.set()
            error = BufferExhaustedException("no memory", "wait")
            on_delivery(None, error)
            return Future(error)
        self.values.append(value)
        self.callbacks.append(on_delivery)
        return Future()

    async def flush(self) -> None:
        await asyncio.Event().wait()

    async def close(self, timeout_s: float) -> None:
        for callback in self.callbacks[3:]:
            callback(None, KafkaException(Errors.REQUEST_TIMED_OUT))


class Clock(MockTime):
    """A clock that advances by 1 ms each time it is read, so that records become due."""

    def hi_res_clock_ms(self) -> int:
        self.advance(1)
        return super().hi_res_clock_ms()


def produced(act: Callable[[OwnProducer, FakeProducer], None]) -> tuple[OwnProducer, list[Outcome]]:
    """Let a producer send until its memory is full, call `act`, and finish the producer. Return it
    with its outcomes.
    """
    outcomes: deque[Outcome] = deque()

    async def whole() -> OwnProducer:
        client = FakeProducer(5)
        spec = LoadSpec(rate=RATE, producers=2, size=32)
        producer = OwnProducer(client, spec, FIRST, outcomes, Clock())  # type: ignore[arg-type]  # a fake
        producer.start()
        await client.full.wait()
        assert producer.sent == 5
        assert [int(value.split()[0]) for value in client.values] == [1000, 1002, 1004, 1006, 1008]
        act(producer, client)
        assert await producer.finish(0.01) == len(client.callbacks) - 3
        return producer

    return asyncio.run(whole()), list(outcomes)


def test_each_record_is_acked_sent_or_refused_once() -> None:
    def act(producer: OwnProducer, client: FakeProducer) -> None:
        assert producer.oldest() is not None
        client.callbacks[0](RecordMetadata("t", 2, 41, 0, -1, 32), None)
        client.callbacks[1](RecordMetadata("t", 2, -1, 0, -1, 32), None)
        client.callbacks[2](None, KafkaException(Errors.MESSAGE_TOO_LARGE))

    producer, outcomes = produced(act)
    told = [each for each in outcomes if not isinstance(each, Refused) or each.number >= 0]
    assert told[:2] == [Acked(StoredRecord(2, 41, 1000)), Sent(2)]
    refused = [each.number for each in told[2:] if isinstance(each, Refused)]
    assert refused == [1004, 1006, 1008], "what has no answer at the end fails"
    assert producer.waiting == {}
    assert producer.oldest() is None


def test_a_record_without_memory_counts_as_not_sent() -> None:
    def act(producer: OwnProducer, client: FakeProducer) -> None:
        assert len(producer.waiting) == producer.sent
        for callback in client.callbacks[:3]:
            callback(RecordMetadata("t", 0, 1, 0, -1, 32), None)

    producer, outcomes = produced(act)
    assert producer.sent == 5
    (said,) = {each for each in outcomes if isinstance(each, Refused) and each.number < 0}
    assert "no memory" in said.error


class HastyProducer(FakeProducer):
    """A producer whose second record is put into a batch, and fails before `send` returns."""

    async def send(
        self, topic: str, value: bytes, *, key: bytes | None, on_delivery: Callback
    ) -> Future:
        future = await super().send(topic, value, key=key, on_delivery=on_delivery)
        if len(self.callbacks) == 2 and future.in_batch:
            future.failed = KafkaException(Errors.MESSAGE_TOO_LARGE)
            on_delivery(None, future.failed)
        return future

    async def close(self, timeout_s: float) -> None: ...


def test_a_record_that_fails_while_it_is_sent_is_refused_once() -> None:
    outcomes: deque[Outcome] = deque()

    async def whole() -> OwnProducer:
        client = HastyProducer(3)
        spec = LoadSpec(rate=RATE, producers=2, size=32)
        producer = OwnProducer(client, spec, FIRST, outcomes, Clock())  # type: ignore[arg-type]  # a fake
        producer.start()
        await client.full.wait()
        assert await producer.finish(0.01) == 2
        return producer

    producer = asyncio.run(whole())
    assert (producer.sent, list(producer.waiting)) == (3, [1000, 1004])
    refused = [each.number for each in outcomes if isinstance(each, Refused)]
    assert [number for number in refused if number >= 0] == [1002]


class FakeConsumer:
    """Returns records, then an error, and then nothing."""

    def __init__(self) -> None:
        self.topics: list[str] = []
        self.closed = False
        self.polled = asyncio.Event()
        self._answers: list[list[ConsumerRecord] | ClientException] = [
            [record(3, b"1000 ..."), record(4, b"a foreign record")],
            ClientException(Errors.GROUP_AUTHORIZATION_FAILED, "no", "ask"),
        ]

    async def start(self) -> None: ...

    def subscribe(self, topics: list[str]) -> None:
        self.topics = topics

    async def poll(self, timeout_ms: float) -> list[ConsumerRecord]:
        if not self._answers:
            self.polled.set()
            return []
        answer = self._answers.pop(0)
        if isinstance(answer, ClientException):
            raise answer
        return answer

    async def close(self, timeout_s: float) -> None:
        self.closed = True


def record(offset: int, value: bytes) -> ConsumerRecord:
    return ConsumerRecord("t", 1, offset, 0, TimestampType.CREATE_TIME, None, value, (), -1)


def test_a_consumer_reports_the_records_of_the_load_and_its_errors() -> None:
    outcomes: deque[Outcome] = deque()

    async def whole() -> FakeConsumer:
        client = FakeConsumer()
        consumer = OwnConsumer(client, "t", outcomes)  # type: ignore[arg-type]  # a fake
        consumer.start()
        await client.polled.wait()
        await consumer.finish()
        return client

    client = asyncio.run(whole())
    assert (client.topics, client.closed) == (["t"], True)
    found, error = outcomes
    assert found == Found(StoredRecord(1, 3, 1000))
    assert isinstance(error, Refused)
    assert error.number == -1


def test_a_bug_that_ends_a_client_is_the_load_s_error() -> None:
    """Without an error, the load would continue with a consumer that reads nothing, and would never
    end.
    """
    outcomes: deque[Outcome] = deque()

    class FailingConsumer(FakeConsumer):
        async def poll(self, timeout_ms: float) -> list[ConsumerRecord]:
            self.polled.set()
            raise ModuleNotFoundError("no numpy")

    uncaught = list[object]()

    async def whole() -> FakeConsumer:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: uncaught.append(context["exception"]))
        client = FailingConsumer()
        consumer = OwnConsumer(client, "t", outcomes)  # type: ignore[arg-type]  # a fake
        consumer.start()
        await client.polled.wait()
        await consumer.finish()
        return client

    assert asyncio.run(whole()).closed
    why = "the consumer has ended by a bug: ModuleNotFoundError: no numpy"
    assert list(outcomes) == [Broken(why)]
    assert [type(error) for error in uncaught] == [ModuleNotFoundError], "nobody prints it"


def test_a_bug_inside_the_consumer_is_named_and_not_tried_again() -> None:
    """A consumer that a bug has ended raises ConsumerStateException at each poll."""
    outcomes: deque[Outcome] = deque()

    class BrokenConsumer(FakeConsumer):
        async def poll(self, timeout_ms: float) -> list[ConsumerRecord]:
            self.polled.set()
            raise ConsumerStateException("The consumer has a bug.", "x") from KeyError("lag")

    async def whole() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        client = BrokenConsumer()
        consumer = OwnConsumer(client, "t", outcomes)  # type: ignore[arg-type]  # a fake
        consumer.start()
        await client.polled.wait()
        await consumer.finish()

    asyncio.run(whole())
    assert list(outcomes) == [Broken("the consumer has ended by a bug: KeyError: 'lag'")]


def test_a_record_that_a_broken_producer_did_not_send_does_not_wait() -> None:
    outcomes: deque[Outcome] = deque()

    class BrokenProducer(FakeProducer):
        async def send(
            self, topic: str, value: bytes, *, key: bytes | None, on_delivery: Callback
        ) -> Future:
            self.full.set()
            raise RuntimeError("a bug")

    async def whole() -> OwnProducer:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        client = BrokenProducer(1)
        spec = LoadSpec(rate=RATE)
        producer = OwnProducer(client, spec, FIRST, outcomes, Clock())  # type: ignore[arg-type]  # a fake
        producer.start()
        await client.full.wait()
        await producer.finish(0.01)
        return producer

    producer = asyncio.run(whole())
    assert (producer.sent, dict(producer.waiting), producer.oldest()) == (0, {}, None)
    assert list(outcomes) == [Broken("the producer has ended by a bug: RuntimeError: a bug")]
