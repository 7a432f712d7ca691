"""Hidden tests of exercise 16-11s: only `kafka-edu lab grade 16-11s` runs them."""

from ...runner.spark_learner import SparkLearner
from ..blame import ENDS, Deployment, Request
from .public_tests import Checked


def test_at_the_same_moment(learner: SparkLearner) -> None:
    """several failed requests and several deployments of one second are all joined"""
    Checked(learner).agrees(
        [Request("cart", 50), Request("cart", 50), Request("Cart", 50), Request("", 50)],
        [Deployment("cart", 50, "a"), Deployment("cart", 50, "b"), Deployment("", 40, "c")],
        *ENDS,
    )


def test_one_stream_is_far_behind(learner: SparkLearner) -> None:
    """hours of requests come before the first deployment, and no request misses its suspect"""
    Checked(learner).agrees(
        [Request("cart", 0), Request("pay", 7_200)],
        [Request("cart", 14_400)],
        [Deployment("cart", 0, "old"), Deployment("pay", 7_000, "p1")],
        *ENDS,
    )


def test_names_in_other_scripts(learner: SparkLearner) -> None:
    """names in other scripts, with a space, or in capitals are joined as they are"""
    Checked(learner).agrees(
        [Request("购物车", 50), Request("cart ", 51), Request("cart", 52), Request("Ä", 53)],
        [
            Deployment("购物车", 45, "第一版"),
            Deployment("cart ", 46, " "),
            Deployment("ä", 47, "x"),
        ],
        *ENDS,
    )
