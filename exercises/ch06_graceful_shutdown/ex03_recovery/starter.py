"""Exercise 06-3: find out where the recovery point is. README.md describes the task. `kafka-edu lab
check 06-3` tests your code. `kafka-edu lab hint 06-3` gives a hint.
"""

from collections.abc import Sequence


class Recovery:
    """The rules for the recovery point: the offset below which all of a log is on the disk."""

    def after_flush(self, point: int, up_to: int, end: int) -> int:
        """Return the recovery point after everything below `up_to` was flushed to the disk."""
        raise NotImplementedError("Recovery.after_flush is not written yet: it returns an offset")

    def after_truncation(self, point: int, end: int) -> int:
        """Return the recovery point after the log was cut off at offset `end`."""
        raise NotImplementedError(
            "Recovery.after_truncation is not written yet: it returns an offset"
        )

    def after_deletion(self, point: int, log_start: int) -> int:
        """Return the recovery point after all records below `log_start` were deleted."""
        raise NotImplementedError(
            "Recovery.after_deletion is not written yet: it returns an offset"
        )

    def at_start(self, point: int, log_start: int, end: int, clean: bool) -> int:
        """Return the recovery point of a log that was just opened. `clean` is true if it was closed
        in order.
        """
        raise NotImplementedError("Recovery.at_start is not written yet: it returns an offset")

    def to_read(self, bases: Sequence[int], point: int, clean: bool) -> list[int]:
        """Return the base offsets of the segments that a start has to read again."""
        raise NotImplementedError(
            "Recovery.to_read is not written yet: it returns a list of base offsets"
        )
