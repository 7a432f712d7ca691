"""Emit events about a learner's code: installed, failed, no longer used, and the number of calls.

`kafka_edu.learner.seams` installs the code.
"""

from collections.abc import Callable, Iterable, Iterator

from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.learner import (
    LearnerCalls,
    LearnerFailed,
    LearnerInstalled,
    LearnerRetired,
    LearnerSampled,
    LearnerServed,
    LearnerSnapshot,
)
from kafka_edu.trace.tracer import Tracer


def trace_learner(
    installed: Iterable[LearnerCode],
    trace: Tracer,
    in_turn: Callable[[Callable[[], object]], object] = lambda emit: emit(),
) -> Callable[[], None]:
    """Emit an event for each installed file now, and for each failure from now on.

    A failure may be reported in a worker thread. `in_turn` then calls the tracer in the right
    thread. Return a function that emits the numbers of calls and failures. It is called at the
    broker's end.
    """
    codes = tuple(installed)
    for code in codes:
        _trace_one(code, trace, in_turn)

    def ended() -> None:
        for code in codes:
            trace(LearnerServed(exercise=code.seam.exercise, total=_total(code)))

    return ended


def _total(code: LearnerCode) -> LearnerCalls:
    return LearnerCalls(calls=code.calls, failures=code.failures)


def _trace_one(
    code: LearnerCode, trace: Tracer, in_turn: Callable[[Callable[[], object]], object]
) -> None:
    exercise, replaces, file = (
        code.seam.exercise,
        f"{code.seam.module}.{code.seam.name}",
        str(code.path),
    )

    def failed(error: LearnerError) -> None:
        event = LearnerFailed(
            exercise=exercise,
            message=error.message,
            file=error.file,
            line=error.line,
            failures=code.failures,
        )
        in_turn(lambda: trace(event))

    def retired() -> None:
        event = LearnerRetired(
            exercise=exercise, replaces=replaces, file=file, failures=code.failures
        )
        in_turn(lambda: trace(event))

    def snapshot() -> Iterator[Event]:
        yield LearnerSnapshot(
            exercise=exercise,
            replaces=replaces,
            file=file,
            total=_total(code),
        )

    def gauges() -> Iterator[Event]:
        yield LearnerSampled(exercise=exercise, total=_total(code))

    code.on_failure = failed
    code.on_retired = retired
    trace.on_snapshot(snapshot)
    trace.on_gauges(gauges)
    trace(LearnerInstalled(exercise=exercise, replaces=replaces, file=file))
