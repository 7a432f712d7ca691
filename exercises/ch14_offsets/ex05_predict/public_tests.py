"""Public tests of exercise 14-5. `kafka-edu lab check 14-5` runs them."""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from .material import NAMES, situations


@pytest.mark.parametrize("name", NAMES)
def test_answer(learner: Learner, material: int, name: str) -> None:
    """the learner's answer to one question"""
    one = next(one for one in situations(material) if one.name == name)
    came = learner.make().call("get", name)
    if came is None:
        raise AssertionError(
            f'the answer "{name}" is not written yet: it returns None; questions.md has the'
            " question"
        )
    if came != one.answer or isinstance(came, bool):
        raise Mismatch(name, one.answer, came, one.why, drawing=tuple(one.words.split("\n")))
