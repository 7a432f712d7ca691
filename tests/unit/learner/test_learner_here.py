"""A learner's code that runs in the same process gives the same answers and messages as in a
separate process.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_edu.learner.learner import Learner, LearnerFailure
from kafka_edu.learner.learner_here import LearnerHere

TEXT = """\
import sys

KEPT = sys.stdout


class Sums:
    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def total(self):
        print("adds", self.numbers)
        return sum(self.numbers)

    def pair(self, data):
        return [data[:1], [data[1:], {"size": len(data)}]]

    def breaks(self):
        return self.numbers[99]

    def wrong(self):
        return {1}

    def many(self):
        return "x" * 70_000

    def reads(self):
        return input()

    def ends(self):
        raise SystemExit(3)

    def interrupts(self):
        raise KeyboardInterrupt

    def stops(self):
        breakpoint()

    def prints(self):
        print("into what was kept", file=KEPT)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sums.py"
    path.write_text(TEXT, encoding="utf-8")
    return path


def failure_of(call: Callable[[], object]) -> tuple[str, int, bool]:
    with pytest.raises(LearnerFailure) as failed:
        call()
    return str(failed.value), failed.value.line, failed.value.loaded


def test_answers_and_failures_are_those_of_a_process(file: Path) -> None:
    here, there = LearnerHere(file, "Sums"), Learner(file, "Sums")
    try:
        for learner in (here, there):
            made = learner.make(1, 2)
            assert made.call("total") == 3
            assert learner.answered_at == 12
            assert made.call("pair", b"abc") == (b"a", (b"bc", {"size": 3}))
            assert made.call_all([("pair", (b"a",)), ("total", ())]) == 3
            assert learner.made() == 1
        ours, theirs = here.make(1), there.make(1)
        for method in ("breaks", "wrong", "reads", "missing", "stops"):
            said = failure_of(lambda made=theirs, name=method: made.call(name))
            assert failure_of(lambda made=ours, name=method: made.call(name)) == said
        assert failure_of(lambda: here.make(1).call("many")) == failure_of(
            lambda: there.make(1).call("many")
        )
        for method in ("ends", "interrupts"):
            said = failure_of(lambda name=method: here.make(1).call(name))
            assert said == (f"{method}(): ended the process", 0, True)
    finally:
        there.close()


@pytest.mark.parametrize(
    "text",
    [
        "def f(:\n",
        "import pyspark_missing\n",
        "import kafka_edu.timer\n",
        "from exercises import show\n",
        "x = 1\n",
        "1 / 0\n",
    ],
)
def test_a_file_that_cannot_be_loaded_has_the_same_message(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    said = failure_of(lambda: Learner(file, "Sums").start())
    assert failure_of(lambda: LearnerHere(file, "Sums").start()) == said
    assert said[2] is False


def test_prints_are_kept_and_objects_are_forgotten(file: Path) -> None:
    with tempfile.TemporaryFile() as output:
        learner = LearnerHere(file, "Sums", output=output)
        made = learner.make(4, 5)
        made.call("total")
        output.seek(0)
        assert output.read() == b"adds [4, 5]\n"
        made.call("prints")
        output.seek(12)
        assert output.read() == b"into what was kept\n"
        loaded = learner.start()
        del made
        learner.make(1)
        assert len(vars(loaded)["objects"]) == 1
        kept = learner.make(2)
        learner.close()
        with pytest.raises(LearnerFailure, match="its process was ended"):
            kept.call("total")
