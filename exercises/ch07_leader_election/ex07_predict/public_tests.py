"""Public tests of exercise 07-7. `kafka-edu lab check 07-7` runs them."""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch, Words
from ..election_rules import in_words
from .material import (
    NOBODY,
    OFFLINE,
    PREFERRED,
    SHUTDOWN,
    Situation,
    is_lossy,
    leader_of,
    situations,
    waits,
)

NUMBERS = tuple(range(1, 11))


class Compared:
    """The situations, and the learner's answers to them."""

    def __init__(self, learner: Learner, material: int) -> None:
        self.situations = situations(material)
        self._answers = learner.make()

    def answer(self, name: str) -> object:
        """Return the learner's answer `name`. Raises AssertionError if it is not written yet."""
        came = self._answers.call("get", name)
        if came is None:
            raise AssertionError(
                f'the answer "{name}" is not written yet: it returns None; questions.md has the'
                " question"
            )
        return came


@pytest.fixture
def compared(learner: Learner, material: int) -> Compared:
    """The learner's answers to the situations that were made for this learner."""
    return Compared(learner, material)


@pytest.mark.parametrize("number", NUMBERS)
def test_leader(compared: Compared, number: int) -> None:
    """which broker leads next"""
    situation = compared.situations[number - 1]
    came, expected = compared.answer(f"leader_{number}"), leader_of(situation)
    if came != expected or isinstance(came, bool):
        raise Mismatch(
            f"leader_{number}",
            expected,
            came,
            _why(situation, expected, came),
            drawing=(
                situation.words,
                f"AR    {in_words(situation.case.replicas)}",
                f"ISR   {in_words(situation.case.isr)}",
                f"live  {in_words(situation.case.live)}",
                situation.besides,
            ),
        )


def _why(situation: Situation, expected: int, came: object) -> str:
    case = situation.case
    if came in case.replicas:
        if came not in case.live:
            return f"broker {came} is not alive"
        if case.strategy == SHUTDOWN and came in case.going:
            return f"broker {came} is about to shut down itself"
        if case.strategy == PREFERRED and expected == NOBODY:
            return "the preferred replica cannot lead, so the leader stays as it is: -1"
        if came not in case.isr and expected == NOBODY:
            return "no member of the ISR is alive, and unclean elections are not allowed: -1"
        if came not in case.isr and expected in case.isr:
            return f"broker {came} is not in the ISR"
    if expected == NOBODY:
        return "no replica may lead, or the leader stays as it is: -1"
    if is_lossy(situation):
        return (
            "no member of the ISR is alive; unclean elections are allowed: the first live one of AR"
        )
    return (
        f"broker {expected} is the first of AR that may lead; the order of the ISR does not matter"
    )


def test_lost(compared: Compared) -> None:
    """in which situation acknowledged records may be lost"""
    came = compared.answer("lost")
    expected = next(n for n, one in enumerate(compared.situations, 1) if is_lossy(one))
    if came != expected or isinstance(came, bool):
        why = "only in this situation does a replica lead that was not in the ISR"
        raise Mismatch("lost", expected, came, why)


def test_waits(compared: Compared) -> None:
    """in which situation the partition has to wait"""
    came = compared.answer("waits")
    expected = [n for n, one in enumerate(compared.situations, 1) if waits(one)]
    if came in expected and not isinstance(came, bool):
        return
    number = came if isinstance(came, int) and came in NUMBERS else 0
    if number and compared.situations[number - 1].case.strategy != OFFLINE:
        why = "in that situation the partition has a leader"
    elif number:
        why = f"in that situation broker {leader_of(compared.situations[number - 1])} leads"
    else:
        why = "the situations have the numbers 1 to 10"
    wanted = f"one of {', '.join(map(str, expected))}"
    raise Mismatch("waits", Words(wanted), came, why)
