"""Public tests of exercise 18-6. `kafka-edu lab check 18-6` runs them."""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from .material import NAMES, made


@pytest.mark.parametrize("name", NAMES)
def test_answer(learner: Learner, material: int, name: str) -> None:
    """the learner's answer to one question"""
    right = made(material).answers[name]
    came = learner.make().call("get", name)
    if came is None:
        raise AssertionError(
            f'the answer "{name}" is not written yet: it returns None; questions.md has the'
            " question"
        )
    if isinstance(came, bool) or came != right.answer:
        raise Mismatch(name, right.answer, came, right.why)
