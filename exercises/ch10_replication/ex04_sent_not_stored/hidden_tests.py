"""Hidden tests of exercise 10-4: only `kafka-edu lab grade 10-4` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import World


def test_a_long_life(learner: Learner, seed: int) -> None:
    """one partition goes through eight hundred random steps"""
    world = World(learner)
    world.go_on(Random(f"long/{seed}"), 800)
    world.settle()


def test_two_partitions(learner: Learner, seed: int) -> None:
    """two partitions at once, which do not affect each other"""
    random = Random(f"two/{seed}")
    both = [World(learner), World(learner)]
    for _ in range(160):
        random.choice(both).go_on(random, 1)
    for one in both:
        one.settle()


def test_leaders_die_with_answers_on_their_way(learner: Learner, seed: int) -> None:
    """leaders die again and again, each time before some of their answers have arrived"""
    random = Random(f"die/{seed}")
    for _ in range(20):
        world = World(learner)
        one = world.world
        for _ in range(8):
            one.write()
            for follower in (0, 1, 2):
                one.fetch(follower)
                if random.random() < 0.6:
                    one.arrive(follower)
                    one.fetch(follower)
                world.look()
            if len(one.isr) == 3:
                one.kill(one.leader)
                world.look()
            else:
                world.settle()
