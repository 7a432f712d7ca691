"""Hidden tests of exercise 12-3: only `kafka-edu lab grade 12-3` runs them."""

from random import Random

from ..flight_rules import RETRIABLE, FlightWorld
from .public_tests import A, Make, error
from .public_tests import make as make


def test_a_long_life(make: Make, seed: int) -> None:
    """eight partitions on three brokers, and a long time"""
    random = Random(f"long/{seed}")
    FlightWorld(make(5, True, 1_000), random, 3, 8, True).run(900)


def test_two_producers(make: Make, seed: int) -> None:
    """two producers at once, which must not mix up their batches"""
    random = Random(f"two/{seed}")
    worlds = [
        FlightWorld(make(limit, idempotent, 7), random, 2, 3, idempotent)
        for limit, idempotent in ((1, False), (5, True))
    ]
    for _ in range(60):
        random.choice(worlds).run(4)


def test_a_hundred_retries(make: Make) -> None:
    """a batch is sent again a hundred times, because `retries` allows it"""
    made = make(5, True, 100)
    for _ in range(101):
        made.go(0, (A, 1))
        made.answered(0, [error(A, 1, RETRIABLE[0])])
