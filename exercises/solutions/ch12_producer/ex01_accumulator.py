"""Exercise 12-1: the reference solution (Kafka: RecordAccumulator, ready and drain)."""

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]  # "partition", "batches", "since_ms", "attempts", "muted"


class Accumulator:
    """Decides for all partitions of one producer."""

    def __init__(self, batch_size: int, linger_ms: int, backoff_ms: int) -> None:
        self.batch_size = batch_size
        self.linger_ms = linger_ms
        self.backoff_ms = backoff_ms
        self.last: dict[int, int] = {}

    def ready(
        self, rows: Sequence[Row], now_ms: int, at_once: bool
    ) -> tuple[list[int], int | None]:
        """Return the partitions that are ready, and the ms until the next one is ready."""
        found: list[int] = []
        waits: list[int] = []
        for row in rows:
            if row["muted"]:
                continue
            wait_ms = self.wait_ms(row, now_ms - row["since_ms"], at_once)
            if wait_ms > 0:
                waits.append(wait_ms)
            else:
                found.append(row["partition"])
        return found, min(waits, default=None)

    def wait_ms(self, row: Row, waited_ms: int, at_once: bool) -> int:
        """Return the ms until a first batch is ready. 0 or less: it is ready now."""
        if row["attempts"]:
            return self.backoff_ms - waited_ms
        full = len(row["batches"]) > 1 or row["batches"][0] >= self.batch_size
        return 0 if full or at_once else self.linger_ms - waited_ms

    def drain(self, broker: int, rows: Sequence[tuple[int, int]], max_bytes: int) -> list[int]:
        """Return the partitions whose first batch goes into the next request to this broker."""
        last = self.last.get(broker, -1)
        in_turn = [row for row in rows if row[0] > last] + [row for row in rows if row[0] <= last]
        taken: list[int] = []
        total = 0
        for partition, size in in_turn:
            total += size
            if taken and total > max_bytes:
                break
            taken.append(partition)
        self.last[broker] = taken[-1]
        return taken
