"""Public tests of exercise 16-10s. Run them with `kafka-edu lab check 16-10s`. The learner's job
runs in another process with its own Spark, and the fixture `learner` calls it there.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

import pytest

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import Row, SparkLearner
from ..jobs import check_columns
from ..sales import ORDERS, Order, RightSales, random_orders

COLUMNS: Final = {"begin": "timestamp", "shop": "string", "orders": "bigint", "cents": "bigint"}
MOST_STATE: Final = 24


class Checked:
    """Runs the learner's stream, and compares its sales with the right ones."""

    def __init__(self, learner: SparkLearner) -> None:
        self._learner = learner

    def agrees(self, *batches: Sequence[Order], most_state: int | None = None) -> None:
        """Raise Mismatch unless each micro-batch writes the right rows. With `most_state`, the
        state must never have more than `most_state` rows.
        """
        came = self._learner.stream(ORDERS, [[one.row() for one in batch] for batch in batches])
        check_columns("build(spark, records)", came, COLUMNS)
        right = RightSales()
        for number, (batch, wrote) in enumerate(zip(batches, came.batches, strict=True), start=1):
            expected, found = right.batch(batch), sorted(wrote, key=repr)
            if found != expected:
                raise Mismatch(
                    f"micro-batch {number}",
                    expected,
                    found,
                    why_other(expected, found, right.repeated),
                    drawing=tuple(f"    came: {order.shown()}" for order in batch[:6]),
                    read="build",
                )
        most = max(came.state_rows, default=0)
        if most_state is not None and most > most_state:
            raise Mismatch(
                f"{sum(map(len, batches))} orders in {len(batches)} micro-batches",
                f"at most {most_state} rows in the state",
                f"{most} rows",
                "an order leaves the state when its retries cannot come any more",
                read="build",
            )


def why_other(expected: Sequence[Row], found: Sequence[Row], repeated: set[str]) -> str:
    """Return why the first row that differs should be as expected."""
    right = {row[:2]: row for row in expected}
    for row in found:
        if row[:2] not in right:
            early = "is too early: a line of it may still come, or it was written before"
            return f"the minute of {str(row[0])[11:]} {early}"
        orders, cents = right[row[:2]][2:]
        if isinstance(row[2], int) and isinstance(orders, int) and row[2] != orders:
            if row[2] > orders and row[1] in repeated:
                return "a retry counts once: it has the shop and the id of an order before it"
            if row[2] > orders:
                return "an order that is later than the watermark allows is not counted"
            return "this order is missing: no order before it has the same shop and the same id"
        if row[3] != cents:
            return "orders are right, and cents is not: a retry adds nothing to the sum"
    came = {row[:2] for row in found}
    for begin, shop in right:
        if (begin, shop) not in came:
            return (
                f"the minute of {str(begin)[11:]} of shop {shop} is over, and is to be written now"
            )
    return "a minute of a shop has one row"


@pytest.fixture
def job(learner: SparkLearner) -> Checked:
    """The learner's stream, with a check of its rows."""
    return Checked(learner)


def test_once(job: Checked) -> None:
    """an order comes again: with the same time, and with a time of the next minute"""
    job.agrees(
        [Order("web", "a", 10, 700), Order("web", "a", 10, 700), Order("web", "b", 50, 40)],
        [Order("web", "b", 70, 40), Order("web", "c", 71, 5), Order("web", "a", 100, 700)],
        [Order("web", "end", 400)],
    )


def test_shops(job: Checked) -> None:
    """each shop numbers its own orders"""
    job.agrees(
        [Order("north", "1", 10, 3), Order("south", "1", 11, 4), Order("north", "2", 12, 5)],
        [Order("south", "1", 20, 4), Order("south", "3", 30, 6)],
        [Order("north", "end", 400)],
    )


def test_when(job: Checked) -> None:
    """a minute is written when it is over; an order 2 minutes late counts, a later one does not"""
    job.agrees(
        [Order("web", "a", 30), Order("web", "b", 179)],
        [Order("web", "c", 59), Order("web", "d", 180)],
        [Order("web", "e", 58), Order("web", "f", 61)],
        [Order("web", "end", 400)],
    )


def test_state(job: Checked) -> None:
    """orders and minutes are removed from the state when no record can belong to them any more"""
    job.agrees(
        *(
            [Order("web", f"{at}", at, at) for at in range(begin, begin + 600, 75)]
            for begin in range(0, 3_000, 600)
        ),
        most_state=MOST_STATE,
    )


def test_many(job: Checked, seed: int) -> None:
    """random orders of three shops, and retries"""
    job.agrees(*random_orders(Random(seed), 4, 12))
