"""Exercise 06-3: the reference solution (Kafka: Log.recoverLog, Log.flush, Log.truncateTo)."""

import itertools
from collections.abc import Sequence


class Recovery:
    """The rule that moves the recovery point of a log."""

    def after_flush(self, point: int, up_to: int, end: int) -> int:
        """Return the point when everything below `up_to` is on the disk."""
        return max(point, min(up_to, end))

    def after_truncation(self, point: int, end: int) -> int:
        """Return the point when the log was cut off at `end`."""
        return min(point, end)

    def after_deletion(self, point: int, log_start: int) -> int:
        """Return the point when all below `log_start` was deleted."""
        return max(point, log_start)

    def at_start(self, point: int, log_start: int, end: int, clean: bool) -> int:
        """Return the point of a log that was just opened."""
        if clean:
            return end
        return max(min(point, end), log_start)

    def to_read(self, bases: Sequence[int], point: int, clean: bool) -> list[int]:
        """Return the base offsets of the segments to read again."""
        if clean or not bases:
            return []
        found = [base for base, after in itertools.pairwise(bases) if after > point]
        return [*found, bases[-1]]
