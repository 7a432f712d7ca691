"""Public tests of exercise 02-5. They compare the learner's answers with a real run."""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..places import Wheels
from .material import Plan, Run, plan, right_answers


class Compared:
    """The learner's answers, compared with those of the run."""

    def __init__(self, learner: Learner, material: int) -> None:
        self.plan: Plan = plan(material)
        self.run = Run(self.plan)
        self._right = right_answers(material)
        self._answers = learner.make()

    def agrees(self, name: str, task: str, why: str) -> None:
        """Raise Mismatch unless the learner's answer equals the answer of the run."""
        came = self._answers.call("get", name)
        if came is None:
            raise AssertionError(
                f'the answer "{name}" is not written yet: it returns None; questions.md has the'
                " question"
            )
        expected = self._right[name]
        if came != expected or isinstance(came, bool):
            raise Mismatch(name, expected, came, why, drawing=self.run.shown(task))


@pytest.fixture
def compared(learner: Learner, material: int) -> Compared:
    """The learner's answers, compared with the run made for this learner."""
    return Compared(learner, material)


def test_a_first(compared: Compared) -> None:
    """into which bucket A goes"""
    deadline_ms = compared.plan.a_ms
    place = Wheels(1, (20,), 0).place(deadline_ms)
    assert place is not None
    tick_ms = Wheels(1, (20,), 0).tick(place.level)
    compared.agrees(
        "a_first",
        "A",
        f"level {place.level} is the lowest that reaches {deadline_ms:,} ms; a bucket there covers"
        f" {tick_ms:,} ms, and {deadline_ms:,} // {tick_ms:,} % 20 = {place.slot}",
    )


def test_a_due(compared: Compared) -> None:
    """when the first bucket of A is due"""
    compared.agrees(
        "a_due_ms",
        "A",
        "a bucket is due when the time that it covers begins, not at the deadline of its task",
    )


def test_a_comes_down(compared: Compared) -> None:
    """how many times A comes down"""
    compared.agrees(
        "a_comes_down",
        "A",
        "each TimerTaskDemoted is one time. A task may skip a level, and a task that runs does not"
        " come down",
    )


def test_a_last(compared: Compared) -> None:
    """in which bucket A is just before it runs"""
    compared.agrees(
        "a_last", "A", "the last bucket is the one in which A waited when its deadline came"
    )


def test_b_first(compared: Compared) -> None:
    """into which bucket B goes"""
    hand_ms = compared.run.hand_at_b_ms
    compared.agrees(
        "b_first",
        "B",
        f"after the last bucket that was due before {compared.plan.b_added_ms:,} ms, the hand"
        f" stayed at {hand_ms:,} ms. From there B is {compared.plan.b_ms - hand_ms:,} ms away",
    )


def test_c_comes_down(compared: Compared) -> None:
    """how many times C comes down"""
    compared.agrees(
        "c_comes_down",
        "C",
        f"C is cancelled at {compared.plan.c_cancelled_ms:,} ms; what would have come after that"
        " does not happen",
    )
