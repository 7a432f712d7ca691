"""Hidden tests of exercise 13-4: only `kafka-edu lab grade 13-4` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import TO_STABLE, Story, live


def test_long_lives(learner: Learner, seed: int) -> None:
    """five members with three hundred events each"""
    random = Random(f"long/{seed}")
    for _ in range(5):
        live(learner, random, 300)


def test_generation_0(learner: Learner) -> None:
    """0 is a valid generation"""
    story = Story(learner)
    story.happens(*TO_STABLE, generation=0)
    story.happens("poll", "given_up")


def test_two_members(learner: Learner) -> None:
    """two members, whose states do not affect each other"""
    one, other = Story(learner), Story(learner)
    for event in TO_STABLE:
        one.happens(event, generation=3)
        other.happens("poll", "expelled")
