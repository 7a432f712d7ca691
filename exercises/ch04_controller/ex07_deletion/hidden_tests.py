"""Hidden tests of exercise 04-7: only `kafka-edu lab grade 04-7` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..deletion_rules import something
from .public_tests import Checked, play

SIX = tuple(range(6))


def many_topics(random: Random) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return twelve topics with random replicas on six brokers."""
    return tuple(
        (f"t{number:02}", tuple(random.sample(SIX, random.randint(1, 4)))) for number in range(12)
    )


def test_late_answers(learner: Learner, seed: int) -> None:
    """answers come twice, or late, or for replicas that nobody asked to delete"""
    random = Random(f"late/{seed}")
    for _ in range(5):
        play(Checked(learner), random, events=60, late=True)


def test_many_topics(learner: Learner, seed: int) -> None:
    """twelve topics on six brokers"""
    random = Random(f"twelve/{seed}")
    one = Checked(learner, many_topics(random), SIX)
    play(one, random, events=150, brokers=SIX)


def test_two_clusters(learner: Learner, seed: int) -> None:
    """two clusters at once, which do not affect each other"""
    random = Random(f"two/{seed}")
    both = (Checked(learner), Checked(learner, many_topics(random), SIX))
    for _ in range(90):
        one = random.choice(both)
        one.do(something(random, one.right, (0, 1, 2), late=False))
