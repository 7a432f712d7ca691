"""Hidden tests of exercise 01-6: only a grade (`kafka-edu lab grade`) runs them."""

from kafka_edu.learner.learner import Learner

from .public_tests import NAMES, THREE, Checked


def test_two_sessions(learner: Learner) -> None:
    """two connections do not share a session"""
    one, other = Checked(learner, 100), Checked(learner, 100)
    one.fetches(THREE)
    one.gets(NAMES)
    other.fetches(THREE[:1])
    one.fetches(THREE)
    other.gets(NAMES[:1], session_id=7)
    other.fetches(THREE[:1])


def test_an_error_of_a_full_fetch(learner: Learner) -> None:
    """a full fetch that the broker refuses, before and after there was a session"""
    one = Checked(learner, 100)
    for error_code in (71, 70, 1):
        one.fetches(THREE)
        one.gets((), session_id=0, error_code=error_code)
    one.fetches(THREE)
    one.gets(NAMES)
    one.loses_connection()
    one.loses_connection()
    one.fetches(THREE)
    one.gets((), session_id=0, error_code=71)
    one.fetches(THREE)


def test_nothing_is_wanted(learner: Learner) -> None:
    """a session in which all partitions are forgotten"""
    one = Checked(learner, 100)
    one.fetches(THREE)
    one.gets(NAMES)
    for wanted in ((), (), THREE[:1]):
        one.fetches(wanted)
        one.gets(())
