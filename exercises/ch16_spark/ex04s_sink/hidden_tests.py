"""Hidden tests of exercise 16-4s: only `kafka-edu lab grade 16-4s` runs them."""

from pathlib import Path

from ...runner.spark_learner import SparkLearner
from .public_tests import PART, Folder, all_of, rows_of


def test_many_batches(learner: SparkLearner, left: Path) -> None:
    """thirty batches, each of them written once"""
    folder = Folder(learner, left)
    folder.write(*((number, rows_of(number)) for number in range(30)))
    folder.holds(all_of(*range(30)))


def test_large_numbers(learner: SparkLearner, left: Path) -> None:
    """a stream that has run for years: batch ids are large, and one batch comes again"""
    folder = Folder(learner, left)
    numbers = (999_999_999, 1_000_000_000, 1_000_000_001)
    folder.write(*((number, rows_of(number)) for number in numbers))
    folder.write((numbers[-1], rows_of(numbers[-1])))
    folder.holds(all_of(*numbers))


def test_every_try_died(learner: SparkLearner, left: Path) -> None:
    """a batch fails three times, each time after a different number of rows"""
    folder = Folder(learner, left)
    rows = rows_of(5)
    folder.write((4, rows_of(4)), *((5, rows[:part]) for part in (3, 1, 0)))
    folder.write((5, rows))
    folder.holds(all_of(4, 5), lost=PART)
