"""Exercise 09-5: the reference solution (Kafka: Cleaner.buildOffsetMap, shouldRetainRecord)."""

from collections.abc import Sequence

Row = tuple[int, bytes | None, bool]  # (offset, key, whether it has a value)


class Compaction:
    """One pass of the cleaner over a log."""

    def __init__(self, first_dirty: int, most: int) -> None:
        """Begin a pass. Its dirty part begins at `first_dirty`. It can store `most` keys."""
        self.first_dirty = first_dirty
        self.most = most
        self.last: dict[bytes, int] = {}

    def note(self, records: Sequence[Row]) -> int:
        """Store the last offset of each key. Return how many records were processed."""
        for number, (offset, key, _) in enumerate(records):
            if key is None or offset < self.first_dirty:
                continue
            if len(self.last) == self.most:
                return number
            self.last[key] = offset
        return len(records)

    def keep(self, records: Sequence[Row], end: int, young: bool) -> list[int]:
        """Return the offsets of the records that stay."""
        return [record[0] for record in records if record[0] >= end or self.stays(record, young)]

    def stays(self, record: Row, young: bool) -> bool:
        """Return whether a record below the end of the pass stays."""
        offset, key, has_value = record
        if key is None or offset < self.last.get(key, 0):
            return False
        return has_value or young
