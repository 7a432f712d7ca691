"""The pytest plugin for public and hidden tests.

It gives the tests the learner's code as the fixture `learner`, and writes the result of each test.

Environment: KAFKA_EDU_LEARNER_FILE, KAFKA_EDU_LEARNER_WANTED, KAFKA_EDU_LEARNER_ENGINE (`python`,
or `spark` for a `SparkLearner`), KAFKA_EDU_LEARNER_SEED, KAFKA_EDU_LEARNER_MATERIAL (the seed of
the learner's own files), KAFKA_EDU_LEARNER_TERMINAL (for `breakpoint()`; may be empty),
KAFKA_EDU_LEARNER_RESULTS. For a grade there are also KAFKA_EDU_LEARNER_OTHER_SEEDS (numbers with
blanks between them) and KAFKA_EDU_LEARNER_JAIL. Each test that uses `seed` runs again with each of
the other seeds; hidden tests run with the first of them. KAFKA_EDU_LEARNER_ALLOWANCE has the three
numbers of an `Allowance` for each call.
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
from .spark_learner import SparkLearner, learner_class

Row = dict[str, str | int | bool | tuple[str, ...]]
PRINTS_LIMIT: Final = 8_000
"""The largest number of bytes of the learner's prints that are kept for one test."""


class Prints:
    """The file to which the learner's code prints. After each test, the new text can be read."""

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # of the whole session
        self._read = 0

    def take(self) -> str:
        """Return what the learner's code has printed since the last call of `take`."""
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
    """The learner's code, which runs in a process of its own."""
    stash = request.config.stash
    runs = learner_class(os.environ["KAFKA_EDU_LEARNER_ENGINE"])
    jail = Jail.parse(os.environ.get("KAFKA_EDU_LEARNER_JAIL", ""))
    learner = stash[_LEARNER] = runs(
        Path(os.environ["KAFKA_EDU_LEARNER_FILE"]),
        os.environ["KAFKA_EDU_LEARNER_WANTED"],
        allowance=Allowance(*map(float, os.environ["KAFKA_EDU_LEARNER_ALLOWANCE"].split())),
        output=stash[_PRINTS].file,
        terminal=os.environ.get("KAFKA_EDU_LEARNER_TERMINAL", ""),
        jail=jail,
    )
    if isinstance(learner, SparkLearner):
        from .spark_sandbox import JobFolders

        os.umask(0o022)  # the user of a jail must be able to read what the tests write
        top = Path(request.getfixturevalue("tmp_path_factory").mktemp("job"))
        learner.folders = JobFolders(top, None if jail is None else jail.uid)
    yield learner
    learner.close()


@pytest.fixture
def given(learner: SparkLearner) -> Path:
    """A new folder for files that a test gives to a Spark job. In a grade the job can only read
    them.
    """
    assert learner.folders is not None
    folder = learner.folders.made(learner.folders.given)
    folder.mkdir()
    return folder


@pytest.fixture
def left(learner: SparkLearner) -> Path:
    """The path of a folder that a Spark job may make, for its results."""
    assert learner.folders is not None
    return learner.folders.made(learner.folders.left)


@pytest.fixture
def seed() -> int:
    """The seed of the random numbers in a test. Each check has a new seed, unless the user gives
    one.
    """
    return int(os.environ["KAFKA_EDU_LEARNER_SEED"])


@pytest.fixture
def material() -> int:
    """The seed from which the learner's own files were made; 0 for the reference solution."""
    return int(os.environ["KAFKA_EDU_LEARNER_MATERIAL"])


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_ROWS] = []
    config.stash[_PRINTS] = Prints()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let a test that uses `seed` run again with each of the other seeds of a grade."""
    others = [int(seed) for seed in os.environ.get("KAFKA_EDU_LEARNER_OTHER_SEEDS", "").split()]
    if "seed" not in metafunc.fixturenames or not others:
        return
    first = int(os.environ["KAFKA_EDU_LEARNER_SEED"])
    seeds = others[:1] if metafunc.definition.path.name == HIDDEN_TESTS else [first, *others]
    metafunc.parametrize("seed", seeds, ids=[f"seed#{index}" for index in range(len(seeds))])


def part_and_name(item: pytest.Item) -> tuple[str, str]:
    """Return the part of the grade (public, seeds, hidden) and the test's name without the seed."""
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
    """Return what a test checks: the first line of its docstring, and the name of its case."""
    if not isinstance(item, pytest.Function) or not item.obj.__doc__:
        return name
    case = name.partition("[")[2].rstrip("]")
    text: str = item.obj.__doc__.strip().partition("\n")[0]
    return f"{text}: {case}" if case else text


def row_of(error: BaseException, answered_at: int) -> Row:
    """Return the fields that an exception of a test adds to the test's row.

    `answered_at` is the line of the learner's file that returned the last answer.
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
        return  # the process that waits for the results reports that there are none
    asked = session.config.stash.get(_LEARNER, None)
    document = {
        "rows": session.config.stash[_ROWS],
        "used": asked.used if asked is not None else Used(),
    }
    Path(os.environ["KAFKA_EDU_LEARNER_RESULTS"]).write_text(json.dumps(document), encoding="utf-8")
