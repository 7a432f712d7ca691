"""Public tests of exercise 16-9s. Run them with `kafka-edu lab check 16-9s`. The learner's job runs
in another process with its own Spark, and the fixture `learner` calls it there.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

import pytest

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import Row, SparkLearner
from ..jobs import check_columns
from ..minutes import BEGIN_S, DELAY_S, clock

ORDERS: Final = "id string, time timestamp, client string"
COLUMNS: Final = {"id": "string", "time": "timestamp", "client": "string"}
BATCHES: Final = 6
MOST_STATE: Final = 12
RETRY: Final = "a retry has the same id, and may have a later time"
GUEST: Final = "an order without an id is never a retry"
PATIENCE: Final = "a retry may come 2 minutes later"


class Order(NamedTuple):
    """A record of the topic: an order. `time_s` is its time in seconds after 10:00:00."""

    id: str | None
    time_s: int
    client: str = "10.0.0.1"

    def row(self) -> Row:
        return (self.id, (BEGIN_S + self.time_s) * 1_000_000, self.client)

    def shown(self) -> Row:
        return (self.id, clock(self.time_s), self.client)


class RightOrders:
    """Finds the orders to write, each once, by the exercise's rules and Spark's watermark."""

    def __init__(self) -> None:
        self.watermark_s = -(10**9)
        self.known: dict[str, int] = {}
        """Id of an order → when the id is forgotten, in seconds after 10:00:00."""

    def batch(self, orders: Sequence[Order]) -> list[Order]:
        """Add a batch of orders, and return the orders that it must write."""
        kept = []
        for order in orders:
            if order.id is None:
                kept.append(order)
            elif order.time_s > self.watermark_s and order.id not in self.known:
                self.known[order.id] = order.time_s + DELAY_S
                kept.append(order)
        latest_s = max([order.time_s for order in orders], default=0)
        self.watermark_s = max(self.watermark_s, latest_s - DELAY_S)
        self.known = {one: at for one, at in self.known.items() if at > self.watermark_s}
        return kept


class Checked:
    """Runs the learner's stream, and compares its orders with the right ones."""

    def __init__(self, learner: SparkLearner) -> None:
        self._learner = learner

    def agrees(self, why: str, *batches: Sequence[Order]) -> None:
        """Raise Mismatch unless each micro-batch writes the right orders. If a retry was written,
        the message gives `why` as the reason.
        """
        came = self._learner.stream(ORDERS, [[one.row() for one in batch] for batch in batches])
        check_columns("build(spark, records)", came, COLUMNS)
        right = RightOrders()
        for number, (batch, wrote) in enumerate(zip(batches, came.batches, strict=True), start=1):
            expected = Counter[Row](order.shown() for order in right.batch(batch))
            rows = Counter[Row](wrote)
            if rows == expected:
                continue
            raise Mismatch(
                f"micro-batch {number}",
                sorted(expected.elements(), key=repr),
                sorted(rows.elements(), key=repr),
                why_other(why, list(expected - rows), list(rows - expected)),
                drawing=tuple(f"    came: {order.shown()}" for order in batch[:6]),
                read="build",
            )


def why_other(why: str, missing: Sequence[Row], surplus: Sequence[Row]) -> str:
    """Return why an order is missing. If none is missing, return the rule `why`."""
    if missing and missing[0][0] is None:
        return "this order is missing: it is a guest's, and each counts"
    if missing and not surplus:
        return "this order is missing: it is the first with its id"
    return why


@pytest.fixture
def job(learner: SparkLearner) -> Checked:
    """The learner's stream, with a check of its orders."""
    return Checked(learner)


def test_once(job: Checked) -> None:
    """the same order comes twice, in one micro-batch and in two"""
    job.agrees(
        PATIENCE,
        [Order("a", 10), Order("a", 10), Order("b", 20)],
        [Order("c", 60), Order("b", 20)],
        [Order("a", 10), Order("d", 70)],
    )


def test_retry_with_another_time(job: Checked) -> None:
    """a retry with a later time is the same order"""
    job.agrees(
        RETRY,
        [Order("a", 10), Order("b", 12)],
        [Order("a", 55), Order("b", 130), Order("c", 131)],
    )


def test_guests(job: Checked) -> None:
    """orders without an id are all kept"""
    job.agrees(
        GUEST,
        [Order(None, 10), Order(None, 10), Order("a", 11)],
        [Order(None, 12), Order("a", 12)],
    )


def test_state(job: Checked, learner: SparkLearner) -> None:
    """orders are removed from the state when no retry can come any more"""
    batches = [
        [Order(f"o-{at}", at) for at in range(begin, begin + 600, 100)]
        for begin in range(0, 6_000, 600)
    ]
    came = learner.stream(ORDERS, [[one.row() for one in batch] for batch in batches])
    most = max(came.state_rows, default=0)
    if most > MOST_STATE:
        raise Mismatch(
            "60 orders in 10 micro-batches, over 100 minutes",
            f"at most {MOST_STATE} rows in the state",
            f"{most} rows",
            "an order leaves the state when its retries cannot come any more",
            read="build",
        )


def test_many(job: Checked, seed: int) -> None:
    """random orders, retries and guests"""
    random, now_s, sent, batches = Random(seed), 0, list[Order](), list[list[Order]]()
    for _ in range(BATCHES):
        batch = []
        for _ in range(random.randrange(4, 9)):
            now_s += random.choice((0, 5, 40))
            again = [one for one in sent if now_s - one.time_s < DELAY_S // 2]
            if again and random.random() < 0.4:
                order = random.choice(again)
                batch.append(order._replace(time_s=random.choice((order.time_s, now_s))))
                continue
            order = Order(random.choice((f"o-{len(sent)}", f"o-{len(sent)}", None)), now_s)
            batch.append(order)
            if order.id is not None:
                sent.append(order)
        batches.append(batch)
    job.agrees(RETRY, *batches)
