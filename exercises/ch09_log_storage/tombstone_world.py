"""A compacted log, its cleaner, and a slow reader, for exercise 09-4. Time is virtual.

The cleaner stores keys and drops superseded records with the broker's offset map and filter
(`compaction_rules`). `may_go` decides whether an old tombstone may go. The reader builds a table
from the beginning of the log, and always comes to its end within delete.retention.ms.
"""

from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple

from .compaction_rules import RightCompaction

HOUR_MS: Final = 3_600_000
RETENTION_MS: Final = 24 * HOUR_MS
"""The default of delete.retention.ms."""
NEVER: Final = -1
KEYS: Final = ("k1", "k2", "k3", "k4")
MayGo = Callable[[int, int, int, int], bool]
"""(written_ms, cleaned_ms or NEVER, now_ms, delete_retention_ms) → whether a tombstone may go."""


class Stored(NamedTuple):
    """A record in the log."""

    offset: int
    key: str
    value: str | None
    written_ms: int


class Returned(NamedTuple):
    """A key that is in a reader's table at the end, although the key was deleted."""

    key: str
    tombstone: int
    """The offset of the tombstone that deleted the key."""
    removed_by: int
    """The number of the event in which a pass removed the tombstone; 0 if none did."""


class TombstoneWorld:
    """The log, the cleaner and the reader. `events` lists what has happened."""

    def __init__(self, may_go: MayGo) -> None:
        self._may_go = may_go
        self.now_ms = 0
        self.events: list[str] = []
        self.records: list[Stored] = []
        self.next_offset = 0
        self._closed_end = 0
        """The offset where the active segment begins."""
        self._first_dirty = 0
        self._cleaned_ms: dict[int, int] = {}
        """Offset of a tombstone → the time in ms when a pass first kept it."""
        self._removed_by: dict[int, int] = {}
        self._last_tombstone: dict[str, int] = {}
        self._alive: dict[str, str] = {}
        self._reader: dict[str, str] | None = None
        self._reader_at = 0
        self._reader_began_ms = 0
        self.returned: list[Returned] = []

    def _say(self, words: str) -> int:
        """Add an event to `events`, and return its number."""
        hours, minutes = divmod(self.now_ms // 60_000, 60)
        self.events.append(f"{hours:>3}:{minutes:02}  {words}")
        return len(self.events)

    def go_on(self, random: Random) -> None:
        """Do one random step."""
        step = random.choices(
            (self.write, self.delete, self.roll, self.clean, self.wait, self.read),
            (3, 2, 2, 2, 3, 3),
        )[0]
        step(random)

    def write(self, random: Random) -> None:
        """Write a value of a key."""
        key = random.choice(KEYS)
        value = f"v{self.next_offset}"
        self._alive[key] = value
        self._append(key, value, f"{key} = {value}")

    def delete(self, random: Random) -> None:
        """Delete a key that is alive, if there is one."""
        if self._alive:
            key = random.choice(sorted(self._alive))
            del self._alive[key]
            self._last_tombstone[key] = self.next_offset
            self._append(key, None, f"{key} is deleted: a tombstone")

    def _append(self, key: str, value: str | None, words: str) -> None:
        self._say(f"offset {self.next_offset}: {words}")
        self.records.append(Stored(self.next_offset, key, value, self.now_ms))
        self.next_offset += 1

    def roll(self, _random: Random) -> None:
        """Close the active segment."""
        if self._closed_end < self.next_offset:
            self._closed_end = self.next_offset
            self._say(f"a segment is closed: all below offset {self._closed_end} may be cleaned")

    def clean(self, _random: Random) -> None:
        """Do one pass of the cleaner over all closed segments."""
        end = self._closed_end
        rows = [(one.offset, one.key.encode(), one.value is not None) for one in self.records]
        closed = [row for row in rows if row[0] < end]
        if not closed:
            return
        cleaning = RightCompaction(self._first_dirty, len(KEYS) + 1)
        cleaning.note(closed)
        kept = {*cleaning.keep(rows, end, True)}
        too_old = [one for one in self.records if one.offset in kept and self._goes(one, end)]
        gone = [one for one in self.records if one.offset not in kept] + too_old
        self.records = [one for one in self.records if one not in gone]
        self._first_dirty = end
        number = self._say(f"a pass cleans below offset {end}: {self._in_words(gone, too_old)}")
        for one in gone:
            if one.value is None:
                self._removed_by[one.offset] = number
        for one in self.records:
            if one.value is None and one.offset < end:
                self._cleaned_ms.setdefault(one.offset, self.now_ms)

    def _goes(self, one: Stored, end: int) -> bool:
        """Return whether the pass covers this record and may remove it as an old tombstone."""
        if one.value is not None or one.offset >= end:
            return False
        cleaned_ms = self._cleaned_ms.get(one.offset, NEVER)
        return self._may_go(one.written_ms, cleaned_ms, self.now_ms, RETENTION_MS)

    @staticmethod
    def _in_words(gone: list[Stored], too_old: list[Stored]) -> str:
        others = ", ".join(str(one.offset) for one in gone if one not in too_old)
        old = ", ".join(str(one.offset) for one in too_old)
        parts = [f"superseded: {others}"] * bool(others) + [f"old tombstones: {old}"] * bool(old)
        return "; ".join(parts) or "nothing goes"

    def wait(self, random: Random) -> None:
        """Let some hours pass. A reader that would be too slow first reads to the log's end."""
        passed_ms = random.choice((1, 2, 5, 9, 13, 25)) * HOUR_MS + random.randrange(60) * 60_000
        until_ms = self.now_ms + passed_ms
        if self._reader is not None and until_ms - self._reader_began_ms > RETENTION_MS:
            self._read_to_end()
        self.now_ms = until_ms

    def read(self, random: Random) -> None:
        """Let the reader begin, or read a few records more."""
        if self._reader is None:
            if not self.records:
                return
            self._reader, self._reader_at, self._reader_began_ms = {}, 0, self.now_ms
            self._say("a reader begins at the beginning of the log")
        elif self._reader_at >= self.next_offset:
            self._read_to_end()
            return
        self._read_some(random.randint(1, 3))
        self._say(f"the reader has read all below offset {self._reader_at}")

    def _read_some(self, count: int) -> None:
        assert self._reader is not None
        ahead = [one for one in self.records if one.offset >= self._reader_at][:count]
        for one in ahead:
            if one.value is None:
                self._reader.pop(one.key, None)
            else:
                self._reader[one.key] = one.value
        self._reader_at = ahead[-1].offset + 1 if len(ahead) == count else self.next_offset

    def _read_to_end(self) -> None:
        """Let the reader read to the end, and compare its table with the keys not deleted."""
        assert self._reader is not None
        self._read_some(len(self.records) + 1)
        table, self._reader = self._reader, None
        has = ", ".join(f"{key}={value}" for key, value in sorted(table.items())) or "no key"
        self._say(f"the reader is at the end, and has {has}")
        for key in sorted(table.keys() - self._alive.keys()):
            tombstone = self._last_tombstone[key]
            self.returned.append(Returned(key, tombstone, self._removed_by.get(tombstone, 0)))

    def settle(self) -> None:
        """Let the reader finish. Then wait long, and do two passes: no tombstone should be left."""
        if self._reader is not None:
            self._read_to_end()
        for _ in range(2):
            self.roll(Random(0))
            self.clean(Random(0))
            self.now_ms += RETENTION_MS + 1
        self.clean(Random(0))

    def tombstones(self) -> list[int]:
        """Return the offsets of the tombstones in the log."""
        return [one.offset for one in self.records if one.value is None]


def right_may_go(written_ms: int, cleaned_ms: int, now_ms: int, retention_ms: int) -> bool:
    """Return whether a pass first kept the tombstone more than `retention_ms` ago (KIP-534)."""
    return cleaned_ms != NEVER and now_ms - cleaned_ms > retention_ms
