"""Hidden tests of exercise 07-4: only `kafka-edu lab grade 07-4` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import World


def test_a_long_life(learner: Learner, seed: int) -> None:
    """one partition goes through eight hundred random steps"""
    World(learner).run(Random(f"long/{seed}"), 800)


def test_fast_elections(learner: Learner, seed: int) -> None:
    """leaders die quickly one after another, before or after they have written records"""
    random = Random(f"fast/{seed}")
    for _ in range(12):
        world = World(learner)
        one = world.world
        for _ in range(60):
            match random.random():
                case what if what < 0.35:
                    one.produce()
                case what if what < 0.6:
                    one.fetch()
                case what if what < 0.8 and one.leader >= 0:
                    dead = [each.broker for each in one.replicas if not each.alive]
                    if not dead:
                        one.kill(one.leader)
                case _:
                    for each in one.replicas:
                        if not each.alive:
                            one.come_back(each.broker)
            world.look()
        one.settle()
        world.look()
        world.compare()


def test_two_partitions(learner: Learner, seed: int) -> None:
    """two partitions at once, which do not affect each other"""
    random = Random(f"two/{seed}")
    both = [World(learner), World(learner)]
    for _ in range(160):
        one = random.choice(both)
        one.world.go_on(random)
        one.look()
    for one in both:
        one.world.settle()
        one.look()
        one.compare()
