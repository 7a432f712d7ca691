"""Hidden tests of exercise 09-4: only `kafka-edu lab grade 09-4` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..tombstone_world import HOUR_MS, NEVER
from .public_tests import World, check


def test_a_long_life(learner: Learner, seed: int) -> None:
    """one log goes through eight hundred random steps"""
    world = World(learner.make())
    world.go_on(Random(f"long/{seed}"), 800)
    world.settle()


def test_two_topics(learner: Learner, seed: int) -> None:
    """one object answers for two logs in turns, and must not mix them up"""
    random = Random(f"two/{seed}")
    made = learner.make()
    both = [World(made), World(made)]
    for _ in range(200):
        random.choice(both).go_on(random, 1)
    for one in both:
        one.settle()


def test_weeks_and_years(learner: Learner, seed: int) -> None:
    """times in ms since 1970, tombstones of some weeks or years, and several retentions"""
    random = Random(f"years/{seed}")
    made = learner.make()
    day_ms = 24 * HOUR_MS
    now = 1_790_000_000_000
    for days in (1, 7, 24, 25, 30, 50, 365, 2_000):
        cleaned = now - days * day_ms
        written = cleaned - random.randrange(90 * day_ms)
        for retention in (HOUR_MS, 7 * HOUR_MS, day_ms, 7 * day_ms, 40 * day_ms):
            check(made, written, cleaned, now, retention)
            check(made, written, NEVER, now, retention)
            for late in (-1, 0, 1):
                check(made, written, now - retention - late, now, retention)
