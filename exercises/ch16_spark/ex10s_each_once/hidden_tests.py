"""Hidden tests of exercise 16-10s: only `kafka-edu lab grade 16-10s` runs them."""

from ...runner.spark_learner import SparkLearner
from ..minutes import DELAY_S
from ..sales import Order
from .public_tests import Checked


def test_names_that_look_alike(learner: SparkLearner) -> None:
    """shops and ids that are equal only when they are joined, or when case is ignored"""
    alike = [("a", "bc"), ("ab", "c"), ("A", "bc"), ("a-b", "c"), ("a", "b-c"), ("a", "BC")]
    orders = [Order(shop, name, at, 1 << at) for at, (shop, name) in enumerate(alike)]
    Checked(learner).agrees(orders, orders[::-1], [Order("z", "z", 1_000)])


def test_again_after_hours(learner: SparkLearner) -> None:
    """an id that a shop uses again hours later is a new order, and its retry does not count"""
    Checked(learner).agrees(
        [Order("web", "a", 0, 2), Order("web", "b", 5, 3)],
        [Order("web", "c", 10_000)],
        [Order("web", "a", 10_001, 4), Order("web", "a", 10_001 + DELAY_S - 1, 4)],
        [Order("web", "end", 20_000)],
    )


def test_refunds(learner: SparkLearner) -> None:
    """orders with 0 or negative cents count like others, even if the sum of a minute is 0"""
    Checked(learner).agrees(
        [Order("web", "a", 0, 250), Order("web", "b", 1, -250), Order("web", "c", 2, 0)],
        [Order("web", "b", 59, -250), Order("web", "c", 61, 0), Order("web", "d", 62, -7)],
        [Order("web", "end", 400)],
    )
