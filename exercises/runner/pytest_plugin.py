"""The pytest plugin of public tests: gives them the learner's code as the fixture `learner`, and
writes what came of each test.

Environment: KAFKA_EDU_LEARNER_FILE, KAFKA_EDU_LEARNER_WANTED, KAFKA_EDU_LEARNER_SEED,
KAFKA_EDU_LEARNER_RESULTS.
"""

import json
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner, LearnerFailure

from .mismatch import Mismatch

WALL_LIMIT_S: Final = 3.0
"""The time that one call may take here. A broker is more patient, because it has more to do."""

Row = dict[str, str | int | bool | tuple[str, ...]]
_ROWS = pytest.StashKey[list[Row]]()


@pytest.fixture(scope="session")
def learner() -> Iterator[Learner]:
    """The learner's code, in a process of its own."""
    learner = Learner(
        Path(os.environ["KAFKA_EDU_LEARNER_FILE"]),
        os.environ["KAFKA_EDU_LEARNER_WANTED"],
        wall_limit_s=WALL_LIMIT_S,
    )
    yield learner
    learner.close()


@pytest.fixture
def seed() -> int:
    """The seed of what a test chooses by chance; each check has another unless it is given."""
    return int(os.environ["KAFKA_EDU_LEARNER_SEED"])


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_ROWS] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" or report.outcome != "passed":
        row: Row = {
            "test": item.name,
            "says": says(item),
            "passed": report.outcome == "passed",
        }
        if call.excinfo is not None:
            row |= row_of(call.excinfo.value)
            if isinstance(call.excinfo.value, LearnerFailure) and call.excinfo.value.timed_out:
                item.session.shouldstop = "the code did not come back"
        item.config.stash[_ROWS].append(row)
    return report


def says(item: pytest.Item) -> str:
    """Return what a test tests: the first line of its docstring."""
    documented = item.obj.__doc__ if isinstance(item, pytest.Function) else None
    return (documented or item.name).strip().partition("\n")[0]


def row_of(error: BaseException) -> Row:
    """Return what an exception of a test adds to its row."""
    row: Row = {"message": str(error).partition("\nassert ")[0]}
    if isinstance(error, Mismatch):
        row |= {
            "asked": error.asked,
            "expected": error.expected,
            "came": error.came,
            "why": error.why,
            "drawing": error.drawing,
            "read": error.read,
        }
    elif isinstance(error, LearnerFailure):
        row |= {
            "asked": error.asked,
            "why": error.message,
            "line": error.line,
            "timed_out": error.timed_out,
        }
    return row


def pytest_sessionfinish(session: pytest.Session) -> None:
    Path(os.environ["KAFKA_EDU_LEARNER_RESULTS"]).write_text(
        json.dumps(session.config.stash[_ROWS]), encoding="utf-8"
    )
