"""Prove that the capstone finds wrong parts.

Each run has one wrong part. The moment of this part has to fail, in the stated step and with the
stated text.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console

from kafka_edu.cli.report import Report

from .capstone import MOMENTS, play
from .my_broker import Part, parts_of, reference_parts
from .runner.manifest import Exercise, load_manifest
from .wrong_answers import Edit, WrongAnswer, wrong_answer

PATIENCE_S: Final = 25.0
"""The seconds that a step waits. With a wrong part, the expected event often never comes."""


class Wrong(NamedTuple):
    """A wrong part, and the step that has to fail because of it."""

    exercise: str
    why: str
    step: str
    """The name of the step that has to fail, or the beginning of the name."""
    seen: str
    """A text that the failed step's result has to contain."""
    name: str = ""
    """The name of one of the exercise's wrong answers. If it is empty, `edit` makes the wrong part.
    """
    edit: Edit = Edit("", "")
    """The change of the reference solution that makes the part wrong. Used if `name` is empty."""


WRONG: Final[Mapping[str, Wrong]] = {
    "the wheel": Wrong(
        "02-1",
        "each task counts as due",
        "fetches time out when they should",
        "ran too early",
        edit=Edit("if expiration_ms < self.current_time_ms + self.tick_ms:", "if expiration_ms:"),
    ),
    "when a produce is done": Wrong(
        "03-2",
        "it does not wait for the high watermark",
        "no record is acked that a replica of the ISR lacks",
        "were acked while a follower of the ISR was paused",
        edit=Edit('if state["hw"] < required_offset:', "if required_offset < 0:"),
    ),
    "when a fetch is done": Wrong(
        "03-3",
        "any byte is enough",
        "a reader that wants 10,000 bytes gets no answer with less",
        "were answered",
        edit=Edit("if available >= self.min_bytes:", "if available > 0:"),
    ),
    "the tables of states": Wrong(
        "04-1",
        "what is Offline never becomes Online again",
        "broker 2 is killed, and another one leads its partition",
        "nobody was elected",
        edit=Edit(
            '"Online": frozenset({"New", "Online", "Offline"}),\n        "Offline"',
            '"Online": frozenset({"New", "Online"}),\n        "Offline"',
        ),
    ),
    "the controller's election": Wrong(
        "05-1",
        "it continues although /controller has another id",
        "/controller is overwritten: its holder resigns",
        "its holder did not resign",
        name="clings_to_the_office",
    ),
    "the shutdown loop": Wrong(
        "06-1",
        "it gives up after the first attempt",
        "the controller does not answer: broker 2 asks on",
        "it stopped after attempt 1",
        name="no_retry",
    ),
    "the strategies": Wrong(
        "07-1",
        "the dead stay in the ISR",
        "each leader is the one that the sets of that moment require",
        "it is",
        name="dead_in_isr",
    ),
    "the ISR": Wrong(
        "07-2", "nobody ever leaves", "broker", "it is still a member", name="nobody_leaves"
    ),
    "where a log is cut": Wrong(
        "07-3",
        "it keeps its log",
        "broker 2 cuts its log exactly where the two part",
        "it cut from",
        name="no_cut",
    ),
}


def prove_wrong_parts(seed: int, console: Console) -> Report:
    """For each part, run its moment with a wrong version of the part, while all other parts are
    right.
    """
    report = Report("capstone-wrong")
    exercises = load_manifest()
    with tempfile.TemporaryDirectory(prefix="kafka-edu-") as folder:
        for moment in MOMENTS:
            wrong = WRONG[moment.name]
            file = _written(wrong, exercises[wrong.exercise], Path(folder))
            with console.status(f"{moment.name}: {wrong.why}"):
                played = play(
                    _with(wrong.exercise, file, exercises, moment.exercises),
                    seed,
                    0,
                    lambda words: None,
                    [moment],
                    PATIENCE_S,
                )
            failed = [step for step in played.steps[moment.name] if not step.passed]
            as_stated = [
                step
                for step in failed
                if step.says.startswith(wrong.step) and wrong.seen in step.seen
            ]
            shown = as_stated or failed
            seen = f"{shown[0].says}: {shown[0].seen}" if shown else "nothing failed"
            console.print(f"{moment.name}: {wrong.why}. {seen}", highlight=False, markup=False)
            report.figure(f"{moment.name}: {wrong.why}", seen)
            report.target(f"{moment.name}: fails as stated", int(bool(as_stated)), "==", 1)
    return report


def _written(wrong: Wrong, exercise: Exercise, folder: Path) -> Path:
    """Write the file of the wrong part, and return its path."""
    if wrong.name:
        text = wrong_answer(exercise, wrong.name).source()
    else:
        made = WrongAnswer(
            exercise, 1, wrong.exercise, wrong.why, "", "", (wrong.edit,), True, False
        )
        text = made.source()
    file = folder / f"wrong_{wrong.exercise.replace('-', '_')}.py"
    file.write_text(text, encoding="utf-8")
    return file


def _with(
    exercise: str, file: Path, exercises: Mapping[str, Exercise], others: tuple[str, ...]
) -> list[Part]:
    """Return the reference solutions as parts. For `exercise`, use the wrong part `file` instead.

    The other exercises that replace the same part of the broker are left out.
    """
    known = reference_parts(exercises.values())
    files = {part.exercise.id: part.exercise.solution for part in known}
    files[exercise] = file
    without = [one for one in others if one != exercise]
    return parts_of([part.exercise for part in known], files, {}, without)
