"""Hidden tests of exercise 14-4: only `kafka-edu lab grade 14-4` runs them."""

from random import Random

from ..auto_commit_world import AutoCommitWorld
from .public_tests import A, B, Make
from .public_tests import make as make


def test_a_long_life(make: Make, seed: int) -> None:
    """eight partitions, and many polls"""
    random = Random(f"long/{seed}")
    first = {f"web-{n}": 10_000 * n for n in range(8)}
    world = AutoCommitWorld(random, first, 90)
    world.begin(make(250, 500), "member 0")
    for _ in range(700):
        world.step(revoke=True)


def test_two_consumers(make: Make) -> None:
    """two consumers with the same partition, which must not be mixed up"""
    one, two = make(0, 2), make(0, 2)
    one.fetched(A, [0, 1])
    two.fetched(A, [7])
    for now_ms in range(3):
        one.poll(now_ms)
        two.poll(now_ms)


def test_all_at_once(make: Make) -> None:
    """one poll() returns the whole buffer, with records of both partitions in turn"""
    made = make(100, 1_000)
    for offset in range(300):
        made.fetched(A if offset % 2 else B, [5_000_000_000 + offset])
    for now_ms in (0, 99, 100, 250):
        made.poll(now_ms)
