"""Hidden tests of exercise 13-6: only `kafka-edu lab grade 13-6` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..handover_world import Row, happen
from .public_tests import Asked, play


def test_a_long_life(learner: Learner, seed: int) -> None:
    """one group, and a hundred members that come or go"""
    random = Random(f"long/{seed}")
    world = play(learner, 40)
    for _ in range(100):
        happen(world, random, [f"m{n}" for n in range(8)])


def test_two_members_change_places(learner: Learner) -> None:
    """two members have to swap their partitions"""
    Asked(learner).assign([Row("a", (0, 1), (2, 3)), Row("b", (2, 3), (0, 1))])


def test_large_numbers(learner: Learner) -> None:
    """a thousand partitions, half of which move"""
    half = tuple(range(500, 1_000))
    Asked(learner).assign([Row("a", tuple(range(1_000)), tuple(range(500))), Row("b", (), half)])
    Asked(learner).assign([Row("a", tuple(range(500)), tuple(range(500))), Row("b", (), half)])
