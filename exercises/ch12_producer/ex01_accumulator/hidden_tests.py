"""Hidden tests of exercise 12-1: only `kafka-edu lab grade 12-1` runs them."""

from random import Random

from ..drain_rules import DrainWorld
from .public_tests import NOW_MS, Make, row
from .public_tests import make as make


def test_many_partitions(make: Make, seed: int) -> None:
    """sixty partitions on five brokers, and a long time"""
    random = Random(f"many/{seed}")
    DrainWorld(make(), random, 5, 60, keeps_order=True).run(60)


def test_two_producers(make: Make, seed: int) -> None:
    """two producers at once, which must not mix up their brokers"""
    random = Random(f"two/{seed}")
    worlds = [
        DrainWorld(make(*settings), random, 2, 5, keeps_order=False)
        for settings in ((1_000, 50, 100), (400, 7, 49))
    ]
    for _ in range(60):
        random.choice(worlds).run(2)


def test_many_attempts(make: Make) -> None:
    """a batch that fails a hundred times waits as long each time"""
    made = make()
    for attempts in range(1, 101):
        for waited_ms in (0, 99, 100):
            made.ready([row(0, [10, 10], NOW_MS - waited_ms, attempts)])


def test_no_linger_and_small_batches(make: Make) -> None:
    """batch.size 0 and linger.ms 0: each record goes at once"""
    made = make(0, 0, 0)
    made.ready([row(0, [61], NOW_MS), row(1, [61], NOW_MS, 1)])
    made = make(0, 10, 0)
    made.ready([row(0, [61], NOW_MS), row(1, [61], NOW_MS, 1)])
