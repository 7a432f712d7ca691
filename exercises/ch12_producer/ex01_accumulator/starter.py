"""Exercise 12-1: decide which batches are sent, and when. README.md describes the task.
`kafka-edu lab check 12-1` tests your code. `kafka-edu lab hint 12-1` gives a hint.
"""

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]  # "partition", "batches", "since_ms", "attempts", "muted"


class Accumulator:
    """Decides for all partitions of one producer."""

    def __init__(self, batch_size: int, linger_ms: int, backoff_ms: int) -> None:
        """Nothing was sent yet. The arguments are batch.size, linger.ms and retry.backoff.ms."""
        self.batch_size = batch_size
        self.linger_ms = linger_ms
        self.backoff_ms = backoff_ms

    def ready(
        self, rows: Sequence[Row], now_ms: int, at_once: bool
    ) -> tuple[list[int], int | None]:
        """Return the partitions that are ready, and the ms until the next one is ready."""
        raise NotImplementedError(
            "Accumulator.ready is not written yet: it returns ([partition], ms or None)"
        )

    def drain(self, broker: int, rows: Sequence[tuple[int, int]], max_bytes: int) -> list[int]:
        """Return the partitions whose first batch goes into the next request to this broker."""
        raise NotImplementedError("Accumulator.drain is not written yet: it returns [partition]")
