"""Hidden tests of exercise 18-5: only `kafka-edu lab grade 18-5` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..broker_rules import RULES, random_question
from .public_tests import check, marks


def test_four_and_five_replicas(learner: Learner) -> None:
    """the ISR has four or five members, and the slowest member counts"""
    made = learner.make()
    check(
        made,
        marks(2, 9, (1, 2, 3, 4), (2, 9), (3, 8), (4, 3)),
        marks(2, 9, (1, 2, 3, 4, 5), (2, 9), (3, 9), (4, 8), (5, 3)),
        marks(2, 9, (1, 3, 5), (2, 2), (3, 9), (4, 4), (5, 8)),
    )


def test_large_offsets(learner: Learner, seed: int) -> None:
    """logs with very large offsets"""
    random, made = Random(f"large/{seed}"), learner.make()
    for rule in RULES:
        check(made, *(random_question(random, rule, first=1 << 60) for _ in range(20)))
