"""Exercise 14-1: the reference solution. In Kafka, each program does this work itself."""

from collections.abc import Sequence


class Commits:
    """Decides what one consumer commits. Its workers finish their records in any order."""

    def __init__(self, interval_ms: int) -> None:
        self.interval_ms = interval_ms
        self.since_ms: int | None = None
        self.waiting: dict[str, dict[int, None]] = {}
        self.behind: dict[str, int] = {}
        self.stored: dict[str, int] = {}
        self.flying: dict[str, int] | None = None

    def assigned(self, partitions: Sequence[str]) -> None:
        """The consumer now has these partitions too, in addition to those that it had before."""
        for partition in partitions:
            self.waiting[partition] = {}

    def polled(self, partition: str, offsets: Sequence[int]) -> None:
        """poll() has returned these records. The workers have them now."""
        self.stored.setdefault(partition, offsets[0])
        self.waiting[partition].update(dict.fromkeys(offsets))
        self.behind[partition] = offsets[-1] + 1

    def done(self, partition: str, offset: int) -> None:
        """A worker has finished a record."""
        if partition in self.waiting:
            self.waiting[partition].pop(offset, None)

    def further(self, partitions: Sequence[str]) -> dict[str, int]:
        """Return the offsets of those partitions that have moved beyond their stored offsets."""
        found = {}
        for partition in partitions:
            if partition in self.behind:
                offset = min(self.waiting[partition], default=self.behind[partition])
                if offset > self.stored[partition]:
                    found[partition] = offset
        return found

    def due(self, now_ms: int) -> dict[str, int]:
        """Return what to commit between two calls of poll()."""
        if self.since_ms is None:
            self.since_ms = now_ms
        if self.flying is not None or now_ms - self.since_ms < self.interval_ms:
            return {}
        found = self.further(list(self.waiting))
        if found:
            self.since_ms = now_ms
            self.flying = dict(found)
        return found

    def answered(self, stored: bool) -> None:
        """The last commit from `due` has ended. `stored`: the broker has stored it."""
        if stored and self.flying is not None:
            self.stored.update(self.flying)
        self.flying = None

    def revoked(self, partitions: Sequence[str]) -> dict[str, int]:
        """Return what to commit before these partitions are given up."""
        found = self.further(partitions)
        self.lost(partitions)
        return found

    def lost(self, partitions: Sequence[str]) -> None:
        """Forget partitions that others may have already."""
        for table in (self.waiting, self.behind, self.stored, self.flying or {}):
            for partition in partitions:
                table.pop(partition, None)
