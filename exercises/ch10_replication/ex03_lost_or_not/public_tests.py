"""Public tests of exercise 10-3. `kafka-edu lab check 10-3` runs them."""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch, Words
from ..loss_rules import NOBODY, Case, Ended, play
from .material import CASES, cases, refused, row, there

NUMBERS = tuple(range(1, CASES + 1))


class Compared:
    """The cases, and the learner's answers to them."""

    def __init__(self, learner: Learner, material: int) -> None:
        self.material = material
        self.cases = cases(material)
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
    """The learner's answers to the cases that were made for this learner."""
    return Compared(learner, material)


@pytest.mark.parametrize("number", NUMBERS)
def test_lost(compared: Compared, number: int) -> None:
    """how many acknowledged records are lost"""
    case = compared.cases[number - 1]
    ended = play(case)
    came = compared.answer(f"lost_{number}")
    if came != ended.lost or isinstance(came, bool):
        raise Mismatch(
            f"lost_{number}",
            ended.lost,
            came,
            _why(case, ended),
            drawing=(row(number, case), *_story(case, ended)),
        )


def _why(case: Case, ended: Ended) -> str:
    if not ended.acked:
        if ended.refused:
            return "the records were refused, so none was acknowledged"
        return "a member of the ISR fetches no more, so no record was acknowledged"
    if ended.leader == NOBODY:
        return "no replica may lead, so the partition waits for broker 0, which has the records"
    if ended.lost:
        if ended.leader in case.away:
            return f"broker {ended.leader} leads, who was not in the ISR and has none of them"
        return f"broker {ended.leader} leads: it is in the ISR, and it never got them"
    return f"broker {ended.leader} leads, and has them"


def _story(case: Case, ended: Ended) -> tuple[str, ...]:
    leader = "nobody, until 0 is back" if ended.leader == NOBODY else f"broker {ended.leader}"
    return (
        f"acknowledged: {ended.acked} of {case.records}; refused: {ended.refused}",
        f"leads when broker 0 is dead: {leader}",
        f"there and never acknowledged: {ended.surprise}",
    )


def test_refused(compared: Compared) -> None:
    """in which case the records are refused before they are written"""
    came, expected = compared.answer("refused"), refused(compared.material)
    if came != expected or isinstance(came, bool):
        why = "only there acks is all, and the ISR is smaller than min.insync.replicas"
        raise Mismatch("refused", expected, came, why)


def test_there(compared: Compared) -> None:
    """in which case the log has records that were never acknowledged"""
    came, expected = compared.answer("there"), there(compared.material)
    if came in expected and not isinstance(came, bool):
        return
    number = came if isinstance(came, int) and came in NUMBERS else 0
    if not number:
        why = f"the cases have the numbers 1 to {CASES}"
    elif play(compared.cases[number - 1]).acked:
        why = "in that case the records were acknowledged"
    else:
        why = "in that case the next leader has none of the records"
    raise Mismatch("there", Words(f"one of {', '.join(map(str, expected))}"), came, why)
