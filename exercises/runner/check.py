"""Check one file of a learner.

First look for reasons not to run the file. Then run the public tests, and after them the live part
in a cluster.
"""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from kafka_edu.common.python_process import command_line
from kafka_edu.instruments.json_file import write_json
from kafka_edu.learner.learner import Jail, Learner, LearnerFailure
from kafka_edu.spark.driver_client import Drivers

from .manifest import Exercise
from .material import new_seed
from .public_tests import (
    LIMITS,
    CheckError,
    Grading,
    Limits,
    Outcome,
    Run,
    TooSlowError,
    limits_now,
    run_public_tests,
    usual_limits,
)
from .spark_learner import SPARK, learner_class, why_no_spark
from .verdict import Step


class LivePart(Protocol):
    """The functions that the module named `live` in the manifest must have."""

    def check_live(
        self, exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
    ) -> Iterator[Step]:
        """Yield each step. A step that waited `patience_s` seconds without success is `late`.

        If `file` is None, the course's own code runs in place of the learner's code. This is done
        only for a live part whose steps can be late. Raises ClusterError and TimeoutError when the
        cluster itself fails.
        """
        ...


class Verdict(NamedTuple):
    """The result of a whole check. `live` is None if the live part was not run."""

    exercise: str
    file: str
    seed: int
    """The seed of the random numbers in the public tests."""
    objection: str
    """Why the file was not tested at all; empty if it was tested."""
    public: tuple[Outcome, ...]
    live: tuple[Step, ...] | None
    has_live: bool = True
    """Whether the exercise also has a live part or a cluster that must pass."""
    limits: Limits = LIMITS
    """The limits for other files, if this was a check of the reference solution."""

    @property
    def public_passed(self) -> bool:
        return (
            not self.objection
            and bool(self.public)
            and all(outcome.passed for outcome in self.public)
        )

    @property
    def passed(self) -> bool:
        """Whether all parts of the check were run and passed."""
        if not self.has_live:
            return self.public_passed
        return (
            self.public_passed and bool(self.live) and all(step.passed for step in self.live or ())
        )

    @property
    def answered_wrongly(self) -> bool:
        """Whether the learner gave a wrong answer. In this case, the learner has seen the right
        answer.
        """
        return any(outcome.expected for outcome in self.public)

    def write(self, path: Path) -> None:
        """Write everything as JSON. Raises ClickException if the file cannot be written."""
        document = {
            "exercise": self.exercise,
            "file": self.file,
            "seed": self.seed,
            "passed": self.passed,
            "objection": self.objection,
            "public": [outcome._asdict() for outcome in self.public],
            "live": None if self.live is None else [step._asdict() for step in self.live],
        }
        write_json(path, document)


def cannot_load(
    exercise: Exercise, file: Path, jail: Jail | None = None, limits: Limits = LIMITS
) -> str:
    """Return why the file cannot be loaded, with the line and a caret; empty if loading works.

    Raises JailError, and TooSlowError if loading exceeds its limits.
    """
    runs = learner_class(exercise.engine)
    return load_failure(runs(file, exercise.wanted, allowance=limits.call, jail=jail), file)


def load_failure(learner: Learner, file: Path) -> str:
    """Return why the learner's file cannot be loaded; empty if loading works.

    Raises JailError, and TooSlowError if loading exceeds its limits.
    """
    try:
        learner.start()
    except LearnerFailure as failure:
        shown = "".join(
            f"\n{line}" for line in source_lines(file, failure.line, column=failure.column)
        )
        where = f", line {failure.line}" if failure.line else ""
        why = f"{file.name}{where}: {failure.message}{shown}"
        if failure.timed_out:
            raise TooSlowError(why) from None
        return why
    finally:
        learner.close()
    return ""


def source_lines(file: Path, line: int, *, column: int = 0) -> list[str]:
    """Return the source line with its number, and a line with a caret if the line has that
    column.
    """
    lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    if not 1 <= line <= len(lines):
        return []
    prefix = f"{line:>5} | "
    shown = [prefix + lines[line - 1].expandtabs(1)]
    if 1 <= column <= len(lines[line - 1]) + 1:  # the learner's process says it: it may be forged
        shown.append(" " * (len(prefix) + column - 1) + "^")
    return shown


class Objection(NamedTuple):
    """A reason not to run the tests on a file."""

    what: str
    """The fault of the file."""
    advice: str
    """The learner's next step. It is not shown in a grade."""

    def __str__(self) -> str:
        return self.what + self.advice


def objection(exercise: Exercise, file: Path) -> Objection | None:
    """Return the reason not to run the tests on this file, or None if they can be run."""
    if not file.is_file():
        begin = command_line(f"lab start {exercise.id}")
        return Objection(f"there is no {file}", f": begin with `{begin}`")
    content = file.read_bytes()
    if not content.strip():
        reset = command_line(f"lab reset {exercise.id}")
        return Objection(f"{file} is empty", f": `{reset}` puts the starter there again")
    if content == exercise.starter.read_bytes():
        return Objection(
            f"{file} is still the starter",
            f". {exercise.title}: README.md next to it describes the task",
        )
    return None


class Attempt(NamedTuple):
    """The result of loading a file and running its tests within some limits."""

    against: str
    """Why no test was run; empty if tests were run."""
    run: Run | None = None
    timed_out: bool = False
    """Whether the code was stopped because it exceeded a limit."""


def attempt(
    exercise: Exercise,
    file: Path,
    seed: int,
    limits: Limits,
    *,
    material: int = 0,
    only: str = "",
    terminal: str = "",
    grading: Grading | None = None,
    stop_at_failure: bool = False,
    drivers: Drivers | None = None,
) -> Attempt:
    """Load a file, and run its tests (`run_public_tests`). Raises CheckError and JailError.

    With `stop_at_failure` the file is not loaded in advance. A file that cannot be loaded fails in
    the first test, which is faster.
    """
    if (nothing := objection(exercise, file)) is not None:
        return Attempt(str(nothing))
    jail = grading.jail if grading is not None else None
    if exercise.engine == SPARK and (missing := why_no_spark()):
        raise CheckError(missing)
    try:
        if not stop_at_failure and (against := cannot_load(exercise, file, jail, limits)):
            return Attempt(against)
        run = run_public_tests(
            exercise,
            file,
            seed,
            material=material,
            only=only,
            terminal=terminal,
            grading=grading,
            stop_at_failure=stop_at_failure,
            drivers=drivers,
            limits=limits,
        )
    except TooSlowError as error:
        return Attempt(str(error), timed_out=True)
    return Attempt("", run, run.timed_out)


def fair_attempt(
    try_within: Callable[[Limits], Attempt], limits: Limits, limits_now: Callable[[], Limits]
) -> Attempt:
    """Run the tests, a second time if needed, and return the attempt that counts.

    If a limit has stopped the first attempt, measure how much time the reference solution needs
    now. If the measured time gives wider limits, run the tests again with these limits. In this
    case, the second attempt counts.

    `limits_now` runs the reference solution, and returns the limits. It raises NotJudgedError if
    the reference solution fails too.
    """
    first = try_within(limits)
    if not first.timed_out:
        return first
    now = limits_now()
    return try_within(now) if now.wider_than(limits) else first


def check_public(
    exercise: Exercise,
    file: Path,
    seed: int | None = None,
    *,
    material: int = 0,
    only: str = "",
    terminal: str = "",
    grading: Grading | None = None,
    stop_at_failure: bool = False,
    drivers: Drivers | None = None,
    limits: Limits | None = None,
) -> Verdict:
    """Check a file without the live part. Raises CheckError if the tests cannot run, or
    NotJudgedError.

    If `limits` are given, they are the limits of the run. Otherwise, the reference solution may be
    run to find wider limits. If `grading` is given, the hidden tests are run too.
    `run_public_tests` explains `stop_at_failure` and `drivers`.
    """
    seed = new_seed() if seed is None else seed
    usual = usual_limits(exercise)

    def try_within(limits: Limits) -> Attempt:
        return attempt(
            exercise,
            file,
            seed,
            limits,
            material=material,
            only=only,
            terminal=terminal,
            grading=grading,
            stop_at_failure=stop_at_failure,
            drivers=drivers,
        )

    tried = (
        try_within(limits)
        if limits is not None
        else fair_attempt(try_within, usual, lambda: limits_now(exercise, seed, grading))
    )
    return Verdict(
        exercise.id,
        str(file),
        seed,
        tried.against,
        tried.run.outcomes if tried.run is not None else (),
        None,
        exercise.beyond_public or bool(only),
        tried.run.limits_of_others(usual) if tried.run is not None else usual,
    )


def live_part(exercise: Exercise) -> LivePart:
    package = __name__.rpartition(".")[0].rpartition(".")[0]
    module: LivePart = importlib.import_module(f"{package}.{exercise.live}")
    return module
