"""Hidden tests of exercise 16-3s: only `kafka-edu lab grade 16-3s` runs them."""

from random import Random

from ...runner.spark_learner import SparkLearner
from ..minutes import DELAY_S, Line
from .public_tests import GAP_S, A, B, Checked


def test_long_visit(learner: SparkLearner) -> None:
    """a visit of several hours, in many micro-batches"""
    batches = [
        [Line(at, A) for at in range(begin, begin + 2_000, 250)] for begin in range(0, 8_000, 2_000)
    ]
    Checked(learner).agrees("a visit has no greatest length", *batches, [Line(20_000, B)])


def test_three_become_one(learner: SparkLearner) -> None:
    """two late lines turn three sessions into one"""
    Checked(learner).agrees(
        "a line that fills a pause joins both sides",
        [Line(0, A), Line(500, A), Line(1_000, A)],
        [Line(250, A), Line(750, A)],
        [Line(1_000 + GAP_S + DELAY_S, B)],
    )


def test_many_clients(learner: SparkLearner, seed: int) -> None:
    """two hundred clients at once"""
    random = Random(f"clients/{seed}")
    first = [Line(random.randrange(600), f"10.1.{n % 7}.{n}") for n in range(200)]
    again = [line._replace(time_s=line.time_s + random.choice((200, 301))) for line in first]
    Checked(learner).agrees("each client has sessions of its own", first, again, [Line(9_000, B)])
