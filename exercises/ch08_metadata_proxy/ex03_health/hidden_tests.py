"""Hidden tests of exercise 08-3: only `kafka-edu lab grade 08-3` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..health_rules import right_states
from .public_tests import look


def test_a_long_life(learner: Learner, seed: int) -> None:
    """one target goes up and down during two thousand checks"""
    random = Random(f"long/{seed}")
    looks: list[bool] = []
    while len(looks) < 2_000:
        looks += [random.random() < 0.5] * random.randint(1, 6)
    look(learner, 4, 3, looks)


def test_two_targets(learner: Learner, seed: int) -> None:
    """two targets are checked in turns, and do not affect each other"""
    random = Random(f"two/{seed}")
    both = [learner.make(2, 2), learner.make(3, 1)]
    limits, looks = [(2, 2), (3, 1)], [list[bool](), list[bool]()]
    for _ in range(200):
        which, answered = random.randrange(2), random.random() < 0.5
        looks[which].append(answered)
        came = both[which].call("saw", answered)
        right = right_states(*limits[which], looks[which])[-1]
        if came != right:
            raise Mismatch(
                f"saw({answered}), of target {which}", right, came, "each target counts alone"
            )


def test_large_limits(learner: Learner) -> None:
    """the state changes only after a hundred equal checks in a row"""
    look(learner, 100, 100, [True] + [False] * 99 + [True] + [False] * 100 + [True] * 100)
