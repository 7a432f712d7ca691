"""Hidden tests of exercise 05-6: only `kafka-edu lab grade 05-6` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import World


def test_long_life(learner: Learner, seed: int) -> None:
    """one cluster lives long; sessions expire and /controller is deleted, often several at once"""
    random = Random(f"long/{seed}")
    world = World(learner, 3)
    for _ in range(40):
        for _ in range(random.choice((1, 2, 3))):
            world.steps(random, random.randint(0, 6))
            world.disturb(random)
        world.settle(random)


def test_seven_brokers(learner: Learner, seed: int) -> None:
    """a cluster with seven brokers"""
    random = Random(f"seven/{seed}")
    for _ in range(4):
        world = World(learner, 7)
        for _ in range(4):
            world.steps(random, random.randint(3, 30))
            world.disturb(random)
        world.settle(random)


def test_two_clusters(learner: Learner, seed: int) -> None:
    """two clusters at once, which do not affect each other"""
    random = Random(f"two/{seed}")
    both = (World(learner, 2), World(learner, 3))
    for _ in range(40):
        one = random.choice(both)
        one.steps(random, random.randint(0, 6))
        one.disturb(random)
    for one in both:
        one.settle(random)
