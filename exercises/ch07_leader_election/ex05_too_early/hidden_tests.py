"""Hidden tests of exercise 07-5: only `kafka-edu lab grade 07-5` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import World, check


def test_a_long_life(learner: Learner, seed: int) -> None:
    """one partition goes through eight hundred random steps"""
    World(learner).run(Random(f"long/{seed}"), 800)


def test_large_offsets(learner: Learner, seed: int) -> None:
    """logs with very large offsets"""
    random = Random(f"large/{seed}")
    made = learner.make()
    for _ in range(80):
        leo = random.randrange(1 << 40, 1 << 41)
        check(made, leo, leo + random.randint(-2, 2), leo + random.randint(-2, 2))


def test_two_partitions(learner: Learner, seed: int) -> None:
    """two partitions at once, which do not affect each other"""
    random = Random(f"two/{seed}")
    both = [World(learner), World(learner)]
    for _ in range(160):
        one = random.choice(both)
        one.world.go_on(random)
        one.look()
