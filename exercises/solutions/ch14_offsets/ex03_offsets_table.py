"""Exercise 14-3: the reference solution (Kafka: Cleaner, GroupMetadata.removeExpiredOffsets)."""

from collections.abc import Sequence
from typing import Any

Key = list[str | int]
Row = tuple[int, Key, bool]
Commit = tuple[str, int, int, int | None]


class OffsetsTable:
    """Decides which records of one partition of __consumer_offsets stay or expire."""

    def __init__(self) -> None:
        self.last: dict[tuple[str | int, ...], int] = {}

    def note(self, records: Sequence[Row]) -> None:
        """Store the offset of the last record of each key in the dirty part."""
        for offset, key, _ in records:
            self.last[tuple(key)] = offset

    def keep(self, records: Sequence[Row], end: int, young: bool) -> list[int]:
        """Return the offsets of the records that stay."""
        return [
            offset
            for offset, key, has_value in records
            if offset >= end or (offset >= self.last.get(tuple(key), 0) and (has_value or young))
        ]

    def expired(
        self, group: dict[str, Any], commits: Sequence[Commit], now_ms: int, retention_ms: int
    ) -> list[Key]:
        """Return the keys for which the coordinator writes a tombstone now."""
        name = group["name"]
        gone: list[Key] = []
        for topic, partition, committed_ms, expires_ms in commits:
            begin_ms = self.begin_ms(group, topic, committed_ms)
            if begin_ms is None:
                continue
            if expires_ms is None:
                expires_ms = begin_ms + retention_ms
            if now_ms >= expires_ms:
                gone.append(["offset", name, topic, partition])
        if group["state"] == "Empty" and len(gone) == len(commits) and group["generation"] > 0:
            gone.append(["group", name])
        return gone

    def begin_ms(self, group: dict[str, Any], topic: str, committed_ms: int) -> int | None:
        """Return the time when an offset's retention begins. None: it cannot expire now."""
        if group["protocol"] is None:
            return committed_ms
        if group["state"] == "Empty":
            since_ms: int = group["since_ms"]
            return since_ms
        reads = group["protocol"] != "consumer" or topic in group["topics"]
        return committed_ms if group["state"] == "Stable" and not reads else None
