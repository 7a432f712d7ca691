"""Hidden tests of exercise 01-2: only a grade (`kafka-edu lab grade`) runs them."""

from kafka_edu.learner.learner import Learner

from ..batches import Settings
from .public_tests import NOW, Checked


def test_two_builders(learner: Learner) -> None:
    """two builders do not share their records"""
    one, other = Checked(learner, Settings()), Checked(learner, Settings(producer_id=9))
    for number in range(3):
        one.append(NOW + number, b"one", None)
        other.append(NOW - number, None, b"other")
    one.closes()
    other.closes()
    one.names_its_fields()


def test_limits(learner: Learner) -> None:
    """a record that makes the batch exactly as long as allowed, and one that is a byte longer"""
    for limit in (79, 80, 81):
        one = Checked(learner, Settings(max_bytes=limit))
        one.append(NOW, None, b"v")
        one.append(NOW, None, b"abc")
        one.closes()


def test_timestamps_of_all_times(learner: Learner) -> None:
    """records with timestamps before 1970, and with no timestamp (-1)"""
    one = Checked(learner, Settings())
    for timestamp in (-1, -86_400_000, NOW, 0):
        one.append(timestamp, None, b"v")
    one.closes()
