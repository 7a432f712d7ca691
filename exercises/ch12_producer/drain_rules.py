"""The right answers of exercise 12-1, and a simulated producer that tries them.

The rules of `ready` are those of the shipped accumulator: tests/unit/learner compares the two.
"""

from collections.abc import Sequence
from random import Random
from typing import Any, Final, NamedTuple, Protocol

Row = dict[str, Any]
Sized = tuple[int, int]
BATCH_SIZE: Final = 1_000
LINGER_MS: Final = 50
BACKOFF_MS: Final = 100


class Rules(Protocol):
    """The decisions of an accumulator: made by RightAccumulator or by a learner's class."""

    def ready(
        self, rows: Sequence[Row], now_ms: int, at_once: bool
    ) -> tuple[list[int], int | None]: ...

    def drain(self, broker: int, rows: Sequence[Sized], max_bytes: int) -> list[int]: ...


class RightAccumulator:
    """The right answers."""

    def __init__(self, batch_size: int, linger_ms: int, backoff_ms: int) -> None:
        self.batch_size = batch_size
        self.linger_ms = linger_ms
        self.backoff_ms = backoff_ms
        self.last: dict[int, int] = {}
        """Broker → the partition that was taken last."""

    def ready(
        self, rows: Sequence[Row], now_ms: int, at_once: bool
    ) -> tuple[list[int], int | None]:
        """Return the partitions that are ready, and the ms until the next one is ready."""
        waits = {
            row["partition"]: self.wait_ms(row, now_ms, at_once) for row in rows if not row["muted"]
        }
        later = [wait_ms for wait_ms in waits.values() if wait_ms > 0]
        return [one for one, wait_ms in waits.items() if wait_ms <= 0], min(later, default=None)

    def wait_ms(self, row: Row, now_ms: int, at_once: bool) -> int:
        """Return the ms until the first batch of a row is ready. The row is not muted."""
        waited_ms: int = now_ms - row["since_ms"]
        if row["attempts"] > 0:
            return max(0, self.backoff_ms - waited_ms)
        if at_once or len(row["batches"]) > 1 or row["batches"][0] >= self.batch_size:
            return 0
        return max(0, self.linger_ms - waited_ms)

    def first(self, broker: int, rows: Sequence[Sized]) -> int:
        """Return the partition with which the next request to a broker begins."""
        partitions = [partition for partition, _ in rows]
        behind = [one for one in partitions if one > self.last.get(broker, -1)]
        return min(behind or partitions)

    def drain(self, broker: int, rows: Sequence[Sized], max_bytes: int) -> list[int]:
        """Return the partitions of the next request to a broker."""
        sizes, taken = dict(rows), list[int]()
        order = sorted(sizes)
        start = order.index(self.first(broker, rows))
        for partition in order[start:] + order[:start]:
            if taken and sum(sizes[one] for one in [*taken, partition]) > max_bytes:
                break
            taken.append(partition)
        self.last[broker] = taken[-1]
        return taken


class _Batch(NamedTuple):
    size: int
    since_ms: int
    attempts: int


class DrainWorld:
    """A producer and brokers. The producer sends batches by the rules, and some sends fail."""

    def __init__(
        self, rules: Rules, random: Random, brokers: int, partitions: int, keeps_order: bool
    ) -> None:
        self._rules = rules
        self._random = random
        self._brokers = brokers
        self._keeps_order = keeps_order
        self._deques: dict[int, list[_Batch]] = {one: [] for one in range(partitions)}
        self._muted: set[int] = set()
        self._now_ms = random.randrange(100_000)

    def run(self, turns: int) -> None:
        """Let the producer take this number of turns."""
        for _ in range(turns):
            self._fill()
            self._now_ms += self._random.choice((0, 1, 7, 49, 50, 51, 99, 100, 101))
            at_once = self._random.random() < 0.15
            rows = [self._row(one) for one, batches in self._deques.items() if batches]
            found, _ = self._rules.ready(rows, self._now_ms, at_once)
            for broker in range(self._brokers):
                led = [one for one in found if one % self._brokers == broker]
                if led:
                    self._send(broker, led)

    def _fill(self) -> None:
        random = self._random
        for partition in self._deques:
            if random.random() < 0.3:
                batches = self._deques[partition]
                batches.extend(
                    _Batch(random.choice((1, 400, 999, 1_000, 1_001)), self._now_ms, 0)
                    for _ in range(random.randint(1, 2))
                )

    def _row(self, partition: int) -> Row:
        batches = self._deques[partition]
        return {
            "partition": partition,
            "batches": [one.size for one in batches],
            "since_ms": batches[0].since_ms,
            "attempts": batches[0].attempts,
            "muted": partition in self._muted,
        }

    def _send(self, broker: int, led: Sequence[int]) -> None:
        random = self._random
        rows = [(one, self._deques[one][0].size) for one in sorted(led)]
        for partition in self._rules.drain(broker, rows, random.choice((500, 1_500, 2_000, 9_000))):
            batch = self._deques[partition].pop(0)
            if random.random() < 0.25:
                again = _Batch(batch.size, self._now_ms, batch.attempts + 1)
                self._deques[partition].insert(0, again)
            self._muted.discard(partition)
            if self._keeps_order and random.random() < 0.3:
                self._muted.add(partition)
        if random.random() < 0.5:
            self._muted.clear()
