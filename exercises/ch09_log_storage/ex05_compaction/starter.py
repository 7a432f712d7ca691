"""Exercise 09-5: which records the cleaner keeps. README.md describes the task. `kafka-edu lab
check 09-5` tests your code. `kafka-edu lab hint 09-5` gives a hint.
"""

from collections.abc import Sequence

Row = tuple[int, bytes | None, bool]  # (offset, key, whether it has a value)


class Compaction:
    """One pass of the cleaner over a log."""

    def __init__(self, first_dirty: int, most: int) -> None:
        """Begin a pass. The dirty part of the log begins at `first_dirty`. The map can store `most`
        keys.
        """
        self.first_dirty = first_dirty
        self.most = most

    def note(self, records: Sequence[Row]) -> int:
        """Store the last offset of each key. Return how many records were processed."""
        raise NotImplementedError("Compaction.note is not written yet: it returns a number")

    def keep(self, records: Sequence[Row], end: int, young: bool) -> list[int]:
        """Return the offsets of the records that stay."""
        raise NotImplementedError("Compaction.keep is not written yet: it returns a list")
