"""Hidden tests of exercise 13-5: only `kafka-edu lab grade 13-5` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import A, B, World


def test_many_topics(learner: Learner, seed: int) -> None:
    """two hundred topics, each time in a different order"""
    random = Random(f"topics/{seed}")
    topics = [(f"web-{n}", n % 5 + 1) for n in range(200)]
    world = World(learner, *topics, random=random)
    for number in range(30):
        rows = random.sample(topics, len(topics))
        world.metadata(number % 3 + 1, *rows)
    world.metadata(2, *topics[1:])


def test_a_long_life(learner: Learner, seed: int) -> None:
    """one group, and five hundred things that happen"""
    World(learner, A, B, random=Random(f"long/{seed}")).happen(500)


def test_two_changes_that_add_up_to_nothing(learner: Learner) -> None:
    """one topic gets a partition, and another was made again with one partition less"""
    world = World(learner, A, B)
    world.metadata(1, ("web-b", 3), ("web-a", 2))
    world.metadata(1, ("web-a", 2), ("web-b", 3))
