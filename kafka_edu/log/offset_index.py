"""The offset index of a segment (Kafka: OffsetIndex.scala; seed 004, figure 5-8): offset → position
in the .log file.

    relative offset int32 | position int32          8 bytes an entry, ascending

Sparse: one entry for every index.interval.bytes (4096) of batches. To find offset 425314, Log takes
the segment whose base is the largest not above it, 368769; the index holds relative offsets, so it
looks for 425314 - 368769 = 56545, takes the largest entry not above that, and the segment is walked
from its position. An entry names the last offset of a batch and the position of that batch.
"""

import struct
from itertools import pairwise
from typing import Final, NamedTuple

from kafka_edu.common.files import FileSystem
from kafka_edu.log.abstract_index import AbstractIndex, CorruptIndexError

_ENTRY: Final = struct.Struct(">ii")


class OffsetPosition(NamedTuple):
    """An offset, and the position in bytes where a search for it, or for a later one, may begin."""

    offset: int
    position: int


class OffsetIndex(AbstractIndex):
    """Append O(1), lookup O(log entries): 20 probes in the largest index, about 4 µs."""

    ENTRY_BYTES = _ENTRY.size

    def __init__(self, file_system: FileSystem, path: str, base_offset: int) -> None:
        super().__init__(file_system, path, base_offset)
        self.last_offset = base_offset
        """The offset of the last entry; the base offset if there is none."""
        self.last_position = 0

    def _after_load(self) -> None:
        self._read_last()

    def _read_last(self) -> None:
        self.last_offset, self.last_position = (
            self.entry(self.entries - 1) if self.entries else (self.base_offset, 0)
        )

    @property
    def is_full(self) -> bool:
        return self.entries >= self.max_entries

    def entry(self, n: int) -> OffsetPosition:
        relative, position = _ENTRY.unpack_from(self._bytes, n * 8)
        return OffsetPosition(self.base_offset + relative, position)

    def append(self, offset: int, position: int) -> None:
        """Add an entry; offsets must ascend, and the index must not be full. Raises OSError when
        the disk is full.
        """
        assert self.entries < self.max_entries, (self.path, self.entries)
        assert offset > self.last_offset or self.entries == 0, (self.path, offset, self.last_offset)
        end = (self.entries + 1) * 8
        if end > self._backed_size:
            self._back(end)
        _ENTRY.pack_into(self._bytes, end - 8, offset - self.base_offset, position)
        self.entries += 1
        self.last_offset, self.last_position = offset, position

    def lookup(self, target: int) -> OffsetPosition:
        """Return the largest entry not above `target`; the segment's beginning if there is none.
        O(log entries).
        """
        self.load()
        if target >= self.last_offset:
            return OffsetPosition(self.last_offset, self.last_position)
        slot = self._slot_below(target - self.base_offset + 1)
        return self.entry(slot) if slot >= 0 else OffsetPosition(self.base_offset, 0)

    def upper_bound(self, position: int) -> int | None:
        """Return the offset of the first entry at or behind `position`; None if there is none.
        Everything before that position lies below that offset.
        """
        self.load()
        low, high = 0, self.entries
        while low < high:
            middle = (low + high) >> 1
            if _ENTRY.unpack_from(self._bytes, middle * 8)[1] < position:
                low = middle + 1
            else:
                high = middle
        return self.entry(low).offset if low < self.entries else None

    def _slot_below(self, relative: int) -> int:
        """Return the last slot whose relative offset is below `relative`; -1 if there is none."""
        entries, unpack_from = self._bytes, _ENTRY.unpack_from
        low, high = 0, self.entries
        while low < high:
            middle = (low + high) >> 1
            if unpack_from(entries, middle * 8)[0] < relative:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def truncate_to(self, offset: int) -> None:
        """Remove the entries for `offset` and later ones."""
        self.load()
        self._keep(self._slot_below(offset - self.base_offset) + 1)

    def truncate(self) -> None:
        """Remove all entries."""
        self.load()
        self._keep(0)

    def _keep(self, entries: int) -> None:
        """Keep the first entries. The next one becomes empty, so that after a kill nobody takes
        what was cut off for entries of records that are missing. A hole is empty already.
        """
        self.entries = entries
        at = entries * self.ENTRY_BYTES
        if any(self._bytes[at : at + self.ENTRY_BYTES]):
            _ENTRY.pack_into(self._bytes, at, 0, 0)
        self._read_last()

    def before_zeros(self) -> OffsetPosition | None:
        """Return the last entry before the first empty one: what a killed broker had indexed. None
        if there is none, or if the entries do not ascend. O(entries).
        """
        self.load()
        found = None
        for slot in range(self.entries):
            entry = self.entry(slot)
            if entry == (self.base_offset, 0):
                break
            if entry.position < 0 or (found is not None and not entry_after(found, entry)):
                return None
            found = entry
        return found

    def sanity_check(self) -> None:
        self.load()
        if self._mapped_size % self.ENTRY_BYTES:
            raise CorruptIndexError(
                f"{self.path} has {self._mapped_size} bytes, which is no multiple of"
                f" {self.ENTRY_BYTES}"
            )
        if self.entries and self.last_offset <= self.base_offset:
            raise CorruptIndexError(
                f"{self.path}: the last offset, {self.last_offset}, is not above the base offset"
            )
        sampled = [self.entry(slot) for slot in self._sampled_slots()]
        if sampled and sampled[0].position < 0:
            raise CorruptIndexError(f"{self.path}: the first position is negative")
        if not all(entry_after(a, b) for a, b in pairwise(sampled)):
            raise CorruptIndexError(f"{self.path}: the entries do not ascend")


def entry_after(before: OffsetPosition, after: OffsetPosition) -> bool:
    """Return whether an entry may follow another one."""
    return after.offset > before.offset and after.position > before.position
