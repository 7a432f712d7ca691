"""Wrong answers, which prove that the tests find mistakes.

A wrong answer consists of a few edits of a reference solution. `exercises/wrong` has a file for
each exercise. A row `[[wrong]]` says why the answer is wrong, and which public test fails with
which message. With `hidden = true` the answer passes all public tests, and a hidden test finds it.
Each `[[wrong.edit]]` replaces the text `old` by `new`. The reference solution must have `old`
exactly once.
"""

import ast
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from .runner.manifest import Exercise

_KEYS: Final = {"name", "why", "test", "reason", "edit"}
_OPTIONAL: Final = {"live", "hidden"}


class WrongAnswerError(Exception):
    """A row of wrong answers cannot be used; the message names the row and says why."""


class Edit(NamedTuple):
    """One edit: the text `old` of the reference solution is replaced by `new`."""

    old: str
    new: str


class WrongAnswer(NamedTuple):
    """A wrong answer that a learner could give, and how it fails."""

    exercise: Exercise
    number: int
    """The number of its place in the file of wrong answers, from 1."""
    name: str
    why: str
    """The mistake, in one sentence."""
    test: str
    """The test that it must fail: a public test, unless `live` or `hidden` is set."""
    reason: str
    """A text that the failed test's message must contain."""
    edits: tuple[Edit, ...]
    live: bool
    """Whether `test` is a step of the live part, which needs a cluster."""
    hidden: bool
    """Whether only a hidden test finds the mistake."""

    @property
    def id(self) -> str:
        """Return the short name, such as 02-1/3."""
        return f"{self.exercise.id}/{self.number}"

    @property
    def title(self) -> str:
        """Return the short name and the name, such as 02-1/3 rounded_up."""
        return f"{self.id} {self.name}"

    def edited(self) -> str:
        """Return the text of the reference solution after the edits.

        Raises WrongAnswerError if an edit does not fit the solution.
        """
        reference = self.exercise.solution.read_text(encoding="utf-8")
        places = []
        for number, edit in enumerate(self.edits, 1):
            count = reference.count(edit.old) if edit.old else 0
            if count != 1:
                raise WrongAnswerError(
                    f"{self.title}: `old` of edit {number} is in {self.exercise.solution.name}"
                    f" {count} times, but must be there exactly once: {edit.old!r}"
                )
            places.append((reference.index(edit.old), number, edit))
        parts, end = [], 0
        for place, number, edit in sorted(places):
            if place < end:
                raise WrongAnswerError(
                    f"{self.title}: `old` of edit {number} overlaps with that of another edit:"
                    f" {edit.old!r}"
                )
            parts += [reference[end:place], edit.new]
            end = place + len(edit.old)
        return "".join([*parts, reference[end:]])

    def source(self) -> str:
        """Return the source of the whole wrong answer, with a docstring that says why it is wrong.

        Raises WrongAnswerError.
        """
        edited = self.edited()
        lines = edited.splitlines(keepends=True)
        docstring = ast.parse(self.exercise.solution.read_text(encoding="utf-8")).body[0]
        text = f'"""Exercise {self.exercise.id}, wrong: {self.why}"""\n'
        return text + "".join(lines[docstring.end_lineno :])

    def write(self, folder: Path) -> Path:
        """Write the wrong answer into a folder, and return the file. Raises WrongAnswerError and
        OSError.
        """
        file = folder / f"{self.name}.py"
        file.write_text(self.source(), encoding="utf-8")
        return file


def wrong_answers(exercise: Exercise) -> tuple[WrongAnswer, ...]:
    """Return the wrong answers to an exercise, by number. A student's copy of the course has none.

    Raises WrongAnswerError.
    """
    if not exercise.wrong.is_file():
        return ()
    with exercise.wrong.open("rb") as file:
        rows = tomllib.load(file)["wrong"]
    return tuple(_answer(exercise, number, row) for number, row in enumerate(rows, 1))


def wrong_answer(exercise: Exercise, name: str) -> WrongAnswer:
    """Return the wrong answer that has this name or number. Raises WrongAnswerError."""
    answers = wrong_answers(exercise)
    for answer in answers:
        if name in (answer.name, str(answer.number)):
            return answer
    there = ", ".join(f"{answer.number} {answer.name}" for answer in answers)
    raise WrongAnswerError(
        f"{exercise.id} has no wrong answer '{name}'; there are: {there}"
        if there
        else "this copy of the course has no wrong answers: ask your teacher"
    )


def _answer(exercise: Exercise, number: int, row: Mapping[str, Any]) -> WrongAnswer:
    title = f"{exercise.id}/{number} {row.get('name', '')}".rstrip()
    if missing := _KEYS - row.keys():
        raise WrongAnswerError(f"{title}: there is no `{min(missing)}`")
    if unknown := row.keys() - _KEYS - _OPTIONAL:
        raise WrongAnswerError(f"{title}: `{min(unknown)}` means nothing here")
    return WrongAnswer(
        exercise=exercise,
        number=number,
        name=row["name"],
        why=row["why"],
        test=row["test"],
        reason=row["reason"],
        edits=tuple(Edit(edit["old"], edit["new"]) for edit in row["edit"]),
        live=row.get("live", False),
        hidden=row.get("hidden", False),
    )
