"""A load: its clients, its counts and its events.

The code that runs the load calls `tick` often.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from kafka_edu.clients.admin.topic_calls import MOST_REPLICAS, usual_replicas
from kafka_edu.clients.load.load_outcomes import Acked, Broken, Found, Outcome, Refused, Sent
from kafka_edu.clients.load.load_tally import LoadTally, StoredRecord
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.client import (
    LoadGoesOn,
    LoadSampled,
    LoadSnapshot,
    LoadStalled,
    LoadStarted,
    LoadState,
    LoadStopped,
    RecordLost,
)
from kafka_edu.trace.tracer import Tracer

TICK_S: Final = 0.05
"""How often `Load.tick` is called, in seconds."""
PARTITIONS: Final = 6
"""The number of partitions of a topic that a load creates."""
#: The load stalls if no ack has arrived for this many ms, and a record has waited at least as long.
STALL_MS: Final = 1_000
#: At the end, the load waits at most this many seconds for answers, and then as many for reads.
LAST_ANSWERS_S: Final = 15.0


def replicas_of_new_topic(brokers: int) -> tuple[int, dict[str, str]]:
    """Return the number of replicas of a topic that a load creates, and its settings."""
    replicas = usual_replicas(brokers)
    return replicas, {"min.insync.replicas": "2"} if replicas == MOST_REPLICAS else {}


class LoadSpec(NamedTuple):
    """The settings of a load."""

    topic: str = "load"
    rate: int = 500
    """Records per second that all producers send together."""
    acks: str = "all"
    """The producers' setting `acks`: `all`, `1` or `0`."""
    keys: int = 0
    """Number of different keys. With 0, the records have no key."""
    size: int = 100
    """Bytes of a record's value."""
    producers: int = 1
    consumers: int = 1
    group: str = "load"


class Producing(Protocol):
    """The methods of a producer that its load uses."""

    @property
    def sent(self) -> int: ...
    @property
    def waiting(self) -> Mapping[int, int]: ...
    def start(self) -> None: ...
    def oldest(self) -> int | None: ...
    async def finish(self, timeout_s: float) -> int: ...


class Consuming(Protocol):
    """The methods of a consumer that its load uses."""

    def start(self) -> None: ...
    async def finish(self) -> None: ...


class LoadClients(NamedTuple):
    """The clients of a load, and the deque into which they put what happened to each record."""

    producers: Sequence[Producing]
    consumers: Sequence[Consuming]
    outcomes: deque[Outcome]
    first: int
    """The number of the load's first record.

    Earlier loads on this topic used only lower numbers, so their records can be left out.
    """


def first_number() -> int:
    """Return the number of a load's first record. Later loads get higher numbers."""
    return time.time_ns() // 1_000_000 * 1_000_000


class Load:
    """One run of a load. Its clients work in threads, or as tasks of the event loop."""

    def __init__(
        self,
        spec: LoadSpec,
        clients: LoadClients,
        trace: Tracer,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        compacted: bool = False,
    ) -> None:
        """`clients` must use the same clock as `trace`. The load uses the clock of `trace` too.

        `pause` waits for a number of seconds by this clock. `compacted` says whether the topic is
        compacted.
        """
        self.spec = spec
        self._trace = trace
        self._clock = trace.time
        self._pause = pause
        self._producers, self._consumers, self._outcomes, self._first = clients
        self._tally = LoadTally(compacted=compacted)
        self._refused = 0
        self._error = ""
        self.broken = ""
        """Why a client works no more; "" if all work. It stays the error of the load's state."""
        self._last_ack_ms = self._clock.hi_res_clock_ms()
        self._stalled = 0
        """The number of the LoadStalled event if the load is stalled now, otherwise 0."""
        self._stalled_since_ms = 0
        trace.on_snapshot(self._snapshot)
        trace.on_gauges(self._gauges)

    def start(self) -> None:
        """Start the consumers and the producers. Our own clients need a running event loop."""
        for consumer in self._consumers:
            consumer.start()
        for producer in self._producers:
            producer.start()
        self._trace(LoadStarted(load=self.state()))

    def state(self) -> LoadState:
        """Return the current counts."""
        times = [sent for producer in self._producers if (sent := producer.oldest()) is not None]
        oldest_ms = self._clock.hi_res_clock_ms() - min(times) if times else 0
        spec, tally = self.spec, self._tally
        return LoadState(
            topic=spec.topic,
            group=spec.group,
            acks=spec.acks,
            rate=spec.rate,
            producers=spec.producers,
            consumers=spec.consumers,
            sent=sum(producer.sent for producer in self._producers),
            acked=tally.acked,
            refused=self._refused,
            waiting=sum(len(producer.waiting) for producer in self._producers),
            oldest_ms=oldest_ms,
            read=tally.read,
            read_again=tally.read_again,
            lost=tally.lost,
            error=self.broken or self._error,
        )

    def _snapshot(self) -> Iterator[Event]:
        yield LoadSnapshot(load=self.state())

    def _gauges(self) -> Iterator[Event]:
        yield LoadSampled(load=self.state())

    def tick(self) -> None:
        """Count the results that the clients have put into the deque, and detect a stall.

        O(results).
        """
        outcomes, tally = self._outcomes, self._tally
        now_ms = self._clock.hi_res_clock_ms()
        while outcomes:
            outcome = outcomes.popleft()
            match outcome:
                case Acked(record):
                    self._last_ack_ms = now_ms
                    if self._stalled:
                        self._go_on(record.partition, record.offset)
                    if lost := tally.on_ack(record):
                        self._emit_lost(lost)
                case Found(record):
                    if record.number >= self._first and (lost := tally.on_read(record)):
                        self._emit_lost(lost)
                case Sent(partition):
                    self._last_ack_ms = now_ms
                    if self._stalled:
                        self._go_on(partition, -1)
                case Refused(number, error):
                    self._error = error
                    self._refused += number >= 0
                case Broken(error):
                    self.broken = error
        state = self.state()
        silent_ms = min(now_ms - self._last_ack_ms, state.oldest_ms)
        if not self._stalled and state.waiting and silent_ms > STALL_MS:
            self._stalled_since_ms = now_ms - silent_ms
            self._stalled = self._trace(
                LoadStalled(
                    topic=state.topic,
                    waiting=state.waiting,
                    oldest_ms=state.oldest_ms,
                    error=self._error or self.broken,
                )
            )

    def _go_on(self, partition: int, offset: int) -> None:
        """End the stall, because a record was acked, or was sent with acks=0."""
        with self._trace.because(self._stalled):
            self._trace(
                LoadGoesOn(
                    topic=self.spec.topic,
                    partition=partition,
                    offset=offset,
                    stalled_ms=self._last_ack_ms - self._stalled_since_ms,
                )
            )
        self._stalled = 0

    def _emit_lost(self, lost: list[StoredRecord]) -> None:
        for record in lost:
            self._trace(
                RecordLost(
                    topic=self.spec.topic,
                    partition=record.partition,
                    offset=record.offset,
                    number=record.number,
                )
            )

    async def finish(self) -> LoadState:
        """Stop the producers, wait for the last answers and reads, and stop the consumers.

        This takes about 30 s at most. If a bug has ended a client, there is no wait for reads.
        """
        for producer in self._producers:
            await producer.finish(LAST_ANSWERS_S)
        end_ms = self._clock.hi_res_clock_ms() + 1000 * LAST_ANSWERS_S
        self.tick()
        while (
            self._consumers
            and self._tally.unread
            and not self.broken
            and self._clock.hi_res_clock_ms() < end_ms
        ):
            await self._pause(0.05)
            self.tick()
        for consumer in self._consumers:
            await consumer.finish()
        self.tick()
        state = self.state()
        self._trace(LoadStopped(load=state))
        return state

    @property
    def unread(self) -> int:
        """Return the number of acked records that no consumer has read yet."""
        return self._tally.unread
