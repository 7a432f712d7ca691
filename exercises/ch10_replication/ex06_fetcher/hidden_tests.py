"""Hidden tests of exercise 10-6: only `kafka-edu lab grade 10-6` runs them."""

from random import Random

from ..fetcher_rules import FENCED, Answer, FetcherWorld
from .public_tests import Make, fetching
from .public_tests import make as make


def test_many_partitions(make: Make, seed: int) -> None:
    """forty partitions, long logs and a long time"""
    random = Random(f"many/{seed}")
    world = FetcherWorld(make(), random, 40, most=120)
    world.run(60)
    world.settle()


def test_two_leaders(make: Make, seed: int) -> None:
    """two fetchers, whose partitions have the same names, must not be mixed up"""
    random = Random(f"two/{seed}")
    worlds = [FetcherWorld(make(backoff_ms), random, 3) for backoff_ms in (1_000, 250)]
    for _ in range(15):
        random.choice(worlds).run(2)
    for world in worlds:
        world.settle()


def test_errors_again_and_again(make: Make) -> None:
    """a hundred errors in a row: each wait is as long as the first"""
    made = make()
    fetching(made, "lab-0", "lab-1")
    now_ms = 70_000
    for _ in range(100):
        made.error("lab-0", "NOT_LEADER_OR_FOLLOWER", now_ms)
        made.plan(now_ms + 999)
        now_ms += 1_000
        made.plan(now_ms)


def test_large_numbers(make: Make, seed: int) -> None:
    """large offsets, and epochs in the thousands"""
    random = Random(f"large/{seed}")
    made = make(30_000)
    for _ in range(30):
        base = random.randrange(1 << 40, 1 << 41)
        epochs = ((1_000, base), (1_005, base + 50), (1_010, base + 90))
        made.follow("lab-0", epochs)
        epoch = random.choice((999, 1_000, 1_003, 1_005, 1_007, 1_010))
        end = base + random.randrange(120)
        made.answer("lab-0", Answer(epochs, base + 100, base + 20, epoch, end))
    made.error("lab-0", FENCED)
