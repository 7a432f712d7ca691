"""The pytest plugin of public and hidden tests: gives them the learner's code as the fixture
`learner`, and writes what came of each test.

Environment: KAFKA_EDU_LEARNER_FILE, KAFKA_EDU_LEARNER_WANTED, KAFKA_EDU_LEARNER_ENGINE (`python`;
with `spark` it is a `SparkLearner`), KAFKA_EDU_LEARNER_SEED,
KAFKA_EDU_LEARNER_MATERIAL (the seed of the learner's own files), KAFKA_EDU_LEARNER_TERMINAL
(where `breakpoint()` stops; empty if nowhere), KAFKA_EDU_LEARNER_RESULTS. For a grade also
KAFKA_EDU_LEARNER_OTHER_SEEDS (numbers with blanks between: each test that uses `seed` runs again
with each of them; hidden tests run with the first of them) and KAFKA_EDU_LEARNER_JAIL.
KAFKA_EDU_LEARNER_ALLOWANCE has the three numbers of an `Allowance` for each call.
"""

import json
import os
import re
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Final

import pytest

from kafka_edu.common.busy_machine import Allowance
from kafka_edu.learner.learner import Jail, JailError, Learner, LearnerFailure, Used

from .mismatch import Mismatch
from .spark_learner import learner_class

Row = dict[str, str | int | bool | tuple[str, ...]]
PRINTS_LIMIT: Final = 8_000
"""The number of bytes kept of what the learner's code printed in one test."""


class Prints:
    """The output of the learner's code, one test after the other."""

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # of the whole session
        self._read = 0

    def take(self) -> str:
        """Return what was printed since the last call."""
        begin, self._read = self._read, os.fstat(self.file.fileno()).st_size
        content = os.pread(self.file.fileno(), PRINTS_LIMIT, begin)
        more = "\n…" if self._read - begin > PRINTS_LIMIT else ""
        return content.decode("utf-8", "replace").rstrip() + more


_ROWS = pytest.StashKey[list[Row]]()
_PRINTS = pytest.StashKey[Prints]()
_LEARNER = pytest.StashKey[Learner]()
_NO_JAIL = pytest.StashKey[bool]()
HIDDEN_TESTS: Final = "hidden_tests.py"
_SEED_ID: Final = re.compile(r"seed#\d+-|-?seed#\d+")


@pytest.fixture(scope="session")
def learner(request: pytest.FixtureRequest) -> Iterator[Learner]:
    """The learner's code, in a process of its own."""
    stash = request.config.stash
    runs = learner_class(os.environ["KAFKA_EDU_LEARNER_ENGINE"])
    learner = stash[_LEARNER] = runs(
        Path(os.environ["KAFKA_EDU_LEARNER_FILE"]),
        os.environ["KAFKA_EDU_LEARNER_WANTED"],
        allowance=Allowance(*map(float, os.environ["KAFKA_EDU_LEARNER_ALLOWANCE"].split())),
        output=stash[_PRINTS].file,
        terminal=os.environ.get("KAFKA_EDU_LEARNER_TERMINAL", ""),
        jail=Jail.parse(os.environ.get("KAFKA_EDU_LEARNER_JAIL", "")),
    )
    yield learner
    learner.close()


@pytest.fixture
def seed() -> int:
    """The seed of what a test chooses by chance; each check has another unless it is given."""
    return int(os.environ["KAFKA_EDU_LEARNER_SEED"])


@pytest.fixture
def material() -> int:
    """The seed of the files that were made for the learner; 0 for the reference solution."""
    return int(os.environ["KAFKA_EDU_LEARNER_MATERIAL"])


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_ROWS] = []
    config.stash[_PRINTS] = Prints()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that uses `seed` with the other seeds too."""
    others = [int(seed) for seed in os.environ.get("KAFKA_EDU_LEARNER_OTHER_SEEDS", "").split()]
    if "seed" not in metafunc.fixturenames or not others:
        return
    first = int(os.environ["KAFKA_EDU_LEARNER_SEED"])
    seeds = others[:1] if metafunc.definition.path.name == HIDDEN_TESTS else [first, *others]
    metafunc.parametrize("seed", seeds, ids=[f"seed#{index}" for index in range(len(seeds))])


def part_and_name(item: pytest.Item) -> tuple[str, str]:
    """Return which part of a grade a test belongs to, and its name without the seed."""
    name = _SEED_ID.sub("", item.name).replace("[]", "")
    if item.path.name == HIDDEN_TESTS:
        return "hidden", name
    return ("seeds" if re.search(r"seed#[1-9]", item.name) else "public"), name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" or report.outcome != "passed":
        part, name = part_and_name(item)
        row: Row = {
            "test": name,
            "part": part,
            "says": says(item, name),
            "passed": report.outcome == "passed",
            "prints": item.config.stash[_PRINTS].take(),
        }
        if call.excinfo is not None:
            if isinstance(call.excinfo.value, JailError):
                item.config.stash[_NO_JAIL] = True
                item.session.shouldstop = "there is no jail"
            asked = item.config.stash.get(_LEARNER, None)
            row |= row_of(call.excinfo.value, asked.answered_at if asked is not None else 0)
            if isinstance(call.excinfo.value, LearnerFailure):
                if call.excinfo.value.timed_out:
                    item.session.shouldstop = "the code did not come back"
                elif not call.excinfo.value.loaded:
                    item.session.shouldstop = "the file cannot be loaded"
        item.config.stash[_ROWS].append(row)
    return report


def says(item: pytest.Item, name: str) -> str:
    """Return what a test tests: the first line of its docstring, and which case of it."""
    if not isinstance(item, pytest.Function) or not item.obj.__doc__:
        return name
    case = name.partition("[")[2].rstrip("]")
    text: str = item.obj.__doc__.strip().partition("\n")[0]
    return f"{text}: {case}" if case else text


def row_of(error: BaseException, answered_at: int) -> Row:
    """Return what an exception of a test adds to its row. `answered_at` is the line that returned
    the learner's last answer.
    """
    row: Row = {"message": str(error).partition("\nassert ")[0]}
    if isinstance(error, Mismatch):
        row |= {
            "asked": error.asked,
            "expected": error.expected,
            "came": error.came,
            "why": error.why,
            "drawing": error.drawing,
            "read": error.read,
            "line": answered_at,
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
    if _NO_JAIL in session.config.stash:
        return  # whoever waits for the results says that there are none
    asked = session.config.stash.get(_LEARNER, None)
    document = {
        "rows": session.config.stash[_ROWS],
        "used": asked.used if asked is not None else Used(),
    }
    Path(os.environ["KAFKA_EDU_LEARNER_RESULTS"]).write_text(json.dumps(document), encoding="utf-8")
