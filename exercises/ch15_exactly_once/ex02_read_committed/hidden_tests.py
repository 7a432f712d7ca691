"""Hidden tests of exercise 15-2: only `kafka-edu lab grade 15-2` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..committed_world import ABORT, COMMIT
from .public_tests import NOBODY, Partition, play


def test_many_producers(learner: Learner, seed: int) -> None:
    """thirty producers have transactions open at the same time"""
    play(Partition(learner), Random(f"many/{seed}"), 30, 250)


def test_two_partitions(learner: Learner, seed: int) -> None:
    """the same producers write to two partitions, which must not share state"""
    random = Random(f"two/{seed}")
    both = [Partition(learner) for _ in range(2)]
    for _ in range(8):
        for one in both:
            mark = one.world.log.high_watermark
            one.stable(mark)
            play_more(one, random)


def play_more(one: Partition, random: Random) -> None:
    """Let three producers write one transaction each. One of the transactions is aborted."""
    producers = random.sample(range(3), 3)
    one.write(*producers, NOBODY)
    for producer in producers[:2]:
        one.decide(producer, random.choice((ABORT, COMMIT)))
    one.stable()
    one.decide(producers[2], COMMIT)
    one.stable()
    one.read()


def test_a_large_batch_at_the_border(learner: Learner) -> None:
    """a batch of fifty records: the fetch begins and ends in the middle of a transaction"""
    one = Partition(learner)
    one.write(1, 2, count=50)
    one.write(1, count=50)
    one.decide(1, ABORT)
    one.write(1, 2, count=50)
    one.decide(2, ABORT)
    one.decide(1, COMMIT)
    for start in (0, 49, 50, 99, 100, 149, 150, 151, 201):
        for end in (start + 1, start + 60, one.world.end):
            one.aborted(start, min(end, one.world.end))
        one.read(start)


def test_a_long_life(learner: Learner) -> None:
    """one producer commits and aborts in turns, a hundred times"""
    one = Partition(learner)
    for turn in range(100):
        one.write(1)
        if turn % 7 == 3:
            one.write(NOBODY)
        one.stable()
        one.decide(1, ABORT if turn % 2 else COMMIT)
        if turn % 3:
            one.stable()
    for start in range(0, one.world.end, 17):
        one.read(start)
        one.aborted(start, one.world.end)
