"""A load with simulated clients and a simulated clock: it stalls, continues, gets errors and
finishes.
"""

import asyncio
import threading
from collections import deque
from typing import Final

import pytest

from kafka_edu.clients.load import load_clients
from kafka_edu.clients.load.load import LAST_ANSWERS_S, Load, LoadClients, LoadSpec
from kafka_edu.clients.load.load_outcomes import Acked, Broken, Found, Outcome, Refused, Sent
from kafka_edu.clients.load.load_tally import StoredRecord
from kafka_edu.common.time import MockTime
from kafka_edu.trace.event import Envelope, Level, Source, SourceKind
from kafka_edu.trace.events.client import LoadGoesOn, LoadStalled, LoadStarted, LoadStopped
from kafka_edu.trace.tracer import Tracer

FIRST: Final = 1_000


class FakeProducer:
    """Sends a record when a test says so."""

    def __init__(self, clock: MockTime) -> None:
        self.sent = 0
        self.waiting: dict[int, int] = {}
        self.is_running = False
        self._clock = clock

    def start(self) -> None:
        self.is_running = True

    def send(self) -> int:
        number = FIRST + self.sent
        self.waiting[number] = self._clock.hi_res_clock_ms()
        self.sent += 1
        return number

    def oldest(self) -> int | None:
        return next(iter(self.waiting.values()), None)

    async def finish(self, timeout_s: float) -> int:
        self.is_running = False
        return len(self.waiting)


class FakeConsumer:
    def __init__(self) -> None:
        self.is_running = False

    def start(self) -> None:
        self.is_running = True

    async def finish(self) -> None:
        self.is_running = False


class Stage:
    """A load with one producer and one consumer, and the events that it emits."""

    level = Level.STATE

    def __init__(self, acks: str = "all") -> None:
        self.clock = MockTime()
        self.envelopes: list[Envelope] = []
        trace = Tracer(Source(SourceKind.CLIENT, 1), self.clock)
        trace.add_sink(self)
        self.producer, self.consumer = FakeProducer(self.clock), FakeConsumer()
        self.outcomes: deque[Outcome] = deque()
        clients = LoadClients([self.producer], [self.consumer], self.outcomes, FIRST)
        self.pauses: deque[list[Outcome]] = deque()
        """The outcomes that arrive during each pause of the end."""
        self.load = Load(LoadSpec(acks=acks), clients, trace, self._pause)
        self.load.start()

    def accept(self, envelope: Envelope) -> None:
        self.envelopes.append(envelope)

    async def _pause(self, seconds: float) -> None:
        self.clock.advance(1000 * seconds)
        self.outcomes.extend(self.pauses.popleft() if self.pauses else [])

    def ack(self, number: int) -> None:
        del self.producer.waiting[number]
        self.outcomes.append(Acked(StoredRecord(0, number - FIRST, number)))

    def tick_after(self, ms: int) -> None:
        self.clock.advance(ms)
        self.load.tick()

    @property
    def names(self) -> list[str]:
        return [envelope.name for envelope in self.envelopes]


def found(number: int) -> Found:
    return Found(StoredRecord(0, number - FIRST, number))


def test_a_load_begins_with_its_clients_and_an_event() -> None:
    stage = Stage()
    assert stage.producer.is_running
    assert stage.consumer.is_running
    started = stage.envelopes[0].event
    assert isinstance(started, LoadStarted)
    assert (started.load.topic, started.load.sent) == ("load", 0)


def test_a_load_stalls_once_and_goes_on_with_the_next_ack() -> None:
    stage = Stage()
    numbers = [stage.producer.send() for _ in range(2)]
    stage.tick_after(1_000)
    assert stage.names == ["LoadStarted"]
    stage.tick_after(1)
    stage.tick_after(500)
    assert stage.names == ["LoadStarted", "LoadStalled"]
    stalled = stage.envelopes[1]
    assert stalled.event == LoadStalled(topic="load", waiting=2, oldest_ms=1_001, error="")
    stage.ack(numbers[0])
    stage.tick_after(9)
    goes_on = stage.envelopes[2]
    assert goes_on.event == LoadGoesOn(topic="load", partition=0, offset=0, stalled_ms=1_510)
    assert goes_on.cause == stalled.seq


def test_a_load_whose_records_are_acked_late_but_steadily_does_not_stall() -> None:
    stage = Stage()
    numbers = [stage.producer.send() for _ in range(30)]
    for number in numbers:
        stage.ack(number)
        stage.tick_after(900)
    assert stage.names == ["LoadStarted"]


def test_a_load_that_sent_nothing_for_a_while_does_not_stall() -> None:
    stage = Stage()
    stage.tick_after(60_000)
    stage.producer.send()
    stage.tick_after(900)
    assert stage.names == ["LoadStarted"]


def test_with_acks_0_a_record_counts_as_sent_and_nothing_stalls_or_is_refused() -> None:
    stage = Stage("0")
    number = stage.producer.send()
    for _ in range(3):
        newer = stage.producer.send()  # always one waits
        stage.tick_after(900)
        del stage.producer.waiting[number]
        stage.outcomes.append(Sent(0))
        stage.load.tick()
        number = newer
    state = stage.load.state()
    assert (state.sent, state.acked, state.refused, state.waiting) == (4, 0, 0, 1)
    assert stage.names == ["LoadStarted"]


def test_with_acks_0_a_stall_is_over_when_a_record_could_be_sent() -> None:
    stage = Stage("0")
    stage.producer.send()
    stage.tick_after(1_200)
    stage.producer.waiting.clear()
    stage.outcomes.append(Sent(3))
    stage.tick_after(100)
    assert stage.envelopes[-1].event == LoadGoesOn(
        topic="load", partition=3, offset=-1, stalled_ms=1_300
    )


def test_a_refused_record_is_counted_and_an_error_of_the_client_alone_is_not() -> None:
    stage = Stage()
    number = stage.producer.send()
    stage.outcomes.append(Refused(-1, "all brokers are down"))
    stage.load.tick()
    assert (stage.load.state().refused, stage.load.state().error) == (0, "all brokers are down")
    del stage.producer.waiting[number]
    stage.outcomes.append(Refused(number, "message timed out"))
    stage.load.tick()
    assert (stage.load.state().refused, stage.load.state().error) == (1, "message timed out")


def test_the_bug_that_has_ended_a_client_stays_the_load_s_error() -> None:
    stage = Stage()
    stage.outcomes += [Broken("the consumer has ended by a bug"), Refused(-1, "all are down")]
    stage.load.tick()
    assert stage.load.broken == stage.load.state().error == "the consumer has ended by a bug"


def test_a_stall_names_why_the_producer_waits_also_after_a_bug_of_the_consumer() -> None:
    stage = Stage()
    stage.producer.send()
    stage.outcomes += [Broken("the consumer has ended by a bug"), Refused(-1, "broker 1 is down")]
    stage.tick_after(1_500)
    stalled = stage.envelopes[-1].event
    assert isinstance(stalled, LoadStalled)
    assert stalled.error == "broker 1 is down"


def test_records_of_an_earlier_load_are_not_counted() -> None:
    stage = Stage()
    stage.outcomes.extend([found(FIRST - 1), found(FIRST + 1)])
    stage.load.tick()
    assert stage.load.state().read == 1


def test_a_load_finishes_when_its_last_acked_record_is_read() -> None:
    stage = Stage()
    numbers = [stage.producer.send() for _ in range(2)]
    for number in numbers:
        stage.ack(number)
    stage.pauses.extend([[found(numbers[0])], [], [found(numbers[1])]])
    state = asyncio.run(stage.load.finish())
    assert (state.acked, state.read, state.lost, stage.load.unread) == (2, 2, 0, 0)
    assert not stage.pauses
    assert not stage.producer.is_running
    assert not stage.consumer.is_running
    assert stage.envelopes[-1].event == LoadStopped(load=state)


def test_a_load_gives_up_waiting_for_reads_after_its_time() -> None:
    stage = Stage()
    stage.ack(stage.producer.send())
    began_ms = stage.clock.hi_res_clock_ms()
    asyncio.run(stage.load.finish())
    assert stage.load.unread == 1
    assert 0 <= stage.clock.hi_res_clock_ms() - began_ms - 1000 * LAST_ANSWERS_S < 100


def test_a_consumer_that_cannot_leave_its_group_does_not_hold_the_load_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If every broker is gone, librdkafka's `close` waits for a coordinator for ever."""
    monkeypatch.setattr(load_clients, "LEAVE_S", 0.01)
    never = threading.Event()

    class Stuck:
        def subscribe(self, topics: list[str]) -> None:
            """Nothing to do."""

        def consume(self, most: int, timeout_s: float) -> list[object]:
            return []

        def close(self) -> None:
            never.wait()

    monkeypatch.setattr(load_clients, "Consumer", lambda *_, **__: Stuck())
    consumer = load_clients.LoadConsumer("127.0.0.1:1", "c", "t", "g", deque())
    consumer.start()
    asyncio.run(consumer.finish())
    never.set()
