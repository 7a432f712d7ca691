"""The tracer takes events at the doors and hands them to its sinks.

A part that emits holds `self._trace: Tracer | None` and writes, at the end of each door,

    if self._trace:
        self._trace(IsrShrunk(...))

so that with tracing off a door costs one load and one test. A part on the hot path asks `trace.hops` (or `trace.all`) first, and makes no event
that nobody wants. The tracer is owned by one loop; nothing in it locks.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from kafka_edu.common.time import Time
from kafka_edu.trace.event import Envelope, Event, Level


class Sink(Protocol):
    """Where events go: ring, file, socket."""

    level: Level

    def accept(self, envelope: Envelope) -> None:
        """Take one event; must not block, must not raise."""
        ...


class Tracer:
    """Numbers the events of one broker and hands each to every sink (mirrors nothing in Kafka, which has metrics and logs instead)."""

    def __init__(self, broker: int, time: Time) -> None:
        self.broker = broker
        self.time = time
        self.cause = 0
        """The fact that brings about what happens now. Set by `because`, around synchronous code only: it must not survive an await."""
        self.hops = False
        """Whether any sink wants Level.HOPS."""
        self.all = False
        """Whether any sink wants Level.ALL."""
        self.seq = 0
        """The number of the last fact."""
        self._sinks: tuple[Sink, ...] = ()
        self._snapshots: list[Callable[[], Iterable[Event]]] = []
        self._gauges: list[Callable[[], Iterable[Event]]] = []

    def __call__(self, event: Event) -> int:
        """Tell one fact; returns its number, for use as a cause. O(sinks)."""
        self.seq = seq = self.seq + 1
        envelope = Envelope(self.broker, seq, self.cause, self.time.milliseconds(), self.time.nanoseconds() // 1000, event)
        for sink in self._sinks:
            sink.accept(envelope)
        return seq

    def __bool__(self) -> bool:
        return True

    @contextmanager
    def because(self, seq: int) -> Iterator[None]:
        """Within the block, facts are told as caused by fact `seq`. The block must not await."""
        before = self.cause
        self.cause = seq
        try:
            yield
        finally:
            self.cause = before

    def add_sink(self, sink: Sink) -> None:
        self._sinks = (*self._sinks, sink)
        self._levels_changed()

    def remove_sink(self, sink: Sink) -> None:
        self._sinks = tuple(s for s in self._sinks if s is not sink)
        self._levels_changed()

    def _levels_changed(self) -> None:
        self.all = any(sink.level is Level.ALL for sink in self._sinks)
        self.hops = self.all or any(sink.level is Level.HOPS for sink in self._sinks)

    def on_snapshot(self, source: Callable[[], Iterable[Event]]) -> None:
        """Register a part that can tell its whole state as events of Kind.SNAPSHOT."""
        self._snapshots.append(source)

    def on_gauges(self, source: Callable[[], Iterable[Event]]) -> None:
        """Register a part that can be sampled; asked ten times a second while somebody looks, as events of Kind.GAUGE."""
        self._gauges.append(source)

    def snapshot(self) -> list[Envelope]:
        """The state of every part as of fact `seq`. O(state)."""
        return self._sample(self._snapshots)

    def gauges(self) -> list[Envelope]:
        """One sample of every gauge."""
        return self._sample(self._gauges)

    def _sample(self, sources: list[Callable[[], Iterable[Event]]]) -> list[Envelope]:
        wall_ms, mono_us = self.time.milliseconds(), self.time.nanoseconds() // 1000
        return [Envelope(self.broker, self.seq, 0, wall_ms, mono_us, event) for source in sources for event in source()]
