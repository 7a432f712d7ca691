"""Public tests of exercise 13-7. `kafka-edu lab check 13-7` runs them."""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from .material import NAMES, Situation, situations


def check(learner: Learner, one: Situation) -> None:
    """Compare the learner's answer to one question. Raises AssertionError."""
    came = learner.make().call("get", one.name)
    if came is None:
        raise AssertionError(
            f'the answer "{one.name}" is not written yet: it returns None; its question:'
            f" {one.words}"
        )
    if isinstance(came, bool) or came != one.answer:
        raise Mismatch(one.name, one.answer, came, one.why, drawing=(one.words,))


@pytest.mark.parametrize("name", NAMES)
def test_answer(learner: Learner, material: int, name: str) -> None:
    """the learner's answer to one question"""
    found = {one.name: one for one in situations(material)}
    check(learner, found[name])
