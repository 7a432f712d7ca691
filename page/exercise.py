"""Edit and check an exercise in the page, as practice without a grade. The page has a separate
worker for exercises, which calls this module.

The tests, messages and hints are those of `lab check`. Only one thing is different: this worker
cannot start processes, so the learner's code runs in the same process as the tests
(`learner_here`). If the code never returns, the page ends the whole worker and starts a new worker.
"""

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Final, Protocol

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from exercises.runner.check import Verdict, load_failure, objection
from exercises.runner.manifest import Exercise, load_manifest
from exercises.runner.material import new_seed
from exercises.runner.public_tests import CheckError, Outcome, pytest_session, run_of
from exercises.show import first_failure, show_public
from kafka_edu.common.busy_machine import Spent
from kafka_edu.learner.learner_here import HERE, LearnerHere

FOLDER: Final = Path("/lab")
"""The folder of the learner's file in the memory of the page."""
COLUMNS: Final = 92


class Page(Protocol):
    """The page around the editor."""

    def begins(self, test: str, /) -> None:
        """Say that a test begins. If the learner's code never returns, the page names this test."""
        ...


class _Begins:
    """A plugin of pytest that says which test begins."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._page.begins(nodeid.rpartition("::")[2])


def exercises() -> str:
    """Return the exercises of the page, as JSON."""
    return json.dumps(
        [
            {"id": one.id, "title": one.title, "chapter": one.chapter, "minutes": one.minutes}
            for one in load_manifest().values()
            if one.page
        ]
    )


def opened(exercise_id: str) -> str:
    """Return what the page shows of an exercise, as JSON. Raises KeyError if the page has none."""
    exercise = _of_page(exercise_id)
    return json.dumps(
        {
            "title": exercise.title,
            "file": exercise.file,
            "task": MarkdownIt().enable("table").render(exercise.task()),
            "starter": exercise.starter.read_text(encoding="utf-8"),
            "hints": [MarkdownIt().render(hint) for hint in exercise.hints()],
            "live": exercise.beyond_public,
        }
    )


def _of_page(exercise_id: str) -> Exercise:
    exercise = load_manifest().get(exercise_id)
    if exercise is None or not exercise.page:
        raise KeyError(f"the page has no exercise '{exercise_id}'")
    return exercise


def check(
    exercise_id: str, text: str, page: Page, folder: Path = FOLDER, seed: int | None = None
) -> str:
    """Run the public tests on the learner's text. Return what `lab check` would say, as JSON.

    `seed` is the seed of the tests' random numbers. By default each check has a different seed.
    """
    exercise = _of_page(exercise_id)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / exercise.file
    file.write_text(text, encoding="utf-8")
    verdict = _verdict(exercise, file, page, new_seed() if seed is None else seed)
    shown = io.StringIO()
    console = Console(file=shown, width=COLUMNS, color_system=None, legacy_windows=False)
    show_public(console, verdict)
    failed = first_failure(verdict)
    return json.dumps(
        {
            "passed": verdict.public_passed,
            "text": "\n".join(line.rstrip() for line in shown.getvalue().splitlines()),
            "line": failed.line if failed is not None else 0,
        }
    )


def _verdict(exercise: Exercise, file: Path, page: Page, seed: int) -> Verdict:
    against = ""
    outcomes: tuple[Outcome, ...] = ()
    if (nothing := objection(exercise, file)) is not None:
        against = nothing.what.replace(str(file), exercise.file) + "."
    else:
        page.begins(f"loading {exercise.file}")
        against = load_failure(LearnerHere(file, exercise.wanted), file)
    if not against:
        results = file.with_name("results.json")
        results.unlink(missing_ok=True)
        session = pytest_session(exercise, file, seed, results, engine=HERE)
        os.environ.update(session.environment)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            ended = pytest.main(
                [*session.arguments, "--capture=sys", "--tb=no"], plugins=[_Begins(page)]
            )
        if not results.is_file():
            raise CheckError(
                f"the tests could not run (pytest ended with {ended}):\n{said.getvalue()}"
            )
        outcomes = run_of(results, Spent(0.0, 0.0, 0.0)).outcomes
    return Verdict(exercise.id, str(file), seed, against, outcomes, None, exercise.beyond_public)
