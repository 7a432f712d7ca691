"""One check of one learner's file: first what can be said at once, then the public tests, then the
live cluster.
"""

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from kafka_edu.common.python_process import command_line

from .manifest import Exercise
from .public_tests import Outcome, run_public_tests
from .verdict import Step


class LivePart(Protocol):
    """What the module named `live` in the manifest has."""

    def check_live(self, file: Path, say: Callable[[str], None]) -> Iterator[Step]: ...


class Verdict(NamedTuple):
    """All of it. `live` is None where the live part was not run."""

    exercise: str
    file: str
    objection: str
    """Why the file was not tried at all; empty if it was."""
    public: tuple[Outcome, ...]
    live: tuple[Step, ...] | None

    @property
    def public_passed(self) -> bool:
        return (
            not self.objection
            and bool(self.public)
            and all(outcome.passed for outcome in self.public)
        )

    @property
    def passed(self) -> bool:
        """Whether everything was run and held."""
        return (
            self.public_passed and bool(self.live) and all(step.passed for step in self.live or ())
        )

    def write(self, path: Path) -> None:
        document = {
            "exercise": self.exercise,
            "file": self.file,
            "passed": self.passed,
            "objection": self.objection,
            "public": [outcome._asdict() for outcome in self.public],
            "live": None if self.live is None else [step._asdict() for step in self.live],
        }
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def objection(exercise: Exercise, file: Path) -> str:
    """Why there is nothing to try; empty if there is."""
    if not file.is_file():
        return f"there is no {file}: begin with `{command_line(f'lab start {exercise.id}')}`"
    content = file.read_bytes()
    if not content.strip():
        return (
            f"{file} is empty: `{command_line(f'lab start {exercise.id}')}` in another folder gives"
            " the starter again"
        )
    if content == exercise.starter.read_bytes():
        return (
            f"{file} is still the starter. {exercise.title}: README.md beside it says what is asked"
        )
    return ""


def check_public(exercise: Exercise, file: Path) -> Verdict:
    """Without the live part. Raises CheckError when the tests cannot run."""
    against = objection(exercise, file)
    public = () if against else tuple(run_public_tests(exercise, file))
    return Verdict(exercise.id, str(file), against, public, None)


def live_part(exercise: Exercise) -> LivePart:
    package = __name__.rpartition(".")[0].rpartition(".")[0]
    module: LivePart = importlib.import_module(f"{package}.{exercise.live}")
    return module
