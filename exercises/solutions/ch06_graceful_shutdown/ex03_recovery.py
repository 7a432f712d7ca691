"""Exercise 06-3: the reference solution (Kafka: Log.recoverLog, Log.flush, Log.truncateTo)."""

import itertools
from collections.abc import Sequence


class Recovery:
    """The rules for a log's recovery point: all records below it are safe on the disk."""

    def after_flush(self, point: int, up_to: int, end: int) -> int:
        """Return the recovery point after everything below `up_to` was flushed to the disk."""
        return max(point, min(up_to, end))

    def after_truncation(self, point: int, end: int) -> int:
        """Return the recovery point after the log was cut off at offset `end`."""
        return min(point, end)

    def after_deletion(self, point: int, log_start: int) -> int:
        """Return the recovery point after all records below `log_start` were deleted."""
        return max(point, log_start)

    def at_start(self, point: int, log_start: int, end: int, clean: bool) -> int:
        """Return the recovery point of a log that was just opened."""
        if clean:
            return end
        return max(min(point, end), log_start)

    def to_read(self, bases: Sequence[int], point: int, clean: bool) -> list[int]:
        """Return the base offsets of the segments that recovery must read again."""
        if clean or not bases:
            return []
        found = [base for base, after in itertools.pairwise(bases) if after > point]
        return [*found, bases[-1]]
