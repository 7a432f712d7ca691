"""The rules for a log's recovery point, and for the segments that a starting broker must read
again (Kafka: Log.recoverLog, Log.flush, Log.truncateTo; book 000 §6.4.2; spec S5).

All records below the recovery point are certainly on the disk. A checkpoint file stores the
recovery point. So after a crash only the records at or after the recovery point are read. After a
clean shutdown no records are read.
"""

from collections.abc import Sequence


class RecoveryRule:
    """Computes a log's recovery point. It keeps no state. O(1) for each call, except `to_read` with
    O(segments).
    """

    def after_flush(self, point: int, up_to: int, end: int) -> int:
        """Return the new recovery point after all records below `up_to` were forced to the disk.

        `end` is the present log end offset. A truncation may have moved it below `up_to` meanwhile.
        """
        return max(point, min(up_to, end))

    def after_truncation(self, point: int, end: int) -> int:
        """Return the new recovery point after the log was truncated to `end`."""
        return min(point, end)

    def after_deletion(self, point: int, log_start: int) -> int:
        """Return the new recovery point after all records below `log_start` were deleted."""
        return max(point, log_start)

    def at_start(self, point: int, log_start: int, end: int, clean: bool) -> int:
        """Return the recovery point of a log that was just opened.

        After a clean shutdown the recovery point is the log end. After a crash it does not rise,
        because the recovered records were read but not forced to the disk.
        """
        return end if clean else max(min(point, end), log_start)

    def to_read(self, bases: Sequence[int], point: int, clean: bool) -> list[int]:
        """Return the base offsets of the segments that a starting broker must read again.

        `bases` are the base offsets of all segments, ascending.
        """
        if clean:
            return []
        last = len(bases) - 1
        return [
            base for number, base in enumerate(bases) if number == last or bases[number + 1] > point
        ]
