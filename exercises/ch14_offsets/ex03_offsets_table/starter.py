"""Exercise 14-3: decide which records of __consumer_offsets stay. README.md describes the task.
`kafka-edu lab check 14-3` tests your code. `kafka-edu lab hint 14-3` gives a hint.
"""

from collections.abc import Sequence
from typing import Any

Key = list[str | int]  # ["group", name] or ["offset", name, topic, partition]
Row = tuple[int, Key, bool]  # offset, key, whether the record has a value
Commit = tuple[str, int, int, int | None]  # topic, partition, committed_ms, expires_ms or None


class OffsetsTable:
    """Decides which records of one partition of __consumer_offsets stay or expire."""

    def __init__(self) -> None:
        """Nothing was noted yet."""

    def note(self, records: Sequence[Row]) -> None:
        """Store the offset of the last record of each key in the dirty part."""

    def keep(self, records: Sequence[Row], end: int, young: bool) -> list[int]:
        """Return the offsets of the records that stay."""
        raise NotImplementedError("OffsetsTable.keep is not written yet: it returns [offset]")

    def expired(
        self, group: dict[str, Any], commits: Sequence[Commit], now_ms: int, retention_ms: int
    ) -> list[Key]:
        """Return the keys for which the coordinator writes a tombstone now."""
        raise NotImplementedError("OffsetsTable.expired is not written yet: it returns [key]")
