"""Hidden tests of exercise 16-6: only `kafka-edu lab grade 16-6` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..error_rates import Settings, random_batches, rows_of
from .public_tests import Checked


def test_a_baseline_of_an_hour(learner: Learner, seed: int) -> None:
    """an alarm with a baseline of sixty minutes"""
    random = Random(f"hour/{seed}")
    checked = Checked(learner, Settings(60, 10, 4, 5))
    after = checked.minutes(*[(random.randrange(3), random.randint(60, 90)) for _ in range(70)])
    checked.has_baseline()
    after = checked.minutes((60, 80), (60, 80), *[(0, 50)] * 8, first=after)
    checked.has_baseline()


def test_a_large_site(learner: Learner, seed: int) -> None:
    """minutes with more lines than a floating-point number can represent exactly"""
    random = Random(f"large/{seed}")
    for _ in range(6):
        lines = 10**16 + random.randrange(10**6)
        base = random.randint(1, 9)
        checked = Checked(learner, Settings(1, 10, 3, 1))
        checked.batch(rows_of(0, lines, base), 1)
        failed = 3 * (base + 1)
        checked.batch(rows_of(1, lines, failed), 2)
        checked.has_baseline()
        checked.batch(rows_of(2, lines, failed + 1), 3)
        checked.batch(rows_of(3, lines), 4)
        checked.has_baseline()


def test_a_long_night(learner: Learner, seed: int) -> None:
    """150 batches for one alarm, with rows that come late"""
    random = Random(f"night/{seed}")
    checked = Checked(learner, Settings(5, 10, 2, 3))
    for rows, until in random_batches(random, 150):
        checked.batch(rows, until)
    checked.has_baseline()
