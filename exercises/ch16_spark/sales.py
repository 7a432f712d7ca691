"""The right answers of exercise 16-10s: the sales of each shop by minute, each order once."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

from ..runner.spark_learner import Row
from .minutes import BEGIN_S, DELAY_S, WINDOW_S, clock

ORDERS: Final = "shop string, id string, time timestamp, cents bigint"


class Order(NamedTuple):
    """A record of the topic: an order. `time_s` is its time in seconds after 10:00:00."""

    shop: str
    id: str
    time_s: int
    cents: int = 100

    def row(self) -> Row:
        return (self.shop, self.id, (BEGIN_S + self.time_s) * 1_000_000, self.cents)

    def shown(self) -> Row:
        return (self.shop, self.id, clock(self.time_s), self.cents)

    @property
    def minute_s(self) -> int:
        return self.time_s - self.time_s % WINDOW_S


class RightSales:
    """Finds the sales by the exercise's rules. It keeps the ids that a retry may still have."""

    def __init__(self) -> None:
        self.watermark_s = -(10**9)
        self.known: dict[tuple[str, str], int] = {}
        """(shop, id) of an order → when it is forgotten, in seconds after 10:00:00."""
        self.orders = Counter[tuple[int, str]]()
        self.cents = Counter[tuple[int, str]]()
        self.repeated: set[str] = set()
        """The shops of which a retry has come."""

    def batch(self, orders: Sequence[Order]) -> list[Row]:
        """Add a batch of orders, and return the rows of the minutes that are over after it."""
        for order in orders:
            key = (order.shop, order.id)
            if order.time_s <= self.watermark_s:
                continue
            if key in self.known:
                self.repeated.add(order.shop)
                continue
            self.known[key] = order.time_s + DELAY_S
            self.orders[order.minute_s, order.shop] += 1
            self.cents[order.minute_s, order.shop] += order.cents
        latest_s = max([order.time_s for order in orders], default=0)
        self.watermark_s = max(self.watermark_s, latest_s - DELAY_S)
        self.known = {one: at for one, at in self.known.items() if at > self.watermark_s}
        over = sorted(one for one in self.orders if one[0] + WINDOW_S <= self.watermark_s)
        return [(clock(one[0]), one[1], self.orders.pop(one), self.cents.pop(one)) for one in over]


def random_orders(
    random: Random, batches: int, a_batch: int, steps_s: Sequence[int] = (0, 1, 7, 20)
) -> list[list[Order]]:
    """Return random orders of three shops, in the order of time. A third of them are retries. The
    last batch has one order of a much later time. `steps_s` are the pauses between two orders.
    """
    now_s, sent, made = 0, list[Order](), list[list[Order]]()
    for _ in range(batches):
        batch = []
        for _ in range(a_batch):
            now_s += random.choice(steps_s)
            young = [one for one in sent[-20:] if now_s - one.time_s < DELAY_S // 2]
            if young and random.random() < 1 / 3:
                again = random.choice(young)
                batch.append(again._replace(time_s=random.choice((again.time_s, now_s))))
                continue
            shop = random.choice(("north", "south", "web"))
            sent.append(Order(shop, f"{len(sent) // 2}", now_s, random.randrange(1, 9_000)))
            batch.append(sent[-1])
        made.append(batch)
    return [*made, [Order("north", "end", now_s + 10_000)]]
