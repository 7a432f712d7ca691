"""Hidden tests of exercise 13-3: only `kafka-edu lab grade 13-3` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..join_rules import Row
from .public_tests import Barrier, run, static


def test_long_rebalances(learner: Learner, seed: int) -> None:
    """a hundred random rebalances with many calls of `look`"""
    random = Random(f"long/{seed}")
    for number in range(100):
        run(learner, random, static=number % 2 == 0, most=150)


def test_static_and_empty(learner: Learner) -> None:
    """static members join an empty group, and one more joins during the delay"""
    barrier = Barrier(learner, empty=True)
    barrier.look(1_000, static("s", joined=True))
    barrier.look(2_000, static("s", joined=True), static("t", joined=True))
    barrier.look(4_000, static("s", joined=True), static("t", joined=True))
    barrier.look(7_000, static("s", joined=True), static("t", joined=True))


def test_a_delay_longer_than_the_time_out(learner: Learner) -> None:
    """the first delay is longer than the rebalance time-out: no further delay follows"""
    barrier = Barrier(learner, empty=True, delay_ms=9_000)
    rows = [Row(name, None, True, 5_000) for name in "ab"]
    barrier.look(1_000, *rows[:1])
    barrier.look(9_999, *rows)
    barrier.look(10_000, *rows)


def test_two_hundred_members(learner: Learner) -> None:
    """two hundred members; the last one joins late, and the barrier does not wait for it twice"""
    rows = [Row(f"m{n}", None, False, 60_000) for n in range(200)]
    barrier = Barrier(learner, empty=False)
    for number in range(0, 200, 20):
        joined = [row._replace(joined=True) for row in rows[:number]]
        barrier.look(1_000 + number, *joined, *rows[number:])
    barrier.look(2_000, *(row._replace(joined=True) for row in rows))
    two = Barrier(learner, empty=False)
    two.look(1_000, *rows[:2])
