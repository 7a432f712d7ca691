"""Events about learner's code: it serves, it was called so often, it failed so often, ours stays.

`kafka_edu.learner.seams` installs it.
"""

from collections.abc import Iterable, Iterator

from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.learner import (
    LearnerCalls,
    LearnerFailed,
    LearnerInstalled,
    LearnerRetired,
    LearnerSampled,
    LearnerSnapshot,
)
from kafka_edu.trace.tracer import Tracer


def trace_learner(installed: Iterable[LearnerCode], trace: Tracer) -> None:
    """Emit an event for each installed file now, and for each failure from now on."""
    for code in installed:
        _trace_one(code, trace)


def _trace_one(code: LearnerCode, trace: Tracer) -> None:
    exercise, replaces, file = (
        code.seam.exercise,
        f"{code.seam.module}.{code.seam.name}",
        str(code.path),
    )

    def failed(error: LearnerError) -> None:
        trace(
            LearnerFailed(
                exercise=exercise,
                message=error.message,
                file=error.file,
                line=error.line,
                failures=code.failures,
            )
        )

    def retired() -> None:
        trace(
            LearnerRetired(exercise=exercise, replaces=replaces, file=file, failures=code.failures)
        )

    def total() -> LearnerCalls:
        return LearnerCalls(calls=code.calls, failures=code.failures)

    def snapshot() -> Iterator[Event]:
        yield LearnerSnapshot(
            exercise=exercise,
            replaces=replaces,
            file=file,
            total=total(),
        )

    def gauges() -> Iterator[Event]:
        yield LearnerSampled(exercise=exercise, total=total())

    code.on_failure = failed
    code.on_retired = retired
    trace.on_snapshot(snapshot)
    trace.on_gauges(gauges)
    trace(LearnerInstalled(exercise=exercise, replaces=replaces, file=file))
