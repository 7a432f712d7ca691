"""One check of one learner's file: first what can be said at once, then the public tests, then the
live cluster.
"""

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from kafka_edu.common.python_process import command_line
from kafka_edu.learner.learner import Jail, Learner, LearnerFailure

from .manifest import Exercise
from .material import new_seed
from .public_tests import Outcome, run_public_tests
from .pytest_plugin import WALL_LIMIT_S
from .verdict import Step


class LivePart(Protocol):
    """The functions of the module named `live` in the manifest."""

    def check_live(
        self, exercise: Exercise, file: Path, say: Callable[[str], None]
    ) -> Iterator[Step]: ...


class Verdict(NamedTuple):
    """All of it. `live` is None where the live part was not run."""

    exercise: str
    file: str
    seed: int
    """The seed of what the public tests chose by chance."""
    objection: str
    """Why the file was not tried at all; empty if it was."""
    public: tuple[Outcome, ...]
    live: tuple[Step, ...] | None
    has_live: bool = True
    """Whether there is more to do than these public tests before it counts."""

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
        if not self.has_live:
            return self.public_passed
        return (
            self.public_passed and bool(self.live) and all(step.passed for step in self.live or ())
        )

    @property
    def answered_wrongly(self) -> bool:
        """Whether an answer was given and was wrong, so that the right one has been shown."""
        return any(outcome.expected for outcome in self.public)

    def write(self, path: Path) -> None:
        document = {
            "exercise": self.exercise,
            "file": self.file,
            "seed": self.seed,
            "passed": self.passed,
            "objection": self.objection,
            "public": [outcome._asdict() for outcome in self.public],
            "live": None if self.live is None else [step._asdict() for step in self.live],
        }
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def cannot_load(exercise: Exercise, file: Path, jail: Jail | None = None) -> str:
    """Return why the file cannot be loaded, with the line and a caret; empty if it can be. Raises
    JailError.
    """
    learner = Learner(file, exercise.wanted, wall_limit_s=WALL_LIMIT_S, jail=jail)
    try:
        learner.start()
    except LearnerFailure as failure:
        shown = "".join(
            f"\n{line}" for line in source_lines(file, failure.line, column=failure.column)
        )
        where = f", line {failure.line}" if failure.line else ""
        return f"{file.name}{where}: {failure.message}{shown}"
    finally:
        learner.close()
    return ""


def source_lines(file: Path, line: int, *, column: int = 0) -> list[str]:
    """Return the source line with its number, and under it a caret if the line has that column."""
    lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    if not 1 <= line <= len(lines):
        return []
    prefix = f"{line:>5} | "
    shown = [prefix + lines[line - 1].expandtabs(1)]
    if 1 <= column <= len(lines[line - 1]) + 1:  # the learner's process says it: it may be forged
        shown.append(" " * (len(prefix) + column - 1) + "^")
    return shown


def objection(exercise: Exercise, file: Path) -> str:
    """Why there is nothing to try; empty if there is."""
    if not file.is_file():
        return f"there is no {file}: begin with `{command_line(f'lab start {exercise.id}')}`"
    content = file.read_bytes()
    if not content.strip():
        return (
            f"{file} is empty: `{command_line(f'lab reset {exercise.id}')}` puts the starter there"
            " again"
        )
    if content == exercise.starter.read_bytes():
        return (
            f"{file} is still the starter. {exercise.title}: README.md next to it says what is"
            " asked"
        )
    return ""


def check_public(
    exercise: Exercise,
    file: Path,
    seed: int | None = None,
    *,
    material: int = 0,
    only: str = "",
    terminal: str = "",
    stop_at_failure: bool = False,
) -> Verdict:
    """Check without the live part (`run_public_tests`). Raises CheckError when the tests cannot
    run.
    """
    seed = new_seed() if seed is None else seed
    against = objection(exercise, file) or cannot_load(exercise, file)
    public = (
        ()
        if against
        else tuple(
            run_public_tests(
                exercise,
                file,
                seed,
                material=material,
                only=only,
                terminal=terminal,
                stop_at_failure=stop_at_failure,
            )
        )
    )
    return Verdict(
        exercise.id, str(file), seed, against, public, None, exercise.beyond_public or bool(only)
    )


def live_part(exercise: Exercise) -> LivePart:
    package = __name__.rpartition(".")[0].rpartition(".")[0]
    module: LivePart = importlib.import_module(f"{package}.{exercise.live}")
    return module
