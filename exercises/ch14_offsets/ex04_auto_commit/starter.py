"""Exercise 14-4: this automatic commit may lose records. README.md describes the task.
`kafka-edu lab check 14-4` tests your code. `kafka-edu lab hint 14-4` gives a hint.
"""

from collections.abc import Sequence


class AutoCommit:
    """The buffer of one consumer, and its automatic commit."""

    def __init__(self, interval_ms: int, most: int) -> None:
        """The arguments are auto.commit.interval.ms and max.poll.records."""
        self.interval_ms = interval_ms
        self.most = most
        self.buffer: list[tuple[str, int]] = []
        self.positions: dict[str, int] = {}
        self.committed: dict[str, int] = {}
        self.due_ms: int | None = None

    def fetched(self, partition: str, offsets: Sequence[int]) -> None:
        """Add records from the broker to the buffer."""
        self.buffer.extend((partition, offset) for offset in offsets)

    def poll(self, now_ms: int) -> tuple[dict[str, int], list[tuple[str, int]]]:
        """Return the offsets that are committed now, and the records that the program gets."""
        records = self.take()
        return self.commit(now_ms), records

    def take(self) -> list[tuple[str, int]]:
        """Remove the next records from the buffer, and move the positions past them."""
        records = self.buffer[: self.most]
        del self.buffer[: self.most]
        for partition, offset in records:
            self.positions[partition] = offset + 1
        return records

    def commit(self, now_ms: int) -> dict[str, int]:
        """Return the positions that are not committed yet, if the interval is over."""
        if self.due_ms is None:
            self.due_ms = now_ms + self.interval_ms
        if now_ms < self.due_ms:
            return {}
        self.due_ms = now_ms + self.interval_ms
        return self.changed(list(self.positions))

    def changed(self, partitions: Sequence[str]) -> dict[str, int]:
        """Return the positions of these partitions that are not committed yet."""
        found = {
            one: self.positions[one]
            for one in partitions
            if one in self.positions and self.positions[one] != self.committed.get(one)
        }
        self.committed.update(found)
        return found

    def revoked(self, partitions: Sequence[str]) -> dict[str, int]:
        """Give partitions up. Return the offsets that are committed before that."""
        found = self.changed(partitions)
        self.buffer = [record for record in self.buffer if record[0] not in partitions]
        for partition in partitions:
            self.positions.pop(partition, None)
            self.committed.pop(partition, None)
        return found

    def diagnosis(self) -> tuple[int, int]:
        """Return the offset of the first record in events.txt that no member has worked on, and the
        time in ms of the commit that lost this record.
        """
        raise NotImplementedError(
            "AutoCommit.diagnosis is not written yet: it returns (offset of the lost record, ms of"
            " the commit)"
        )
