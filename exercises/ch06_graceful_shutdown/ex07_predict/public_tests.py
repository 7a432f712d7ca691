"""Public tests of exercise 06-7. `kafka-edu lab check 06-7` simulates the clusters, and then runs
these tests.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from .material import KILL, NAMES, plans, right_answers, run, shown, waiting

NEAR_MS = 50


class Compared:
    """The learner's answers and the right answers of the runs."""

    def __init__(self, learner: Learner, material: int) -> None:
        self.plans = plans(material)
        self._events = {
            **{name: shown(run(material, name)) for name in NAMES},
            "d": shown(waiting(material)),
        }
        self._right = right_answers(material)
        self._answers = learner.make()

    def agrees(self, name: str, why: str, of_runs: str, *, near_ms: int = 0) -> None:
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
        good = type(came) is type(right) and came == right
        if isinstance(right, int) and isinstance(came, int) and near_ms:
            good = not isinstance(came, bool) and abs(came - right) <= near_ms
        if not good:
            events = [line for one in of_runs for line in (f"run {one}", *self._events[one])]
            raise Mismatch(name, right, came, why, drawing=tuple(events))


@pytest.fixture
def compared(learner: Learner, material: int) -> Compared:
    """The learner's answers, and the right answers from this learner's own runs."""
    return Compared(learner, material)


@pytest.mark.parametrize("run_name", NAMES)
def test_gap(compared: Compared, run_name: str) -> None:
    """for how long web-0 has no leader"""
    way = compared.plans.runs[run_name].way
    why = (
        "after kill -9 there is silence: the last message and the time-out together, rounded up to"
        " the end of a tick; counted from the kill"
        if way == KILL
        else "a broker that stops in order closes its session: nobody waits for a time-out"
    )
    compared.agrees(f"gap_{run_name}", why, run_name, near_ms=NEAR_MS)


@pytest.mark.parametrize("run_name", NAMES)
def test_next(compared: Compared, run_name: str) -> None:
    """which broker leads web-0 next"""
    made = compared.plans
    why = "the first of AR that lives and is in the ISR leads next"
    if made.runs[run_name].without_second:
        why = f"{why}, and broker {made.replicas[1]} was stopped before"
    compared.agrees(f"next_{run_name}", why, run_name)


def test_reads(compared: Compared) -> None:
    """after which run the victim's next start reads segments again"""
    compared.agrees("reads", "only an end without .kafka_cleanshutdown is read again", "abc")


def test_attempts(compared: Compared) -> None:
    """how many times the broker asks to be let go"""
    patience = compared.plans.patience
    step_ms = patience.socket_ms + patience.backoff_ms
    why = (
        f"an attempt without an answer takes {patience.socket_ms:,} ms, and the next one begins"
        f" {patience.backoff_ms:,} ms later: one begins every {step_ms:,} ms, until one succeeds or"
        f" {patience.retries} are used up"
    )
    compared.agrees("attempts", why, "d")


def test_let_go(compared: Compared) -> None:
    """whether the broker's last attempt succeeds"""
    why = (
        "it is let go if an attempt begins after the election of the next controller, and attempts"
        " are left"
    )
    compared.agrees("let_go", why, "d")
