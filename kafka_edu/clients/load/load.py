"""A load: its clients, its counts and its events. The loop that owns it calls `tick`."""

import time
from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafka_edu.clients.load.load_clients import Acked, Found, LoadConsumer, LoadProducer, Outcome
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

#: Without an ack for so long, while records wait, the load stalls.
STALL_S: Final = 1.0
#: So long the answers to the last records are waited for, and as long for reading them.
LAST_ANSWERS_S: Final = 15.0


class LoadSpec(NamedTuple):
    """The wanted load."""

    topic: str = "load"
    rate: int = 500
    """Records per second, of all producers together."""
    acks: str = "all"
    """`all`, `1` or `0`."""
    keys: int = 0
    """How many different keys; 0: records without a key."""
    size: int = 100
    """Bytes of a record's value."""
    producers: int = 1
    consumers: int = 1
    group: str = "load"


class Load:
    """One run of a load. Synchronous, except that its clients work in threads."""

    def __init__(self, spec: LoadSpec, bootstrap_servers: str, trace: Tracer) -> None:
        self.spec = spec
        self._trace = trace
        self._outcomes: deque[Outcome] = deque()
        self._tally = LoadTally()
        self._refused = 0
        self._error = ""
        self._last_ack = time.monotonic()
        self._stalled = 0
        """The number of the LoadStalled that is not over yet."""
        self._stalled_since = 0.0
        # numbers that no earlier load into this topic has used: its records are left out
        self._first = first = time.time_ns() // 1_000_000 * 1_000_000
        self._producers = [
            LoadProducer(
                bootstrap_servers,
                f"load-producer-{i + 1}",
                spec.topic,
                spec.acks,
                spec.rate / spec.producers,
                spec.keys,
                spec.size,
                first + i,
                spec.producers,
                self._outcomes,
            )
            for i in range(spec.producers)
        ]
        self._consumers = [
            LoadConsumer(
                bootstrap_servers, f"load-consumer-{i + 1}", spec.topic, spec.group, self._outcomes
            )
            for i in range(spec.consumers)
        ]
        trace.on_snapshot(self._snapshot)
        trace.on_gauges(self._gauges)

    def start(self) -> None:
        """Begin to read and to send."""
        for consumer in self._consumers:
            consumer.start()
        for producer in self._producers:
            producer.start()
        self._trace(LoadStarted(load=self.state()))

    def state(self) -> LoadState:
        """Return the counts of now."""
        times = [sent for producer in self._producers if (sent := producer.oldest()) is not None]
        oldest_s = time.monotonic() - min(times) if times else 0.0
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
            oldest_ms=int(oldest_s * 1000),
            read=tally.read,
            read_again=tally.read_again,
            lost=tally.lost,
            error=self._error,
        )

    def _snapshot(self) -> Iterator[Event]:
        yield LoadSnapshot(load=self.state())

    def _gauges(self) -> Iterator[Event]:
        yield LoadSampled(load=self.state())

    def tick(self) -> None:
        """Count what the clients have handed over, and notice a stall. O(outcomes)."""
        while self._outcomes:
            outcome = self._outcomes.popleft()
            if isinstance(outcome, Acked):
                self._on_ack(outcome.record)
            elif isinstance(outcome, Found):
                self._emit_lost(
                    self._tally.on_read(outcome.record)
                    if outcome.record.number >= self._first
                    else []
                )
            else:
                self._error = outcome.error
                self._refused += outcome.number >= 0
        state = self.state()
        now = time.monotonic()
        if not self._stalled and state.waiting and now - self._last_ack > STALL_S:
            self._stalled_since = self._last_ack
            self._stalled = self._trace(
                LoadStalled(
                    topic=state.topic,
                    waiting=state.waiting,
                    oldest_ms=state.oldest_ms,
                    error=state.error,
                )
            )
        elif not state.waiting and not self._stalled:
            self._last_ack = now  # nothing waits, so nothing can be late

    def _on_ack(self, record: StoredRecord) -> None:
        self._last_ack = time.monotonic()
        if self._stalled:
            with self._trace.because(self._stalled):
                self._trace(
                    LoadGoesOn(
                        topic=self.spec.topic,
                        partition=record.partition,
                        offset=record.offset,
                        stalled_ms=int((self._last_ack - self._stalled_since) * 1000),
                    )
                )
            self._stalled = 0
        self._emit_lost(self._tally.on_ack(record))

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

    def finish(self) -> LoadState:
        """Stop sending, wait for the last answers and the last reads, stop reading. Blocks for at
        most 30 s.
        """
        for producer in self._producers:
            producer.finish(LAST_ANSWERS_S)
        end = time.monotonic() + LAST_ANSWERS_S
        self.tick()
        while self._consumers and self._tally.unread and time.monotonic() < end:
            time.sleep(0.05)
            self.tick()
        for consumer in self._consumers:
            consumer.finish()
        self.tick()
        state = self.state()
        self._trace(LoadStopped(load=state))
        return state

    @property
    def unread(self) -> int:
        """Return how many acked records no consumer has read yet."""
        return self._tally.unread
