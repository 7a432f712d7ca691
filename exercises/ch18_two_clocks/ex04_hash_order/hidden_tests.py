"""Hidden tests of exercise 18-4: only `kafka-edu lab grade 18-4` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..placing_world import Call, random_calls
from .public_tests import check, joined, placed


def test_many_partitions(learner: Learner, seed: int) -> None:
    """two hundred partitions"""
    check(learner, [*joined(3, 1), *placed(*range(40))])
    check(learner, random_calls(Random(f"many/{seed}"), 300, 200))


def test_one_broker_at_last(learner: Learner) -> None:
    """all brokers but one leave, one after the other"""
    leaving = [Call("leave", f"broker-{number}") for number in (2, 5, 1)]
    check(learner, [*joined(5, 2, 4, 1), *placed(*range(9)), *leaving])


def test_a_leave_without_partitions(learner: Learner) -> None:
    """a broker that has nothing leaves"""
    check(learner, [*joined(3, 2), *placed(0), Call("leave", "broker-2"), *placed(1)])
