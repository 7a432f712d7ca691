"""Hidden tests of exercise 14-1: only `kafka-edu lab grade 14-1` runs them."""

from random import Random

from ..commit_rules import CommitWorld
from .public_tests import A, B, Make
from .public_tests import make as make


def test_a_long_life(make: Make, seed: int) -> None:
    """nine members and twelve partitions, for a long time"""
    random = Random(f"long/{seed}")
    CommitWorld([make() for _ in range(9)], random, 12, 120).run(900)


def test_other_intervals(make: Make, seed: int) -> None:
    """intervals from 1 ms to a minute"""
    random = Random(f"interval/{seed}")
    for interval_ms in (1, 250, 5_000, 60_000):
        CommitWorld([make(interval_ms) for _ in range(3)], random, 3, 60).run(200)


def test_large_offsets(make: Make) -> None:
    """a log with offsets that do not fit into 32 bits, and a poll of 500 records"""
    first = 5_000_000_000
    made = make(0)
    made.assigned([A, B])
    made.polled(A, list(range(first, first + 500)))
    made.done(A, *range(first + 499, first, -1))
    assert made.due(1) == {}
    made.done(A, first)
    assert made.due(2) == {A: first + 500}


def test_a_late_worker(make: Make) -> None:
    """a partition comes back; a worker finishes an old record before and after it is read again"""
    made = make(0)
    made.assigned([A])
    made.polled(A, [5, 6, 7])
    made.revoked([A])
    made.assigned([A])
    made.done(A, 5)
    made.polled(A, [5, 6])
    assert made.due(1) == {}
    made.done(A, 7, 5)
    made.polled(A, [7, 8])
    made.done(A, 6)
    assert made.due(2) == {A: 7}
