"""The pytest plugin of public tests: gives them the learner's code as the fixture `learner`, and
writes what came of each test.

Environment: KAFKA_EDU_LEARNER_FILE, KAFKA_EDU_LEARNER_WANTED, KAFKA_EDU_LEARNER_RESULTS.
"""

import json
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from kafka_edu.learner.learner import Learner

_ROWS = pytest.StashKey[list[dict[str, str | bool]]]()


@pytest.fixture(scope="session")
def learner() -> Iterator[Learner]:
    """The learner's code, in a process of its own."""
    learner = Learner(
        Path(os.environ["KAFKA_EDU_LEARNER_FILE"]), os.environ["KAFKA_EDU_LEARNER_WANTED"]
    )
    yield learner
    learner.close()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_ROWS] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" or report.outcome != "passed":
        message = ""
        if call.excinfo is not None:
            message = str(call.excinfo.value).partition("\nassert ")[0]
        documented = item.obj.__doc__ if isinstance(item, pytest.Function) else None
        row = {
            "test": item.name,
            "says": (documented or item.name).strip().partition("\n")[0],
            "passed": report.outcome == "passed",
            "message": message,
        }
        item.config.stash[_ROWS].append(row)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    Path(os.environ["KAFKA_EDU_LEARNER_RESULTS"]).write_text(
        json.dumps(session.config.stash[_ROWS]), encoding="utf-8"
    )
