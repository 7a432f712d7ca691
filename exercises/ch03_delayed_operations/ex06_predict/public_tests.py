"""Public tests of exercise 03-6. They compare the learner's answers with real runs."""

from typing import Final

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from .material import FetchRun, ProduceRun, answers_of, plan

TOLERANCE_MS: Final = 20


class Compared:
    """The learner's answers, compared with those of the runs."""

    def __init__(self, learner: Learner, material: int) -> None:
        self.plan = plan(material)
        self.fetch = FetchRun(self.plan)
        self.produce = ProduceRun(self.plan)
        self.right = answers_of(self.fetch, self.produce)
        self._answers = learner.make()

    def agrees(self, name: str, why: str) -> None:
        """Raise Mismatch unless the learner's answer equals the answer of the run."""
        came = self._answers.call("get", name)
        if came is None:
            raise AssertionError(
                f'the answer "{name}" is not written yet: it returns None; questions.md has the'
                " question"
            )
        expected = self.right[name]
        if isinstance(came, bool):
            good = False
        elif name.endswith("_ms") and isinstance(expected, int):
            good = isinstance(came, int | float) and abs(came - expected) <= TOLERANCE_MS
        else:
            good = came == expected
        if not good:
            run = self.fetch if name.startswith("fetch") else self.produce
            raise Mismatch(name, expected, came, why, drawing=run.timeline.shown())


@pytest.fixture
def compared(learner: Learner, material: int) -> Compared:
    """The learner's answers, compared with the runs made for this learner."""
    return Compared(learner, material)


def test_fetch_ends_by(compared: Compared) -> None:
    """what ends the wait of the fetch"""
    compared.agrees(
        "fetch_ends_by",
        f"the fetch wants {compared.plan.min_bytes} bytes. All bytes from its offset on count,"
        f" also the older batch. Were they in the log before {compared.plan.max_wait_ms} ms?",
    )


def test_fetch_ends_ms(compared: Compared) -> None:
    """when the consumer gets its answer"""
    compared.agrees(
        "fetch_ends_ms",
        "a fetch is answered when enough bytes are there, or when fetch.max.wait.ms is over since"
        " it arrived; each batch that comes does not begin the wait again",
    )


def test_fetch_records(compared: Compared) -> None:
    """how many records the consumer gets"""
    compared.agrees(
        "fetch_records",
        "when the wait ends, the log is read a second time, and all that is there is sent. A"
        " time-out is no error, and no empty answer",
    )


def test_produce_ends_by(compared: Compared) -> None:
    """what ends the wait of the produce"""
    compared.agrees(
        "produce_ends_by",
        "the HW rises when the leader knows that all of the ISR have the records, not most of"
        " them: the last follower ends the wait, if the time-out has not done it",
    )


def test_produce_ends_ms(compared: Compared) -> None:
    """when the producer gets its answer"""
    compared.agrees(
        "produce_ends_ms",
        "the first fetch after the produce only takes the records along. By the next one the"
        " follower says that it has them",
    )


def test_hw_at_answer(compared: Compared) -> None:
    """which value the HW has when the producer gets its answer"""
    compared.agrees(
        "hw_at_answer",
        "the HW is the offset behind the last record that all have. A time-out does not move it",
    )


def test_hw_at_end(compared: Compared) -> None:
    """which value the HW has at the end"""
    compared.agrees(
        "hw_at_end",
        "the records stay in the leader's log even if the producer got an error, and the"
        " followers continue to fetch them",
    )
