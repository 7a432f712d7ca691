"""Hidden tests of exercise 06-4: only `kafka-edu lab grade 06-4` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import Stopped


def test_seven_disks(learner: Learner, seed: int) -> None:
    """seven disks whose names are paths; some disks cannot be written"""
    random = Random(f"seven/{seed}")
    disks = tuple(f"/data/{number}" for number in range(7))
    for _ in range(8):
        bad = random.sample(disks, random.randint(0, 4))
        Stopped(learner, disks, failing=bad).run(random, first=12)


def test_a_crowd(learner: Learner, seed: int) -> None:
    """many requests have no answer yet when the broker begins to stop"""
    random = Random(f"crowd/{seed}")
    for _ in range(6):
        Stopped(learner, ("a", "b")).run(random, first=60)


def test_two_brokers(learner: Learner, seed: int) -> None:
    """two brokers stop, and a different disk is bad on each; they do not affect each other"""
    random = Random(f"two/{seed}")
    for _ in range(10):
        both = [Stopped(learner, "ab", failing="a"), Stopped(learner, "ab", failing="b")]
        random.shuffle(both)
        for one in both:
            one.run(random)
