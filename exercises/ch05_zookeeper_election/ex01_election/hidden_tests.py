"""Hidden tests of exercise 05-1: only `kafka-edu lab grade 05-1` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import world


def test_written_by_hand_again_and_again(learner: Learner, seed: int) -> None:
    """ids are written into /controller by hand, and sometimes it is deleted"""
    random = Random(f"written/{seed}")
    three = world(learner, 3)
    for _ in range(8):
        three.settle(random)
        if random.random() < 0.7:
            three.write_by_hand(random.randrange(3))
        else:
            three.delete_by_hand()
    three.settle(random)


def test_troubles_in_the_middle(learner: Learner, seed: int) -> None:
    """/controller changes or a session expires while an election is still going on"""
    random = Random(f"middle/{seed}")
    four = world(learner, 4)
    for _ in range(30):
        four.go_on(random, random.choice((0, 1, 3, 8)))
        four.disturb(random)
    four.settle(random)


def test_two_clusters(learner: Learner, seed: int) -> None:
    """two clusters with the same broker ids, which do not affect each other"""
    random = Random(f"two/{seed}")
    both = (world(learner, 2), world(learner, 2))
    for _ in range(6):
        for one in both:
            one.settle(random)
        one = random.choice(both)
        one.expire(random.choice(one.runners))
