"""Public tests of exercise 16-2s. Run them with `kafka-edu lab check 16-2s`. The learner's job runs
in another process with its own Spark, and the fixture `learner` calls it there.
"""

from collections.abc import Sequence
from math import ceil
from random import Random
from typing import Final

import pytest

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import Row, SparkLearner
from ..jobs import check_columns
from ..minutes import LINES, Line, Minute, RightMinutes, random_batches

COLUMNS: Final = {"begin": "timestamp", "lines": "bigint", "errors": "bigint", "p99_us": "bigint"}
BATCHES: Final = 6
MOST_STATE: Final = 8
"""The most minutes that may be in the state at once, when lines are at most 2 minutes late."""


class Checked:
    """Runs the learner's stream, and compares its minutes with the right ones."""

    def __init__(self, learner: SparkLearner) -> None:
        self._learner = learner

    def agrees(self, *batches: Sequence[Line]) -> None:
        """Raise Mismatch unless each micro-batch writes the right minutes."""
        came = self._learner.stream(LINES, [[line.row() for line in batch] for batch in batches])
        check_columns("build(spark, records)", came, COLUMNS)
        right = RightMinutes()
        for number, (batch, wrote) in enumerate(zip(batches, came.batches, strict=True), start=1):
            expected = right.batch(batch)
            if sorted(wrote, key=repr) != [tuple(row) for row in expected]:
                raise self._mismatch(number, expected, wrote, right)

    def _mismatch(
        self, number: int, expected: Sequence[Minute], wrote: Sequence[Row], right: RightMinutes
    ) -> Mismatch:
        came = {row[0]: row for row in wrote}
        drawing: tuple[str, ...] = ()
        for minute in expected:
            row = came.get(minute.begin)
            if row is None:
                why = f"the minute of {minute.begin[11:]} is to be written with this batch"
                break
            if row != tuple(minute):
                why, drawing = why_other(minute, row)
                break
        else:
            right_begins = {one.begin for one in expected}
            begin = next((str(row[0]) for row in wrote if row[0] not in right_begins), "")
            if not begin:
                why = "a minute has one row"
            elif not begin.endswith(":00"):
                why = f"there is no window that begins at {begin[11:]}: a minute is 60 s"
            elif right.latest_s is None:
                why = "no line has come"
            else:
                why = (
                    f"the minute of {begin[11:]} is too early: a line of it may still come, within"
                    " the promise of 2 minutes"
                )
        return Mismatch(
            f"micro-batch {number}",
            [tuple(one) for one in expected],
            sorted(wrote, key=repr),
            why,
            drawing=drawing,
            read="build",
        )


def why_other(minute: Minute, row: Row) -> tuple[str, tuple[str, ...]]:
    """Return why the learner's row of a minute is wrong, and a drawing, which is empty."""
    at = next(i for i, pair in enumerate(zip(minute, row, strict=True)) if pair[0] != pair[1])
    name = Minute._fields[at]
    if name == "p99_us":
        rank = ceil(minute.lines * 99 / 100)
        said = f"the p99 is the duration of line {rank} of {minute.lines}, from the fastest on"
        return f"{said}: {minute.p99_us}, and not {row[at]}", ()
    return f"{name} should be {minute[at]!r}, and is {row[at]!r}", ()


@pytest.fixture
def job(learner: SparkLearner) -> Checked:
    """The learner's stream, with a check of its minutes."""
    return Checked(learner)


def test_in_order(job: Checked) -> None:
    """lines in order of time: a minute is written as soon as it is over, and only once"""
    job.agrees(
        [Line(30, duration_us=7), Line(61)],
        [Line(179)],
        [Line(180)],
        [Line(240), Line(299)],
        [Line(900)],
        [Line(901)],
    )


def test_late(job: Checked) -> None:
    """a line that is exactly 2 minutes late counts, and a line that is later is dropped"""
    job.agrees(
        [Line(30)],
        [Line(170)],
        [Line(59), Line(60)],
        [Line(185)],
        [Line(58), Line(61)],
        [Line(600)],
    )


def test_errors(job: Checked) -> None:
    """only lines with a status of 500 or more count as errors"""
    job.agrees(
        [Line(at, status=code) for at, code in enumerate((200, 404, 500, 304, 599, 403))],
        [Line(1_000)],
    )


def test_p99(job: Checked) -> None:
    """the p99 of 200 lines is the 198th duration"""
    job.agrees(
        [Line(number % 60, duration_us=(number * 37) % 200 * 1_000) for number in range(200)],
        [Line(400)],
    )


def test_state(job: Checked, learner: SparkLearner) -> None:
    """minutes that are over are removed from the state"""
    batches = [[Line(at) for at in range(begin, begin + 240, 20)] for begin in range(0, 2400, 240)]
    came = learner.stream(LINES, [[line.row() for line in batch] for batch in batches])
    most = max(came.state_rows, default=0)
    if most > MOST_STATE:
        raise Mismatch(
            "40 minutes in 10 micro-batches",
            f"at most {MOST_STATE} rows in the state",
            f"{most} rows",
            "only minutes that a line may still change are kept",
            read="build",
        )


def test_many(job: Checked, seed: int) -> None:
    """random lines, some late and some too late"""
    job.agrees(*random_batches(Random(seed), BATCHES))
