"""Show each call of a learner's part in a simulated run, and compare a second run with the first.

A learner's part may use a clock, random numbers or the identity of its objects for its answers.
Then a second run with the same seed is different, and nothing that was seen in the first run can be
found again.
"""

from collections.abc import Sequence
from typing import Final

from rich.console import Console

from kafka_edu.common.words import plural
from kafka_edu.learner.lab_partitions import LAB_TOPICS
from kafka_edu.sim.learner_parts import InstalledPart
from kafka_edu.sim.scenario.compare import first_difference
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.learner import (
    LearnerAnswered,
    LearnerFailed,
    LearnerPrinted,
    LearnerRetired,
)

EVENTS: Final = (LearnerAnswered, LearnerFailed, LearnerPrinted, LearnerRetired)


def step_line(envelope: Envelope) -> str | None:
    """Return an answer of a learner's code as text, with its source line. None if the event is not
    such an answer.
    """
    match envelope.event:
        case LearnerAnswered(exercise=exercise, call=call, answer=answer, line=line, source=source):
            where = f"   line {line}: {source}" if line else ""
            return f"broker {envelope.broker}, {exercise}: {call} → {answer}{where}"
    return None


def show_parts(
    console: Console, parts: Sequence[InstalledPart], facts: Sequence[Envelope], topics: str
) -> bool:
    """Show how often each part was called. Return whether none has failed.

    `topics` are the names of the run's topics.
    """
    good = True
    for part in parts:
        calls, failed = 0, list[LearnerFailed]()
        for each in facts:
            match each.event:
                case LearnerAnswered(exercise=part.exercise):
                    calls += 1
                case LearnerFailed(exercise=part.exercise) as failure:
                    failed.append(failure)
        words = f"your part {part.exercise} was called {plural(calls, 'time')}"
        if failed:
            first = failed[0]
            where = f"{first.file}:{first.line}" if first.line else first.file
            console.print(
                f"✕ {words}, and failed {plural(len(failed), 'time')}, first in {where}:"
                f" {first.message}",
                style="red",
                soft_wrap=True,
                highlight=False,
            )
            good = False
            continue
        hint = "" if calls else f". Some parts serve only topics {LAB_TOPICS}…; here is {topics}"
        console.print(f"{words}{hint}", soft_wrap=True, highlight=False)
    return good


def why_not_the_same(first: Sequence[Envelope], second: Sequence[Envelope]) -> str:
    """Return what is different in the second run of the same seed, in one sentence."""
    found = first_difference(first, second)
    if found is None:
        return "the two runs differ, but your part's answers and prints are the same"
    at = found.first or found.second
    assert at is not None
    when = f"at {at.mono_us / 1e6:.6f} s, broker {at.broker}"
    match at.event:
        case (
            LearnerAnswered(exercise=exercise)
            | LearnerFailed(exercise=exercise)
            | LearnerPrinted(exercise=exercise)
            | LearnerRetired(exercise=exercise)
        ):
            pass
        case _:
            raise AssertionError(f"{at.name} is no fact of a learner's part")
    return (
        f"{exercise} is not deterministic: the same seed has given two runs. They part {when}."
        f" First it {_did(found.first)}; in the second run it {_did(found.second)}"
    )


def _did(envelope: Envelope | None) -> str:
    match envelope.event if envelope is not None else None:
        case LearnerAnswered(call=call, answer=answer, line=line, source=source):
            where = f" (line {line}: {source})" if line else ""
            return f"answered {answer} to {call}{where}"
        case LearnerPrinted(text=text):
            return f"printed {text!r}"
        case LearnerFailed(message=message, line=line):
            return f"failed in line {line}: {message}"
        case LearnerRetired():
            return "failed too often"
    return "did nothing more"
