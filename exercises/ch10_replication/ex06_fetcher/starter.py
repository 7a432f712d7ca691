"""Exercise 10-6: the fetcher's truncation and back-off. README.md describes the task.
`kafka-edu lab check 10-6` tests your code. `kafka-edu lab hint 10-6` gives a hint.
"""

from collections.abc import Sequence

Operation = tuple[object, ...]  # ("ask", 1), ("fetch",), ("wait", 51_000), ("failed",)


class Fetcher:
    """All partitions that this broker follows at one leader."""

    def __init__(self, backoff_ms: int) -> None:
        """At first there is no partition. `backoff_ms` is replica.fetch.backoff.ms."""
        self.backoff_ms = backoff_ms

    def follow(self, partition: str, epochs: Sequence[tuple[int, int]]) -> None:
        """Set the partition's state to Truncating, and end its wait. Return nothing."""
        raise NotImplementedError("Fetcher.follow is not written yet: it remembers the partition")

    def leave(self, partition: str) -> None:
        """Forget a partition. Return nothing."""
        raise NotImplementedError("Fetcher.leave is not written yet: it forgets the partition")

    def plan(self, now_ms: int) -> dict[str, Operation]:
        """Return the current operation of each partition."""
        raise NotImplementedError(
            "Fetcher.plan is not written yet: it returns {partition: operation}"
        )

    def answer(
        self,
        partition: str,
        epochs: Sequence[tuple[int, int]],
        leo: int,
        hw: int,
        leader_epoch: int,
        leader_end: int,
    ) -> int:
        """Process the leader's answer to ("ask", epoch). Return the new end of the log."""
        raise NotImplementedError("Fetcher.answer is not written yet: it returns an offset")

    def error(self, partition: str, error: str, now_ms: int) -> Operation:
        """Return the operation of a partition after an error."""
        raise NotImplementedError("Fetcher.error is not written yet: it returns an operation")

    def offsets(self, partition: str, leo: int, leader_start: int, leader_end: int) -> Operation:
        """Return how a log gets back into the range of the leader's log, after ("look",)."""
        raise NotImplementedError(
            "Fetcher.offsets is not written yet: it returns ('cut', offset), ('restart', offset) or"
            " ('keep',)"
        )
