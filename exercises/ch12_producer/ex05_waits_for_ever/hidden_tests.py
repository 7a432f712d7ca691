"""Hidden tests of exercise 12-5: only `kafka-edu lab grade 12-5` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import World


def test_a_long_life(learner: Learner, seed: int) -> None:
    """one producer with thirty partitions, and eight hundred records"""
    world = World(learner)
    world.trickle(Random(f"long/{seed}"), [f"web-{n}" for n in range(30)], 800)


def test_two_producers(learner: Learner, seed: int) -> None:
    """two producers at once, which must not mix up their batches"""
    random = Random(f"two/{seed}")
    worlds = [World(learner), World(learner, 300, 20)]
    for number in range(60):
        random.choice(worlds).records((10 * number, 90))
    for world in worlds:
        world.until(5_000)


def test_a_day_of_records(learner: Learner) -> None:
    """one small record every 40 ms, for a long time"""
    world = World(learner, 1_000_000, 50)
    world.records(*((40 * number, 10) for number in range(400)))
    world.until(60_000)
