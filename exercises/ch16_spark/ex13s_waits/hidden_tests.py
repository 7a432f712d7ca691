"""Hidden tests of exercise 16-13s: only `kafka-edu lab grade 16-13s` runs them."""

from ...runner.spark_learner import SparkLearner
from ..minutes import DELAY_S, WINDOW_S, Line
from .public_tests import Checked


def test_no_errors_at_all(learner: SparkLearner) -> None:
    """lines without errors give no row for two hours; then a line with status 999 gives a row"""
    Checked(learner).agrees(
        [Line(at, status=404) for at in range(0, 7_200, 600)],
        [Line(7_201, status=999)],
        [Line(7_500)],
    )


def test_exact_edges(learner: SparkLearner) -> None:
    """errors in the first and the last second of a minute, at the edge of the watermark"""
    Checked(learner).agrees(
        [Line(0, status=500), Line(WINDOW_S - 1, status=500), Line(WINDOW_S, status=500)],
        [Line(WINDOW_S + DELAY_S - 1)],
        [Line(WINDOW_S - 1, status=500), Line(WINDOW_S + DELAY_S)],
        [Line(WINDOW_S - 1, status=500), Line(3 * WINDOW_S + DELAY_S)],
    )
