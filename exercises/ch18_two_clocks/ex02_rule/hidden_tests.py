"""Hidden tests of exercise 18-2: only `kafka-edu lab grade 18-2` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..history_rules import random_notes
from .public_tests import P, check, notes


def test_three_times(learner: Learner) -> None:
    """a record is there three times: that is one fault"""
    check(learner, notes(P, {}, "p-0", "p-1", "p-1", "p-1", "p-0", "p-0"))


def test_a_ghost_twice(learner: Learner) -> None:
    """an invented record is in the log twice; it is not compared for the order"""
    rows = [("p-9", 7, 0), ("p-0", 7, 0), ("p-9", 7, 0), ("p-1", 7, 0)]
    check(learner, notes(P, {"p-0": 1, "p-1": 3}, *rows))


def test_acked_at_its_second_place(learner: Learner) -> None:
    """the acknowledgement names the second place of a record that was sent again"""
    check(learner, notes(P, {"p-1": 2, "p-2": 3}, "p-0", "p-1", ("p-1", 7, 1), ("p-2", 7, 1)))


def test_late_in_one_epoch(learner: Learner) -> None:
    """records of an epoch without a fault, between the records of an epoch with a fault"""
    rows = [("p-2", 7, 0), ("p-0", 7, 1), ("p-1", 7, 0), ("p-1", 7, 1), ("p-3", 7, 0)]
    check(learner, notes(P, {}, *rows))


def test_long(learner: Learner, seed: int) -> None:
    """a run of six hundred records"""
    check(learner, random_notes(Random(f"long/{seed}"), 600))
