"""Exercise 09-7: the reference solution (Kafka: LogSegment.append, physicalPosition)."""


class SparseIndex:
    """The sparse index of one segment, with the rule by which a batch gets an entry."""

    def __init__(self, base: int, interval: int) -> None:
        self.base = base
        self.interval = interval
        self.size = 0
        """How many bytes the segment has."""
        self.since = 0
        """The bytes since the last entry. The batch that got this entry is included."""
        self.entries: list[tuple[int, int]] = []

    def append(self, last: int, size: int) -> tuple[int, int] | None:
        """A batch of `size` bytes is written at the end of the segment. Its last offset is `last`.
        Return the index entry for this batch, or None if it gets none.
        """
        entry = None
        if self.since > self.interval:
            entry = (last - self.base, self.size)  # the batch begins where the segment ended
            self.entries.append(entry)
            self.since = 0
        self.size += size
        self.since += size
        return entry

    def look_up(self, offset: int) -> int:
        """Return the position at which a reader begins to walk to `offset`, batch by batch."""
        low, high = 0, len(self.entries)
        while low < high:
            middle = (low + high) // 2
            if self.entries[middle][0] <= offset - self.base:
                low = middle + 1
            else:
                high = middle
        return self.entries[low - 1][1] if low > 0 else 0

    def diagnosis(self) -> tuple[int, int]:
        """Return the offset in events.txt that a reader wanted and did not get, and the number of
        the event that added the entry which led it too far.
        """
        return 39, 17
