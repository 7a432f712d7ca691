"""Hidden tests of exercise 05-5: only `kafka-edu lab grade 05-5` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import World


def test_deleted_again_and_again(learner: Learner, seed: int) -> None:
    """one cluster lives long, and /controller is often deleted once or twice"""
    random = Random(f"long/{seed}")
    world = World(learner, 3)
    for _ in range(30):
        for _ in range(random.choice((1, 1, 2))):
            world.steps(random, random.randint(0, 7))
            world.delete()
        world.settle(random)


def test_seven_brokers(learner: Learner, seed: int) -> None:
    """a cluster with seven brokers"""
    random = Random(f"seven/{seed}")
    for _ in range(3):
        world = World(learner, 7)
        world.steps(random, random.randint(5, 40))
        world.delete()
        world.settle(random)


def test_two_clusters(learner: Learner, seed: int) -> None:
    """two clusters at once, which do not affect each other"""
    random = Random(f"two/{seed}")
    both = (World(learner, 2), World(learner, 3))
    for _ in range(8):
        one = random.choice(both)
        one.steps(random, random.randint(1, 9))
        one.delete()
    for one in both:
        one.settle(random)
