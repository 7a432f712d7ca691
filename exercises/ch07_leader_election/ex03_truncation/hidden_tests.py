"""Hidden tests of exercise 07-3: only `kafka-edu lab grade 07-3` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..truncation_rules import Case, two_logs
from .public_tests import check, follow


def test_long_logs(learner: Learner, seed: int) -> None:
    """logs with hundreds of records"""
    random = Random(f"long/{seed}")
    made = learner.make()
    for _ in range(10):
        leader, follower = two_logs(random, most=400)
        follow(made, leader, follower, random.randint(0, 400))


def test_many_elections(learner: Learner, seed: int) -> None:
    """a follower's log has fifty epochs, and the leader answers with different epochs"""
    random = Random(f"many/{seed}")
    made = learner.make()
    epochs = tuple((epoch, 10 * epoch) for epoch in range(0, 100, 2))
    for _ in range(80):
        epoch = random.randrange(-1, 104)
        check(made, Case(epochs, 995, 400, epoch, random.randrange(0, 1_100)))


def test_a_log_that_was_deleted_from_the_front(learner: Learner, seed: int) -> None:
    """the oldest records are deleted, so that the first epoch begins at a large offset"""
    random = Random(f"front/{seed}")
    made = learner.make()
    for _ in range(60):
        first = random.randrange(1 << 30)
        epochs = ((7, first), (9, first + 100))
        epoch = random.choice((3, 6, 7, 8, 9, 10))
        check(made, Case(epochs, first + 150, first + 90, epoch, first + random.randrange(200)))


def test_two_followers(learner: Learner, seed: int) -> None:
    """one object answers for two followers in turns, and must not mix them up"""
    random = Random(f"two/{seed}")
    made = learner.make()
    for turn in range(60):
        epochs = ((0, 0), (1, 120)) if turn % 2 else ((0, 0), (2, 50), (4, 80))
        check(made, Case(epochs, 130, 60, random.randrange(6), random.randrange(160)))
