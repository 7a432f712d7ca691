"""Hidden tests of exercise 16-2s: only `kafka-edu lab grade 16-2s` runs them."""

from random import Random

from ...runner.spark_learner import SparkLearner
from ..minutes import DELAY_S, WINDOW_S, Line
from .public_tests import Checked


def test_few_lines(learner: SparkLearner) -> None:
    """the p99 of one line, of two lines, and of a hundred"""
    Checked(learner).agrees(
        [Line(1, duration_us=9), Line(61, duration_us=3), Line(62, duration_us=8)],
        [Line(120 + number % 60, duration_us=number) for number in range(100)],
        [Line(180 + number % 60, duration_us=number) for number in range(101)],
        [Line(1_000)],
    )


def test_exact_edges(learner: SparkLearner) -> None:
    """lines just before the watermark, exactly at it, and just after it"""
    for moved_s in (-1, 0, 1):
        Checked(learner).agrees(
            [Line(0), Line(WINDOW_S - 1)],
            [Line(WINDOW_S + DELAY_S + moved_s)],
            [Line(WINDOW_S - 1), Line(WINDOW_S)],
            [Line(2_000)],
        )


def test_a_long_silence(learner: SparkLearner, seed: int) -> None:
    """hours without a line, and then many at once"""
    random = Random(f"silence/{seed}")
    burst = [Line(20_000 + random.randrange(300), status=503) for _ in range(80)]
    Checked(learner).agrees([Line(5)], burst, [Line(7), *burst[:3]], [Line(40_000)])
