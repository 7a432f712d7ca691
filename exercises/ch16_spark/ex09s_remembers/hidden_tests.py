"""Hidden tests of exercise 16-9s: only `kafka-edu lab grade 16-9s` runs them."""

from ...runner.spark_learner import SparkLearner
from ..minutes import DELAY_S
from .public_tests import RETRY, Checked, Order


def test_odd_ids(learner: SparkLearner) -> None:
    """ids that look alike: upper and lower case, blanks, an empty id"""
    names = ("A", "a", " a", "", "null", "ä", "a" * 500)
    first = [Order(name, at) for at, name in enumerate(names)]
    Checked(learner).agrees("each of these ids is another", first, first[::-1], [Order("z", 30)])


def test_again_after_hours(learner: SparkLearner) -> None:
    """an id that is used again hours later belongs to a new order"""
    Checked(learner).agrees(
        RETRY,
        [Order("a", 0), Order("b", 5)],
        [Order("c", 10_000)],
        [Order("a", 10_001)],
        [Order("a", 10_001 + DELAY_S - 1)],
    )


def test_a_client_with_many_orders(learner: SparkLearner) -> None:
    """many orders of one client in one second"""
    orders = [Order(f"o-{number}", 7) for number in range(300)]
    Checked(learner).agrees(RETRY, orders, [*orders[:50], Order("z", 60)])
