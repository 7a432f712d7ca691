"""Run an exercise's public tests with pytest in a second process, which runs the learner's code in
a third process.

The limits are not only times of the clock, because the machine may be busy with other work. Each
call of the learner's code may use some processor time and some idle time (`LIMITS.call`), and so
may the whole run with all its processes (`LIMITS.run`). If the reference solution needs more at
this moment, `limits_now` returns wider limits.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.busy_machine import (
    LOOK_EVERY_S,
    Allowance,
    Meter,
    NotJudgedError,
    Spent,
    overdrawn,
)
from kafka_edu.learner.learner import CALL, NAMESPACES, Jail, Used
from kafka_edu.spark.driver_client import PLACE, Drivers
from kafka_edu.spark.driver_keeper import IDLE

from .manifest import Exercise
from .spark_learner import SPARK, SparkUsage

PYTEST_FOUND_NOTHING: Final = 4


class CheckError(Exception):
    """The tests could not be run, for a reason that is not in the learner's code."""


class TooSlowError(CheckError):
    """The tests and the learner's code have used more time than a run may use."""


class Limits(NamedTuple):
    """The limits of processor time, idle time and clock time for a learner's code."""

    call: Allowance
    run: Allowance
    """The limits of the whole run: all calls together, and the tests that make them."""

    def wider_than(self, other: "Limits") -> bool:
        """Return whether code that exceeded the limits `other` could stay within these limits."""
        return any(
            mine > theirs
            for one, another in zip(self, other, strict=True)
            for mine, theirs in zip(one, another, strict=True)
        )


LIMITS: Final = Limits(CALL, Allowance(processor_s=60.0, idle_s=30.0, clock_s=180.0))
"""The limits that are used before the needs of the reference solution are known."""
REFERENCES_LIMITS: Final = Limits(
    CALL._replace(processor_s=20.0, clock_s=100.0),
    Allowance(processor_s=400.0, idle_s=30.0, clock_s=600.0),
)
"""The limits of the reference solution itself. If it exceeds them, no learner is judged."""


SPARK_LIMITS: Final = Limits(
    Allowance(processor_s=90.0, idle_s=60.0, clock_s=400.0),
    Allowance(processor_s=400.0, idle_s=120.0, clock_s=1200.0),
)
"""The limits of a Spark job. Its first call starts a JVM, which takes 10 s of processor time."""
SPARK_REFERENCES_LIMITS: Final = Limits(
    Allowance(processor_s=400.0, idle_s=120.0, clock_s=1600.0),
    Allowance(processor_s=1600.0, idle_s=240.0, clock_s=4800.0),
)

PUBLIC: Final = "public"


class Outcome(NamedTuple):
    """The result of one test. `says` is what it tests; `message` is why it failed, in one line.

    The fields from `asked` to `read` are parts of the message, so that each part can be shown
    separately. A part may be empty.
    """

    test: str
    says: str
    passed: bool
    message: str = ""
    asked: str = ""
    """The call of the learner's code, as text."""
    expected: str = ""
    came: str = ""
    why: str = ""
    drawing: tuple[str, ...] = ()
    read: str = ""
    """The name of the part of the learner's code that makes the decision."""
    line: int = 0
    """The number of the line in the learner's file; 0 means unknown."""
    timed_out: bool = False
    """Whether the code exceeded a limit. No test after this one was run."""
    prints: str = ""
    """The text the learner's code printed during this test."""
    part: str = PUBLIC
    """`public`, or in a grade also `seeds` (the same test with a different seed) or `hidden`."""


class Grading(NamedTuple):
    """The checks of a grade in addition to the public tests."""

    other_seeds: tuple[int, ...]
    """The additional seeds. Every test that uses `seed` runs again with each of them."""
    jail: Jail | None


class Run(NamedTuple):
    """The results of all tests in one run."""

    outcomes: tuple[Outcome, ...]
    used: Used
    """The processor time and clock time that calls of the learner's code took."""
    spent: Spent
    """The processor time and clock time of the whole run."""

    @property
    def timed_out(self) -> bool:
        """Whether a call of the learner's code exceeded its limits."""
        return any(outcome.timed_out for outcome in self.outcomes)

    def limits_of_others(self, usual: Limits) -> Limits:
        """Return the limits for learners' files. This object must be a run of the reference
        solution.
        """
        return Limits(
            usual.call.widened(self.used.processor_s, self.used.clock_s),
            usual.run.widened(self.spent.processor_s or 0.0, self.spent.clock_s),
        )


def usual_limits(exercise: Exercise) -> Limits:
    """Return the limits that are used before the needs of the reference solution are known."""
    return SPARK_LIMITS if exercise.engine == SPARK else LIMITS


def references_limits(exercise: Exercise) -> Limits:
    """Return the limits of the reference solution itself."""
    return SPARK_REFERENCES_LIMITS if exercise.engine == SPARK else REFERENCES_LIMITS


def limits_now(exercise: Exercise, seed: int, grading: Grading | None = None) -> Limits:
    """Run the reference solution, and return the limits that follow from it for learners' files
    now.

    Raises NotJudgedError, CheckError and JailError. A student's copy of the course has no reference
    solution. In such a copy the usual limits are returned.
    """
    if not exercise.solution.is_file():
        return usual_limits(exercise)
    try:
        run = run_public_tests(
            exercise,
            exercise.solution,
            seed,
            grading=grading,
            limits=references_limits(exercise),
        )
    except CheckError as error:
        raise NotJudgedError(str(error).partition("\n")[0]) from error
    failed = next((outcome for outcome in run.outcomes if not outcome.passed), None)
    if failed is not None:
        raise NotJudgedError(f"{failed.test} ({failed.message})".partition("\n")[0])
    return run.limits_of_others(usual_limits(exercise))


def run_public_tests(
    exercise: Exercise,
    file: Path,
    seed: int,
    *,
    material: int = 0,
    only: str = "",
    terminal: str = "",
    grading: Grading | None = None,
    stop_at_failure: bool = False,
    drivers: Drivers | None = None,
    limits: Limits = LIMITS,
) -> Run:
    """Run all public tests in their order, and for a grade the hidden tests too.

    The run ends after the first test in which the code exceeds a limit. `material` is the seed of
    the learner's own files. `only` is the name of the one test to run. `terminal` is the device
    where `breakpoint()` stops; with a terminal there are no time limits. `stop_at_failure` ends the
    run after the first failed test. A Spark job uses the warm JVM of `drivers`, by default the
    learner's warm JVM. Raises CheckError when pytest itself fails, and TooSlowError.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-edu-lab-") as folder:
        results = Path(folder) / "results.json"
        session = pytest_session(
            exercise, file, seed, results, material, only, terminal, limits=limits
        )
        environment = {
            **{
                name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
            },  # they could leave tests out
            **session.environment,
        }
        if drivers is not None:
            environment[PLACE] = str(drivers.folder)
        if grading is not None:
            environment["KAFKA_EDU_LEARNER_OTHER_SEEDS"] = " ".join(map(str, grading.other_seeds))
            if grading.other_seeds:  # a submission shares no JVM with the others
                environment[IDLE] = "0"
            if grading.jail is not None:
                jail = grading.jail._replace(processor_s=ceil(limits.run.processor_s))
                environment["KAFKA_EDU_LEARNER_JAIL"] = str(jail)
            if grading.jail is not None and grading.jail.kind in (NAMESPACES, SPARK):
                environment["TMPDIR"] = folder  # it goes, even when the tests are stopped
        command = [sys.executable, "-m", "pytest", *session.arguments]
        if grading and exercise.hidden_tests.is_file():
            command.append(str(exercise.hidden_tests))
        if stop_at_failure:
            command.append("--exitfirst")
        with open(Path(folder) / "output", "w+", encoding="utf-8", errors="replace") as output:
            process = subprocess.Popen(
                command, env=environment, stdout=output, stderr=subprocess.STDOUT, cwd=folder
            )
            try:
                warm = exercise.engine == SPARK and environment.get(IDLE) != "0"
                usage_of = SparkUsage(drivers or Drivers()) if warm else None
                spent = wait_within(
                    process,
                    None if terminal else limits.run,
                    lambda pid: Meter(pid, usage_of),
                )
            finally:
                process.kill()
                process.wait()
            output.seek(0)
            said = output.read()
        if only and process.returncode == PYTEST_FOUND_NOTHING:
            raise CheckError(f"exercise {exercise.id} has no test {only}")
        if process.returncode not in (0, 1, 2) or not results.is_file():
            raise CheckError(
                "the public tests could not run (pytest ended with"
                f" {process.returncode}):\n{said[-4000:]}"
            )
        return run_of(results, spent)


class PytestSession(NamedTuple):
    """What pytest gets to run the tests of an exercise."""

    environment: dict[str, str]
    arguments: list[str]


def pytest_session(
    exercise: Exercise,
    file: Path,
    seed: int,
    results: Path,
    material: int = 0,
    only: str = "",
    terminal: str = "",
    *,
    engine: str = "",
    limits: Limits = LIMITS,
) -> PytestSession:
    """Return how pytest runs the public tests on a file, and writes its results.

    `engine` is what runs the learner's code, if it is not the engine of the manifest.
    """
    package = __name__.rpartition(".")[0]
    root = Path(__file__).resolve().parents[len(package.split("."))]
    environment = {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")])),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "KAFKA_EDU_LEARNER_FILE": str(file.absolute()),
        "KAFKA_EDU_LEARNER_WANTED": exercise.wanted,
        "KAFKA_EDU_LEARNER_ENGINE": engine or exercise.engine,
        "KAFKA_EDU_LEARNER_SEED": str(seed),
        "KAFKA_EDU_LEARNER_MATERIAL": str(material),
        "KAFKA_EDU_LEARNER_TERMINAL": terminal,
        "KAFKA_EDU_LEARNER_RESULTS": str(results),
        "KAFKA_EDU_LEARNER_OTHER_SEEDS": "",
        "KAFKA_EDU_LEARNER_JAIL": "",
        "KAFKA_EDU_LEARNER_ALLOWANCE": " ".join(map(str, limits.call)),
    }
    arguments = [
        f"{exercise.public_tests}::{only}" if only else str(exercise.public_tests),
        *("-q", "--no-header", "-c", os.devnull, f"--rootdir={results.parent}"),
        *("-p", "no:cacheprovider", "-p", f"{package}.pytest_plugin"),
    ]
    return PytestSession(environment, arguments)


def run_of(results: Path, spent: Spent) -> Run:
    """Return the run whose results pytest has written."""
    document = json.loads(results.read_text(encoding="utf-8"))
    rows = document["rows"]
    return Run(
        tuple(Outcome(**{**row, "drawing": tuple(row.get("drawing", ()))}) for row in rows),
        Used(*document["used"]),
        spent,
    )


def wait_within(
    process: "subprocess.Popen[bytes]",
    allowance: Allowance | None,
    meter_of: Callable[[int], Meter] = Meter,
) -> Spent:
    """Wait until a process ends, and return the time that it has used.

    Raises TooSlowError when the process uses more than the allowance. This function does not stop
    the process.
    """
    meter = meter_of(process.pid)
    while True:
        spent = meter.look()
        if allowance is not None and (why := overdrawn(spent, allowance)):
            raise TooSlowError(f"the tests were not through {why}")
        with suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_EVERY_S)
            return spent
