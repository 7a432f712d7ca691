"""Public tests of exercise 05-4. `kafka-edu lab check 05-4` simulates the clusters, and then runs
these tests.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from .material import NAMES, WAYS, plans, right_answers, run, shown

NEAR_MS = 20


class Compared:
    """The learner's answers and the right answers of the runs."""

    def __init__(self, learner: Learner, material: int) -> None:
        self.plans = plans(material)
        self._runs = {name: run(material, name) for name in NAMES}
        self._right = right_answers(material)
        self._answers = learner.make()

    def agrees(self, name: str, why: str, *, near_ms: int = 0) -> None:
        """Compare an answer with the right answer. Raise Mismatch if they differ by more than
        `near_ms` ms.
        """
        came = self._answers.call("get", name)
        if came is None:
            raise AssertionError(
                f'the answer "{name}" is not written yet: it returns None; questions.md has the'
                " question"
            )
        right = self._right[name]
        if isinstance(right, int) and isinstance(came, int) and not isinstance(came, bool):
            good = abs(came - right) <= near_ms
        else:
            good = came == right
        if not good:
            runs = name[-1:] if name.startswith(("given", "gone")) else "abc"
            events = [line for one in runs for line in (f"run {one}", *shown(self._runs[one]))]
            raise Mismatch(name, right, came, why, drawing=tuple(events))


@pytest.fixture
def compared(learner: Learner, material: int) -> Compared:
    """The learner's answers, and the right answers from this learner's own runs."""
    return Compared(learner, material)


@pytest.mark.parametrize("run_name", NAMES)
def test_given(compared: Compared, run_name: str) -> None:
    """which time-out the controller's session gets"""
    tick_ms = compared.plans[run_name].tick_ms
    why = f"with ticks of {tick_ms:,} ms a session has {2 * tick_ms:,} to {20 * tick_ms:,} ms"
    compared.agrees(f"given_{run_name}", why)


@pytest.mark.parametrize("run_name", NAMES)
def test_gone(compared: Compared, run_name: str) -> None:
    """when /controller is gone"""
    way = compared.plans[run_name].way
    why = (
        "a broker that is stopped closes its session: no time-out is waited for"
        if way == WAYS[2]
        else f"after {way} there is silence: the last message and the time-out together, rounded up"
        " to the end of a tick"
    )
    compared.agrees(f"gone_{run_name}", why, near_ms=NEAR_MS)


def test_first(compared: Compared) -> None:
    """in which run /controller is gone soonest"""
    compared.agrees("first", "to say goodbye is faster than any silence")


def test_believes(compared: Compared) -> None:
    """in which run the old controller still believes that it is the controller"""
    compared.agrees(
        "believes", "a dead broker believes nothing, and one that was stopped has resigned"
    )
