"""Hidden tests of exercise 08-5: only `kafka-edu lab grade 08-5` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..layout_rules import VERSIONS
from .public_tests import read_one


def test_large_clusters(learner: Learner, seed: int) -> None:
    """answers with eight brokers and five topics, in each version"""
    random = Random(f"large/{seed}")
    made = learner.make()
    for version in VERSIONS:
        read_one(made, random, version, 8, 5)


def test_empty_clusters(learner: Learner, seed: int) -> None:
    """answers without topics: a client that asks only for brokers gets such answers"""
    random = Random(f"empty/{seed}")
    made = learner.make()
    for version in VERSIONS:
        read_one(made, random, version, 1, 0)
