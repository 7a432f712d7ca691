"""Where a log's recovery point is, and which segments a start reads again (Kafka: Log.recoverLog,
Log.flush, Log.truncateTo; book 000 §6.4.2; spec S5).

The recovery point is an offset: everything below it is on the disk for certain. A checkpoint file
keeps it, so after a crash only what lies at or behind it has to be read. After a clean end nothing
has to.
"""

from collections.abc import Sequence


class RecoveryRule:
    """Moves the point. It keeps no state. O(1) a call, but O(segments) for `to_read`."""

    def after_flush(self, point: int, up_to: int, end: int) -> int:
        """Return the point when everything below `up_to` is on the disk. `end` is the log end
        offset of now, which a truncation may have moved below `up_to` meanwhile.
        """
        return max(point, min(up_to, end))

    def after_truncation(self, point: int, end: int) -> int:
        """Return the point when the log was cut off, and ends at `end`."""
        return min(point, end)

    def after_deletion(self, point: int, log_start: int) -> int:
        """Return the point when all below `log_start` was given up."""
        return max(point, log_start)

    def at_start(self, point: int, log_start: int, end: int, clean: bool) -> int:
        """Return the point with which a log begins that was just opened. What a start has read is
        not flushed by that.
        """
        return end if clean else max(min(point, end), log_start)

    def to_read(self, bases: Sequence[int], point: int, clean: bool) -> list[int]:
        """Return the base offsets of the segments to read again, of all segments' base offsets,
        ascending.
        """
        if clean:
            return []
        last = len(bases) - 1
        return [
            base for number, base in enumerate(bases) if number == last or bases[number + 1] > point
        ]
