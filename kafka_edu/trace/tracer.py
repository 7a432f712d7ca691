"""The tracer gets events from the code that changes state, and passes them to its sinks.

A class that emits events has `self._trace: Tracer | None` and writes, after each change of state,

    if self._trace:
        self._trace(IsrShrunk(...))

With tracing off this costs one load and one test. Code on the hot path tests `trace.hops` (or
`trace.all`) first, and makes no event that no sink wants. Only one loop uses the tracer, so the
tracer needs no locks.

Tracing must never harm the traced code. If a sink raises an exception, the sink is removed. If a
part cannot be sampled, it is never sampled again. In both cases the tracer emits an event for the
remaining sinks and writes a line to the log. The code that emits an event never gets a sink's
exception. This is one of the places where a broker continues in spite of its own bug
(docs/answers.md).
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
"""The tracer remembers the levels of this many recent facts, with one byte for each: 1 MiB. It
begins to do so when its sinks first want different levels.
"""


STATE: Final = Level.STATE
HOPS: Final = Level.HOPS
_new: Final = tuple.__new__


@cache
def rank_of_type(cls: type[Event]) -> int:
    """Return the rank of an event class's registered level. A higher rank means a more detailed
    level.
    """
    return RANKS[EVENT_TYPES[cls.__name__].level]


class Sink(Protocol):
    """A destination of events: a ring, a file or a socket."""

    level: Level

    def accept(self, envelope: Envelope) -> None:
        """Get one event. Must not block. If it raises an exception, the sink is removed."""
        ...


class _Attached(NamedTuple):
    """A tracer's sink, its name in words, and the function to call if the sink fails and is
    removed.
    """

    sink: Sink
    name: str
    on_failure: Callable[[], None]


Samples = Callable[[], Iterable[Event]]


class Tracer:
    """Numbers the events of one process, and passes each event to the sinks that want its level.

    Kafka has no such class. It has metrics and logs instead.
    """

    def __init__(self, source: Source, time: Time) -> None:
        self.source = source
        self.time = time
        self.cause = 0
        """The number of the fact that causes what happens now. `because` sets it only while
        synchronous code runs, because it must not stay set during an await.
        """
        self.hops = False
        """Whether any sink wants Level.HOPS."""
        self.all = False
        """Whether any sink wants Level.ALL."""
        self.seq = 0
        """The number of the last fact."""
        self.slow = SlowBudget()
        """Decides which hops of slow requests every sink gets."""
        self._attached: tuple[_Attached, ...] = ()
        self._accepts: tuple[tuple[Callable[[Envelope], None], ...], ...] = ((),)
        """For each rank of a level, the `accept` methods of the sinks that want facts of this
        level.
        """
        self._mixed: bytearray | None = None
        """The rank of each recent fact's level, by the fact's number. It is kept from the time when
        sinks first want different levels. Before that it is None, because then every sink gets
        every fact.
        """
        self._snapshots: tuple[Samples, ...] = ()
        self._gauges: tuple[Samples, ...] = ()

    def __call__(self, event: Event, level: Level | None = None) -> int:
        """Emit one fact and return its number, which later facts can name as their cause. O(sinks).

        A sink gets the facts of its own level. Without `level`, the fact has the level of its
        class. With `level`, this one fact has another level: for example, a slow request's hops
        have level STATE.
        """
        self.seq = seq = self.seq + 1
        time = self.time
        # `tuple.__new__` takes half the time of Envelope's own constructor.
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
        try:  # `try` costs nothing as long as no sink raises
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
        """Pass the event to the sinks after the one that failed, and remove all sinks that fail."""
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
        """Remove a sink that failed, log the reason, and emit SinkFailed for the other sinks. Call
        the sink's `on_failure`, so that its owner can close open files. Do nothing if the sink was
        removed before.
        """
        self._remove_failed([(each, error) for each in self._attached if each.sink is sink])

    def _remove_failed(self, failures: list[tuple[_Attached, Exception]]) -> None:
        """Remove all failed sinks first, and then report them. Otherwise the report about one
        failed sink would be sent to the other failed ones.
        """
        for attached, _ in failures:
            self.remove_sink(attached.sink)
        for attached, error in failures:
            self.say_failed(attached.name, error)
            try:
                attached.on_failure()
            except Exception:
                log.exception("%s could not be closed", attached.name)

    def say_failed(self, name: str, error: Exception) -> None:
        """Log that an output of events has failed or could not be opened, and emit SinkFailed."""
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
        """Return the level at which the fact `seq` was emitted. Return STATE if all sinks want the
        same level, or if more than FACTS_REMEMBERED facts have followed.
        """
        if self._mixed is None or self.seq - seq >= FACTS_REMEMBERED:
            return Level.STATE
        return LEVELS[self._mixed[seq % FACTS_REMEMBERED]]

    def tells_slow(self) -> bool:
        """Return whether the next hop of a slow request has level STATE. If not, it is treated like
        any other hop, and is counted as left out. O(1).
        """
        return self.slow.take(self.time.nanoseconds())

    @property
    def level_of_cause(self) -> Level:
        """The level for a hop that is as important as its cause. It is STATE if the cause was
        emitted at level STATE, else HOPS.
        """
        cause, mixed = self.cause, self._mixed
        if not cause:
            return HOPS
        if mixed is None or self.seq - cause >= FACTS_REMEMBERED:
            return STATE
        return HOPS if mixed[cause % FACTS_REMEMBERED] else STATE

    def because(self, seq: int) -> "Because":
        """Return a context in which fact `seq` is the cause of all emitted facts. The code in the
        `with` block must not await.
        """
        return Because(self, seq)

    def carry(self, seq: int, work: Awaitable[T]) -> Awaitable[T]:
        """Return an awaitable that runs `work` with fact `seq` as the cause of each of its steps.

        A coroutine runs in steps, from one await to the next. The cause is set at the start of each
        step and reset at its end. So `work` keeps its cause over its awaits, and other tasks never
        get it. A task that `work` creates does not inherit the cause.
        """
        return _Carried(self, seq, work)

    def add_sink(
        self, sink: Sink, name: str = "", on_failure: Callable[[], None] = lambda: None
    ) -> None:
        """Pass events to a sink from now on. `name` describes the sink for people; if it is empty,
        the name of the sink's class is used. `on_failure` is called if the sink fails and is
        removed.
        """
        attached = _Attached(sink, name or type(sink).__name__, on_failure)
        self._attached = (*self._attached, attached)
        self.levels_changed()

    def remove_sink(self, sink: Sink) -> None:
        self._attached = tuple(each for each in self._attached if each.sink is not sink)
        self.levels_changed()

    def levels_changed(self) -> None:
        """Check again which levels the sinks want. Must be called after a sink has changed its
        level.
        """
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
        """Register a function that returns the whole state of a part, as events of
        Kind.SNAPSHOT.
        """
        self._snapshots = (*self._snapshots, source)

    def on_gauges(self, source: Samples) -> None:
        """Register a function that returns a sample of a part, as events of Kind.GAUGE. It is
        called ten times a second while a subscriber wants gauges.
        """
        self._gauges = (*self._gauges, source)

    def forget(self, *sources: Samples) -> None:
        """Never sample these functions again: their part, such as a client, has ended. A function
        that is not registered is ignored.
        """
        self._snapshots = tuple(each for each in self._snapshots if each not in sources)
        self._gauges = tuple(each for each in self._gauges if each not in sources)

    def snapshot(self) -> list[Envelope]:
        """Return the state of all parts after the fact `seq`, as snapshot events. O(state)."""
        return self._sample(self._snapshots)

    def gauges(self) -> list[Envelope]:
        """Return one sample of every gauge, as events."""
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
        """Never sample this part again, because it raised an exception. Otherwise it would raise
        ten times a second.
        """
        self.forget(source)
        name = _name(source)
        log.error("%s is not sampled any more, because it failed: %s", name, error, exc_info=error)
        with self.because(0):
            self(SampleFailed(sample=name, reason=_reason(error)))


def _name(source: Samples) -> str:
    if isinstance(source, FunctionType | MethodType):
        return f"{source.__module__}.{source.__qualname__}"
    return type(source).__qualname__


def _reason(error: Exception) -> str:
    """Return an error as text: the operating system's words, or the kind of bug."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"


class Because:
    """A context that sets the cause of all facts emitted in its block. It takes 0.3 µs. A context
    made from a generator takes three times as long, and a request enters six contexts.
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
    """Return `trace.because(seq)`. If there is no tracer or no cause, return a context that does
    nothing.
    """
    return trace.because(seq) if trace is not None and seq else _NO_CAUSE


class _Carried(Generic[T]):
    """Runs an awaitable step by step. During each step, `Tracer.because` sets the cause."""

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
                except BaseException as thrown:  # also a cancellation: `work` handles it
                    error = thrown
        finally:
            error = waits_for = (
                # An error's traceback refers to this frame. Without this line, both would stay in
                # memory until the garbage collector runs.
                None
            )
