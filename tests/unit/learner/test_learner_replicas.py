"""Learners' ISR and truncation: their answers are carried out. Where one fails, our own code
answers.
"""

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.learner import learner_isr, learner_truncation
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS, LearnerError
from kafka_edu.log.leader_epoch_file_cache import EpochEntry
from kafka_edu.replication import partition, replica_fetcher
from kafka_edu.replication.isr import IsrRule
from kafka_edu.replication.truncation import offset_truncation_state

from .conftest import Load

Made = tuple[Any, list[LearnerError]]
Make = Callable[[str, str], Made]


class Follower(NamedTuple):
    """The facts of a replica that the rule reads."""

    broker_id: int
    last_caught_up_time_ms: int


TWO: Any = (Follower(0, 5_000), Follower(1, 14_000))
EPOCHS = [EpochEntry(0, 0), EpochEntry(1, 120)]


@pytest.fixture
def make(load: Load) -> Make:
    def go(exercise: str, text: str) -> Made:
        code, errors = load(exercise, text)
        adapt: Any = {"07-2": learner_isr.adapt, "07-3": learner_truncation.adapt}[exercise]
        return adapt(code), errors

    return go


def right(exercise: str) -> str:
    return find_exercise(exercise).solution.read_text(encoding="utf-8")


def isr(leaving: str = "[]", may_join: str = "True") -> str:
    """A class with these answers."""
    return (
        f"class Isr:\n    def leaving(self, *_):\n        return {leaving}\n"
        f"    def may_join(self, *_):\n        return {may_join}\n"
    )


def truncation(answer: str) -> str:
    return f"class Truncation:\n    def cut(self, *_):\n        return {answer}\n"


def test_the_seams_are_where_the_broker_looks() -> None:
    assert SEAMS["07-2"].module == partition.__name__
    assert vars(partition)[SEAMS["07-2"].name] is IsrRule
    assert SEAMS["07-3"].module == replica_fetcher.__name__
    assert vars(replica_fetcher)[SEAMS["07-3"].name] is offset_truncation_state


def test_the_references_answer_as_ours_do(make: Make) -> None:
    made, isr_errors = make("07-2", right("07-2"))
    cut, cut_errors = make("07-3", right("07-3"))
    theirs, ours, random = made(), IsrRule(), Random(7)
    assert made() is theirs
    for _ in range(100):
        now_ms = random.randrange(10_000, 30_000)
        assert theirs.leaving((2, 0, 1), TWO, now_ms, 9_000) == ours.leaving(
            (2, 0, 1), TWO, now_ms, 9_000
        )
        asked = [random.randrange(9) for _ in range(3)]
        assert theirs.may_join(*asked) == ours.may_join(*asked)
        state = (random.randrange(-1, 4), random.randrange(-1, 150), 100, 130, EPOCHS)
        assert cut(*state) == offset_truncation_state(*state), state
    assert isr_errors == cut_errors == []


def test_a_wrong_but_possible_answer_is_carried_out(make: Make) -> None:
    made, errors = make("07-2", isr("[1, 0]", "False"))
    assert made().leaving((2, 0, 1), TWO, 0, 9_000) == (0, 1)
    assert made().may_join(9, 0, 0) is False
    cut, more = make("07-3", truncation("(7, True)"))
    assert cut(0, 125, 100, 130, EPOCHS) == (7, True)
    assert errors == more == []


@pytest.mark.parametrize("answer", ["[2]", "[5]", "None", "[0, 'x']", "3"])
def test_a_broker_that_cannot_leave_is_an_error_and_ours_answers(make: Make, answer: str) -> None:
    made, errors = make("07-2", isr(answer, "1"))
    assert made().leaving((2, 0, 1), TWO, 15_001, 10_000) == (0,)
    assert made().may_join(3, 3, 3) is True
    assert [error.exercise for error in errors] == ["07-2", "07-2"]
    assert "expected followers that are in the ISR" in errors[0].message


@pytest.mark.parametrize("answer", ["(131, True)", "(-1, True)", "(5, 1)", "5", "None"])
def test_an_offset_outside_the_log_is_an_error_and_ours_cuts(make: Make, answer: str) -> None:
    cut, errors = make("07-3", truncation(answer))
    assert cut(0, 125, 100, 130, EPOCHS) == (120, True)
    assert "an offset from 0 to 130" in errors[0].message


def test_after_three_failures_ours_stays(make: Make) -> None:
    made, errors = make("07-2", isr("1 / 0", "1 / 0"))
    cut, more = make("07-3", truncation("1 / 0"))
    for _ in range(FAILURES_ALLOWED + 2):
        assert made().may_join(3, 3, 3) is True
        assert made().leaving((2, 0), TWO, 15_001, 10_000) == (0,)
        assert cut(1, 128, 100, 130, EPOCHS) == (128, True)
    assert len(errors) == len(more) == FAILURES_ALLOWED
