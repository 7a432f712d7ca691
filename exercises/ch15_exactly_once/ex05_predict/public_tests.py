"""Public tests of exercise 15-5. `kafka-edu lab check 15-5` runs them."""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from .material import logs

OF_LOG_A = ("uncommitted", "lso", "holder", "committed", "plain", "last", "after_abort")
OF_LOG_B = ("behind", "caught_up", "named")


@pytest.mark.parametrize("name", [*OF_LOG_A, *OF_LOG_B])
def test_answer(learner: Learner, material: int, name: str) -> None:
    """the learner's answer to one question"""
    made = logs(material)
    right, table = made.answers[name], made.tables[name in OF_LOG_B]
    match learner.make().call("get", name):
        case None:
            raise AssertionError(
                f'the answer "{name}" is not written yet: it returns None; questions.md has the'
                " question"
            )
        case int(number) if number == right.answer and not isinstance(number, bool):
            return
        case came:
            drawing = tuple(table.split("\n"))
            raise Mismatch(name, right.answer, came, right.why, drawing=drawing)
