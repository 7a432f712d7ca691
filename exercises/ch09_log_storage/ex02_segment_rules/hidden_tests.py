"""Hidden tests of exercise 09-2: only `kafka-edu lab grade 09-2` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..segment_rules import Active, Batch, Keep, Kept, RollLimits
from .public_tests import random_log, roll, take


def test_defaults_of_kafka(learner: Learner, seed: int) -> None:
    """the default limits, and times in ms since 1970"""
    random = Random(f"defaults/{seed}")
    made = learner.make()
    week_ms, first_ms = 604_800_000, 1_790_000_000_000
    limits = RollLimits(1 << 30, week_ms)
    for _ in range(40):
        size = random.choice((0, 1 << 20, (1 << 30) - 1_000))
        late_ms = random.choice((0, week_ms - 1, week_ms, week_ms + 1))
        batch = Batch(random.choice((999, 1_000, 1_001)), first_ms + late_ms, 1 << 33)
        base = (1 << 33) - random.choice((0, 2**31 - 1, 2**31))
        active = Active(base, size, first_ms, first_ms)
        roll(made, active, batch, first_ms + late_ms, limits)


def test_two_topics(learner: Learner, seed: int) -> None:
    """one object answers for two topics in turns, and must not mix them up"""
    random = Random(f"two/{seed}")
    made = learner.make()
    limits = (Keep(True, 3_000, -1), Keep(False, 3_000, 100))
    for turn in range(120):
        take(made, limits[turn % 2], random_log(random), random.randrange(12_000))


def test_long_log(learner: Learner, seed: int) -> None:
    """two hundred segments, of which all but some go"""
    random = Random(f"long/{seed}")
    made = learner.make()
    segments = tuple((number * 10, 100, number) for number in range(200))
    for _ in range(10):
        limit = random.randrange(20_000)
        take(made, Keep(retention_bytes=limit), Kept(0, 2_000, 2_000, segments), 5_000)
