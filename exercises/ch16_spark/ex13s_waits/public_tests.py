"""Public tests of exercise 16-13s. Run them with `kafka-edu lab check 16-13s`. The learner's job
runs in another process with its own Spark, and the fixture `learner` calls it there.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

import pytest

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import Row, SparkLearner
from ..error_minutes import RightErrors, quiet_shop
from ..jobs import check_columns
from ..minutes import LINES, Line, clock

COLUMNS: Final = {"begin": "timestamp", "errors": "bigint"}
MOST_STATE: Final = 12
EARLY: Final = "a line of it may still come, up to 2 minutes late"
ALL_LINES: Final = "the lines that are no errors have moved the watermark past its end"


class Checked:
    """Runs the learner's stream, and compares its rows with the right ones."""

    def __init__(self, learner: SparkLearner) -> None:
        self._learner = learner

    def agrees(self, *batches: Sequence[Line], most_state: int | None = None) -> None:
        """Raise Mismatch unless each micro-batch writes the right rows. With `most_state`, the
        state must never have more than `most_state` rows.
        """
        came = self._learner.stream(LINES, [[one.row() for one in batch] for batch in batches])
        check_columns("build(spark, records)", came, COLUMNS)
        right = RightErrors()
        for number, (batch, wrote) in enumerate(zip(batches, came.batches, strict=True), start=1):
            expected, found = right.batch(batch), sorted(wrote, key=repr)
            if found != expected:
                raise Mismatch(
                    f"micro-batch {number}",
                    expected,
                    found,
                    why_other(expected, found),
                    drawing=tuple(f"    came: {clock(one.time_s)}, {one.status}" for one in batch)[
                        :6
                    ],
                    read="build",
                )
        most = max(came.state_rows, default=0)
        if most_state is not None and most > most_state:
            raise Mismatch(
                f"{sum(map(len, batches))} lines in {len(batches)} micro-batches",
                f"at most {most_state} rows in the state",
                f"{most} rows",
                "only minutes that a line may still change are kept",
                read="build",
            )


def why_other(expected: Sequence[Row], found: Sequence[Row]) -> str:
    """Return why the first row that differs should be as expected."""
    right = {row[0]: row[1] for row in expected}
    came = {row[0]: row[1] for row in found}
    for begin in right:
        minute = f"the minute of {str(begin)[11:]}"
        if begin not in came:
            return f"{minute} is to be written now: {ALL_LINES}"
        if came[begin] != right[begin]:
            return f"{minute} has {right[begin]} errors: a line up to 2 minutes late counts"
    for begin, errors in found:
        if begin not in right:
            minute = f"the minute of {str(begin)[11:]}"
            if errors == 0:
                return f"{minute} has no errors, and so it has no row"
            return f"{minute} is too early: {EARLY}"
    return "a minute has one row"


@pytest.fixture
def job(learner: SparkLearner) -> Checked:
    """The learner's stream, with a check of its rows."""
    return Checked(learner)


def test_late_errors(job: Checked) -> None:
    """an error that comes 2 minutes late counts, and one that comes later does not"""
    job.agrees(
        [Line(30, status=500), Line(179, status=503)],
        [Line(59, status=599), Line(180)],
        [Line(58, status=500), Line(61, status=500)],
        [Line(1_000)],
    )


def test_quiet(job: Checked) -> None:
    """after the last error, lines without errors are enough to write the error's minute"""
    job.agrees(
        [Line(10, status=500), Line(20), Line(70)],
        [Line(179, status=404)],
        [Line(180, status=200)],
        [Line(500, status=304)],
    )


def test_state(job: Checked) -> None:
    """minutes that are over are removed from the state"""
    job.agrees(
        *(
            [Line(at, status=500 if at % 100 == 0 else 200) for at in range(begin, begin + 240, 20)]
            for begin in range(0, 1_200, 240)
        ),
        [Line(2_000)],
        most_state=MOST_STATE,
    )


def test_many(job: Checked, seed: int) -> None:
    """random lines with few errors"""
    *lines, end = quiet_shop(Random(seed), 60, (0, 5, 30))
    job.agrees(*(lines[at : at + 15] for at in range(0, len(lines), 15)), [end])
