"""Runs an exercise's public tests: pytest in a process of its own, which in turn keeps the
learner's code in another.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.learner.learner import NAMESPACES, Jail

from .manifest import Exercise

TEST_LIMIT_S: Final = 20
RUN_LIMIT_S: Final = 180.0
PYTEST_FOUND_NOTHING: Final = 4


class CheckError(Exception):
    """The check itself could not run."""


class TooSlowError(CheckError):
    """The tests were not through in time."""


class Outcome(NamedTuple):
    """The outcome of one test: `says` is what it tests, `message` why it failed, in one line.

    The other fields are the parts of that message, for whoever shows them apart; each may be empty.
    """

    test: str
    says: str
    passed: bool
    message: str = ""
    asked: str = ""
    """The call of the learner's code."""
    expected: str = ""
    came: str = ""
    why: str = ""
    drawing: tuple[str, ...] = ()
    read: str = ""
    """The part of the learner's code that decides this."""
    line: int = 0
    """The line of the learner's file; 0 means unknown."""
    timed_out: bool = False
    """The code did not come back. No test after this one was run."""
    prints: str = ""
    """The output of the learner's code in this test."""
    part: str = "public"
    """`public`; in a grade also `seeds`, the same test on another seed, and `hidden`."""


class Grading(NamedTuple):
    """The checks of a grade besides the public tests."""

    other_seeds: tuple[int, ...]
    """With each of these, every test that uses `seed` runs again."""
    jail: Jail | None
    limit_s: float
    """The time that all tests of one submission may take."""


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
) -> list[Outcome]:
    """Run all public tests, in their order, up to the first in which the code does not come back.
    For a grade, run the hidden ones too.

    `material` is the seed of the files that were made for the learner. `only` is the name of the
    one test to run. `terminal` is the device where `breakpoint()` stops; somebody who sits there is
    not hurried. `stop_at_failure` leaves out what comes after the first failure. Raises CheckError
    when pytest itself fails, and TooSlowError.
    """
    limit_s = grading.limit_s if grading is not None else RUN_LIMIT_S
    package = __name__.rpartition(".")[0]
    root = Path(__file__).resolve().parents[len(package.split("."))]
    with tempfile.TemporaryDirectory(prefix="kafka-edu-lab-") as folder:
        results = Path(folder) / "results.json"
        environment = {
            **{
                name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
            },  # they could leave tests out
            "PYTHONPATH": os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")])),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "KAFKA_EDU_LEARNER_FILE": str(file.absolute()),
            "KAFKA_EDU_LEARNER_WANTED": exercise.wanted,
            "KAFKA_EDU_LEARNER_SEED": str(seed),
            "KAFKA_EDU_LEARNER_MATERIAL": str(material),
            "KAFKA_EDU_LEARNER_TERMINAL": terminal,
            "KAFKA_EDU_LEARNER_RESULTS": str(results),
            "KAFKA_EDU_LEARNER_OTHER_SEEDS": "",
            "KAFKA_EDU_LEARNER_JAIL": "",
        }
        if grading is not None:
            environment["KAFKA_EDU_LEARNER_OTHER_SEEDS"] = " ".join(map(str, grading.other_seeds))
            environment["KAFKA_EDU_LEARNER_JAIL"] = str(grading.jail or "")
            if grading.jail is not None and grading.jail.kind == NAMESPACES:
                environment["TMPDIR"] = folder  # it goes, even when the tests are stopped
        command = [
            sys.executable,
            "-m",
            "pytest",
            f"{exercise.public_tests}::{only}" if only else str(exercise.public_tests),
            *([str(exercise.hidden_tests)] if grading and exercise.hidden_tests.is_file() else []),
            "-q",
            "--no-header",
            "-c",
            os.devnull,
            f"--rootdir={folder}",
        ]
        command += [
            "-p",
            "no:cacheprovider",
            "-p",
            f"{package}.pytest_plugin",
            "-p",
            "pytest_timeout",
            f"--timeout={0 if terminal else TEST_LIMIT_S}",
        ]
        if stop_at_failure:
            command.append("--exitfirst")
        try:
            done = subprocess.run(
                command,
                env=environment,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=None if terminal else limit_s,
                cwd=folder,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TooSlowError(f"the tests were not through within {limit_s:g} s") from None
        if only and done.returncode == PYTEST_FOUND_NOTHING:
            raise CheckError(f"exercise {exercise.id} has no test {only}")
        if done.returncode not in (0, 1, 2) or not results.is_file():
            raise CheckError(
                "the public tests could not run (pytest ended with"
                f" {done.returncode}):\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
            )
        rows = json.loads(results.read_text(encoding="utf-8"))
        return [Outcome(**{**row, "drawing": tuple(row.get("drawing", ()))}) for row in rows]
