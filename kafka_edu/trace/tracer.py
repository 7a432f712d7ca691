"""The tracer takes events where state changes and hands them to its sinks.

A part that emits holds `self._trace: Tracer | None` and writes, after each change of state,

    if self._trace:
        self._trace(IsrShrunk(...))

With tracing off this costs one load and one test. A part on the hot path looks at `trace.hops` (or
`trace.all`) first, and makes no event that no sink wants. One loop owns the tracer, so nothing in
it locks.

No instrument can hurt what it watches. A sink that raises is removed, and so is a part that cannot
be sampled. The tracer emits an event for the sinks that are left, and logs a line. The code that
emits an event never gets an exception of a sink. This is one of the boundaries where a broker
survives its own bug (docs/answers.md).
"""

import logging
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from types import FunctionType, MethodType
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from kafka_edu.common.time import Time
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Event, Level, Source
from kafka_edu.trace.events.trace import SampleFailed, SinkFailed
from kafka_edu.trace.slow_budget import SlowBudget

log = logging.getLogger(__name__)

T = TypeVar("T")

LEVELS: Final = tuple(Level)
RANKS: Final = {level: rank for rank, level in enumerate(LEVELS)}
FACTS_REMEMBERED: Final = 1 << 20
"""Of so many facts the tracer remembers the level, one byte each: 1 MiB, and only while the sinks
want different levels."""


STATE: Final = Level.STATE
HOPS: Final = Level.HOPS
_new: Final = tuple.__new__


@cache
def rank_of_type(cls: type[Event]) -> int:
    """Return the rank of the level that an event class is registered with."""
    return RANKS[EVENT_TYPES[cls.__name__].level]


class Sink(Protocol):
    """A destination of events: ring, file or socket."""

    level: Level

    def accept(self, envelope: Envelope) -> None:
        """Take one event. Must not block. A sink that raises is removed."""
        ...


class _Attached(NamedTuple):
    """A sink of a tracer, its name in words, and what is called when it is removed as failed."""

    sink: Sink
    name: str
    on_failure: Callable[[], None]


Samples = Callable[[], Iterable[Event]]


class Tracer:
    """Numbers the events of one process and hands each to the sinks that want its level.

    Kafka has no such class: it has metrics and logs instead.
    """

    def __init__(self, source: Source, time: Time) -> None:
        self.source = source
        self.time = time
        self.cause = 0
        """The fact that causes what happens now. `because` sets it around synchronous code only,
        because it must not survive an await.
        """
        self.hops = False
        """Whether any sink wants Level.HOPS."""
        self.all = False
        """Whether any sink wants Level.ALL."""
        self.seq = 0
        """The number of the last fact."""
        self.slow = SlowBudget()
        """The hops of slow requests that every sink gets."""
        self._attached: tuple[_Attached, ...] = ()
        self._accepts: tuple[tuple[Callable[[Envelope], None], ...], ...] = ((),)
        """The sinks that want a fact, by the rank of its level."""
        self._mixed: bytearray | None = None
        """The rank of each recent fact's level, by its number, while the sinks want different
        levels, and from then on; else None, because then every sink wants every fact.
        """
        self._snapshots: tuple[Samples, ...] = ()
        self._gauges: tuple[Samples, ...] = ()

    def __call__(self, event: Event, level: Level | None = None) -> int:
        """Emit one fact and return its number, for use as a cause. O(sinks).

        A sink gets the facts of its own level. `level` is that of the event's class, unless this
        one fact has another: a slow request's hops have level STATE.
        """
        self.seq = seq = self.seq + 1
        time = self.time
        # tuple.__new__ takes half the time of Envelope's own constructor
        envelope: Envelope = _new(
            Envelope,
            (
                self.source,
                seq,
                self.cause,
                time.milliseconds(),
                time.nanoseconds() // 1000,
                event,
            ),
        )
        mixed, rank = self._mixed, 0
        if mixed is not None:
            rank = rank_of_type(type(event)) if level is None else RANKS[level]
            mixed[seq % FACTS_REMEMBERED] = rank
        accepts = self._accepts[rank]
        try:  # it costs nothing while nobody raises
            for accept in accepts:
                accept(envelope)
        except Exception as error:
            self._hand_on(envelope, accepts, accept, error)
        return seq

    def _hand_on(
        self,
        envelope: Envelope,
        accepts: tuple[Callable[[Envelope], None], ...],
        failed: Callable[[Envelope], None],
        error: Exception,
    ) -> None:
        """Hand the event to the sinks behind the one that failed, and remove all that fail."""
        failures = [(failed, error)]
        for accept in accepts[accepts.index(failed) + 1 :]:
            try:
                accept(envelope)
            except Exception as another:
                failures.append((accept, another))
        self._remove_failed(
            [
                (attached, why)
                for accept, why in failures
                for attached in self._attached
                if attached.sink.accept == accept
            ]
        )

    def sink_failed(self, sink: Sink, error: Exception) -> None:
        """Remove a sink that failed, log why, and emit SinkFailed for the others. Its owner is
        called, so that it can close what the sink has open. If it was removed before, do nothing.
        """
        self._remove_failed([(each, error) for each in self._attached if each.sink is sink])

    def _remove_failed(self, failures: list[tuple[_Attached, Exception]]) -> None:
        """Remove all of them first, because the news of one would fail at the others."""
        for attached, _ in failures:
            self.remove_sink(attached.sink)
        for attached, error in failures:
            self.say_failed(attached.name, error)
            try:
                attached.on_failure()
            except Exception:
                log.exception("%s could not be closed", attached.name)

    def say_failed(self, name: str, error: Exception) -> None:
        """Log that an output of events failed, or could not be opened, and emit SinkFailed."""
        reason = _reason(error)
        log.error(
            "%s has failed and is left out from now on: %s",
            name,
            reason,
            exc_info=None if isinstance(error, OSError) else error,
        )
        with self.because(0):
            self(SinkFailed(sink=name, reason=reason, after=self.seq))

    def level_of(self, seq: int) -> Level:
        """Return the level at which fact `seq` was emitted. STATE where all sinks want the same
        level, or where the fact is too old: more than FACTS_REMEMBERED facts ago.
        """
        if self._mixed is None or self.seq - seq >= FACTS_REMEMBERED:
            return Level.STATE
        return LEVELS[self._mixed[seq % FACTS_REMEMBERED]]

    def tells_slow(self) -> bool:
        """Return whether the next hop of a slow request has level STATE. Else it is a hop like any
        other, and is counted as left out. O(1).
        """
        return self.slow.take(self.time.nanoseconds())

    @property
    def level_of_cause(self) -> Level:
        """The level of a hop that is worth a fact because its cause is one: STATE if the cause was
        emitted at that level, else HOPS.
        """
        cause, mixed = self.cause, self._mixed
        if not cause:
            return HOPS
        if mixed is None or self.seq - cause >= FACTS_REMEMBERED:
            return STATE
        return HOPS if mixed[cause % FACTS_REMEMBERED] else STATE

    def because(self, seq: int) -> "Because":
        """Make fact `seq` the cause of the facts emitted within the block, which must not await."""
        return Because(self, seq)

    def carry(self, seq: int, work: Awaitable[T]) -> Awaitable[T]:
        """Return an awaitable that runs `work` with fact `seq` as the cause of each of its steps.

        A coroutine runs in steps, one between two awaits. The cause is set at the start of a step
        and reset at its end. So it survives the awaits of `work`, and other tasks never see it. A
        task that `work` creates does not inherit it.
        """
        return _Carried(self, seq, work)

    def add_sink(
        self, sink: Sink, name: str = "", on_failure: Callable[[], None] = lambda: None
    ) -> None:
        """Hand events to a sink from now on. `name` is what a person calls it, its class's name if
        empty. `on_failure` is called when it has failed and is removed.
        """
        attached = _Attached(sink, name or type(sink).__name__, on_failure)
        self._attached = (*self._attached, attached)
        self.levels_changed()

    def remove_sink(self, sink: Sink) -> None:
        self._attached = tuple(each for each in self._attached if each.sink is not sink)
        self.levels_changed()

    def levels_changed(self) -> None:
        """Look at the levels that the sinks want. To be called when a sink changes its level."""
        sinks = tuple(attached.sink for attached in self._attached)
        self.all = any(sink.level is Level.ALL for sink in sinks)
        self.hops = self.all or any(sink.level is Level.HOPS for sink in sinks)
        if self._mixed is None:
            if len({sink.level for sink in sinks}) < 2:
                self._accepts = (tuple(sink.accept for sink in sinks),)
                return
            self._mixed = bytearray(FACTS_REMEMBERED)
        self._accepts = tuple(
            tuple(sink.accept for sink in sinks if RANKS[sink.level] >= rank)
            for rank in range(len(LEVELS))
        )

    def on_snapshot(self, source: Samples) -> None:
        """Register a part that returns its whole state as events of Kind.SNAPSHOT."""
        self._snapshots = (*self._snapshots, source)

    def on_gauges(self, source: Samples) -> None:
        """Register a part that returns a sample as events of Kind.GAUGE. It is called ten times a
        second, while a subscriber wants gauges.
        """
        self._gauges = (*self._gauges, source)

    def snapshot(self) -> list[Envelope]:
        """Return the state of every part as of fact `seq`. O(state)."""
        return self._sample(self._snapshots)

    def gauges(self) -> list[Envelope]:
        """Return one sample of every gauge."""
        return self._sample(self._gauges)

    def _sample(self, sources: tuple[Samples, ...]) -> list[Envelope]:
        wall_ms, mono_us, seq = (
            self.time.milliseconds(),
            self.time.nanoseconds() // 1000,
            self.seq,
        )
        samples: list[Envelope] = []
        for source in sources:
            try:
                samples += [
                    Envelope(self.source, seq, 0, wall_ms, mono_us, event) for event in source()
                ]
            except Exception as error:
                self._sample_failed(source, error)
        return samples

    def _sample_failed(self, source: Samples, error: Exception) -> None:
        """Never sample a part again that raised: it would raise ten times a second."""
        self._snapshots = tuple(each for each in self._snapshots if each != source)
        self._gauges = tuple(each for each in self._gauges if each != source)
        name = _name(source)
        log.error("%s is not sampled any more, because it failed: %s", name, error, exc_info=error)
        with self.because(0):
            self(SampleFailed(sample=name, reason=_reason(error)))


def _name(source: Samples) -> str:
    if isinstance(source, FunctionType | MethodType):
        return f"{source.__module__}.{source.__qualname__}"
    return type(source).__qualname__


def _reason(error: Exception) -> str:
    """Return an error in words: the system's words, or what kind of bug it is."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"


class Because:
    """Sets the cause of what is emitted within a block. 0.3 µs; a generator's context takes three
    times as long, and a request has six of them.
    """

    __slots__ = ("_before", "_seq", "_trace")

    def __init__(self, trace: Tracer, seq: int) -> None:
        self._trace = trace
        self._seq = seq
        self._before = 0

    def __enter__(self) -> None:
        self._before = self._trace.cause
        self._trace.cause = self._seq

    def __exit__(self, *_: object) -> None:
        self._trace.cause = self._before


_NO_CAUSE: Final = nullcontext()


def because(trace: Tracer | None, seq: int) -> AbstractContextManager[None]:
    """Return `trace.because(seq)` if there are both, else a context that does nothing."""
    return trace.because(seq) if trace is not None and seq else _NO_CAUSE


class _Carried(Generic[T]):
    """Runs an awaitable step by step, each step within `Tracer.because`."""

    __slots__ = ("_seq", "_trace", "_work")

    def __init__(self, trace: Tracer, seq: int, work: Awaitable[T]) -> None:
        self._trace = trace
        self._seq = seq
        self._work = work

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._work.__await__()
        answer: Any = None
        error: BaseException | None = None
        waits_for: Any = None
        try:
            while True:
                try:
                    with self._trace.because(self._seq):
                        waits_for = steps.send(answer) if error is None else steps.throw(error)
                except StopIteration as done:
                    result: T = done.value
                    return result
                answer = error = None
                try:
                    answer = yield waits_for
                except (
                    BaseException
                ) as thrown:  # a cancellation too: `work` decides what becomes of it
                    error = thrown
        finally:
            error = waits_for = (
                # an error's traceback holds this frame: together they would wait for the garbage
                # collector
                None
            )
