"""Hidden tests of exercise 18-3: only `kafka-edu lab grade 18-3` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import check, needs


def test_shortest_at_any_time(learner: Learner, seed: int) -> None:
    """`shortest` is asked after each run"""
    random = Random(f"any time/{seed}")
    for _ in range(8):
        check(learner, 20, needs(random.sample(range(20), 3)), look=True)


def test_acts_that_heal(learner: Learner, seed: int) -> None:
    """random acts that heal: a run may not fail, although a smaller part of it fails"""
    random = Random(f"heal/{seed}")
    for _ in range(12):
        first, second, healer = random.sample(range(18), 3)
        check(
            learner,
            18,
            lambda kept, a=first, b=second, c=healer: (  # type: ignore[misc]
                a in kept and (b in kept or c not in kept)
            ),
        )


def test_no_act(learner: Learner) -> None:
    """a run that has no act at all"""
    check(learner, 0, needs([]))


def test_a_thousand(learner: Learner) -> None:
    """two of a thousand acts"""
    check(learner, 1_000, needs([17, 903]))
