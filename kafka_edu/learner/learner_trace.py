"""Emit events about a learner's code: installed, failed, no longer used, and the number of calls.

`kafka_edu.learner.seams` installs the code. In a simulation each call and each printed line is an
event too (`trace_calls`).
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Final

from kafka_edu.learner.seams import Called, LearnerCode, LearnerError
from kafka_edu.trace.event import Event, Level
from kafka_edu.trace.events.learner import (
    LearnerAnswered,
    LearnerCalls,
    LearnerFailed,
    LearnerInstalled,
    LearnerPrinted,
    LearnerRetired,
    LearnerSampled,
    LearnerServed,
    LearnerSnapshot,
)
from kafka_edu.trace.tracer import Tracer

MOST_SHOWN: Final = 160
"""The maximum number of characters of a call, an answer or a printed line in an event."""
MOST_LINES: Final = 20
"""The maximum number of printed lines of one call that become events."""
_ADDRESS: Final = re.compile(r"0x[0-9a-f]{6,}")


def trace_learner(
    installed: Iterable[LearnerCode],
    trace: Tracer,
    in_turn: Callable[[Callable[[], object]], object] = lambda emit: emit(),
) -> Callable[[], None]:
    """Emit an event for each installed file now, and for each failure from now on.

    A failure may be reported in a worker thread. In that case `in_turn` calls the tracer in the
    thread of the event loop. Return a function that emits the numbers of calls and failures; the
    broker must call it when it ends.
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


class Prints(AbstractContextManager["Prints"]):
    """The lines that a learner's code prints. The learner's process writes the lines into
    `file`.
    """

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._taken = 0

    def take(self) -> list[str]:
        """Return the lines that were printed since the last call."""
        descriptor = self.file.fileno()
        size = os.fstat(descriptor).st_size - self._taken
        if not size:
            return []
        # Both processes share the place at which the next line is written, so this one never seeks.
        text = os.pread(descriptor, size, self._taken).decode("utf-8", "replace")
        self._taken += size
        lines = [_ADDRESS.sub("0x…", line)[:MOST_SHOWN] for line in text.splitlines()]
        more = len(lines) - MOST_LINES
        return lines if more <= 0 else [*lines[:MOST_LINES], f"… {more:,} more lines"]

    def close(self) -> None:
        self.file.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def trace_calls(code: LearnerCode, prints: Prints, trace: Tracer) -> None:
    """Emit an event for each answer and for each printed line, from now on. Call this after
    `trace_learner`.
    """
    exercise = code.seam.exercise
    source = code.path.read_text(encoding="utf-8", errors="replace").splitlines()
    fails = code.on_failure

    def printed() -> None:
        for line in prints.take():
            trace(LearnerPrinted(exercise=exercise, text=line))

    def called(call: Called) -> None:
        printed()
        if trace.all:
            known = 0 < call.line <= len(source)
            answered = LearnerAnswered(
                exercise=exercise,
                call=call.call[:MOST_SHOWN],
                answer=repr(call.answer)[:MOST_SHOWN],
                line=call.line,
                source=source[call.line - 1].strip()[:MOST_SHOWN] if known else "",
            )
            # A user who watches a learner's part always wants to see its answers.
            trace(answered, Level.STATE)

    def failed(error: LearnerError) -> None:
        printed()
        if fails is not None:
            fails(error)

    printed()
    code.on_called, code.on_failure = called, failed
