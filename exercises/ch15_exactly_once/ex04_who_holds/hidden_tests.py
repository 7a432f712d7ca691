"""Hidden tests of exercise 15-4: only `kafka-edu lab grade 15-4` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import World


def test_time_out_after_time_out(learner: Learner) -> None:
    """a producer whose transaction times out again and again, each time with a late batch"""
    world = World(learner)
    for _ in range(6):
        world.do("send", 1, 0)
        world.do("send", 1, 1)
        world.do("arrive", 1)
        world.do("expire", 1)
        world.do("arrive", 1)
        world.do("commit", 1)
    world.all_stable()


def test_a_very_late_batch(learner: Learner) -> None:
    """a batch arrives after its producer has restarted twice and has had other transactions"""
    world = World(learner)
    world.do("send", 2, 1)
    world.do("expire", 2)
    world.do("start", 2)
    waiting = world.world.on_the_way[2]
    late = waiting.pop()
    for _ in range(3):
        world.do("send", 2, 1)
        world.do("arrive", 2)
        world.do("commit", 2)
    world.do("start", 2)
    waiting.append(late)
    world.do("arrive", 2)
    world.all_stable()


def test_a_replacement_while_it_times_out(learner: Learner) -> None:
    """a producer restarts right after the time-out, while its old batch is in flight"""
    world = World(learner)
    for producer in (1, 2, 3):
        world.do("send", producer, 0)
        world.do("expire", producer)
        world.do("start", producer)
        world.do("arrive", producer)
        world.do("send", producer, 0)
        world.do("arrive", producer)
        world.do("commit", producer)
    world.all_stable()
    world.offsets(0, 9, "an abort marker, a batch and a commit marker of each producer")


def test_long_lives(learner: Learner, seed: int) -> None:
    """eight worlds with four hundred random steps"""
    random = Random(f"long/{seed}")
    for _ in range(8):
        World(learner).go_on(random, 400)
