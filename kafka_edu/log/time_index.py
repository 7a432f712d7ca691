"""The time index of a segment (Kafka: TimeIndex.scala; seed 004): timestamp → offset.

    timestamp int64 | relative offset int32          12 bytes an entry, both ascending

An entry means: up to this offset no record has a later timestamp. A look-up by time takes two
binary searches: one in the time index for the offset, and one in the offset index for the position.
Then the batches from this position on are read one by one. When the segment is closed, the index
gets a last entry with the segment's largest timestamp. The broker reads this entry at its next
start, for retention by time.
"""

import struct
from itertools import pairwise
from typing import Final, NamedTuple

from kafka_edu.common.files import FileSystem
from kafka_edu.log.abstract_index import AbstractIndex, CorruptIndexError
from kafka_edu.record.record_batch import NO_TIMESTAMP

_ENTRY: Final = struct.Struct(">qi")


class TimestampEntry(NamedTuple):
    """The largest timestamp so far, and the last offset of the batch that has it."""

    timestamp: int
    offset: int


class TimeIndex(AbstractIndex):
    """The index of one segment. Append O(1), look-up O(log entries)."""

    ENTRY_BYTES = _ENTRY.size

    def __init__(self, file_system: FileSystem, path: str, base_offset: int) -> None:
        super().__init__(file_system, path, base_offset)
        self.last_entry = TimestampEntry(NO_TIMESTAMP, base_offset)

    def _after_load(self) -> None:
        self._read_last()

    def _read_last(self) -> None:
        self.last_entry = (
            self.entry(self.entries - 1)
            if self.entries
            else TimestampEntry(NO_TIMESTAMP, self.base_offset)
        )

    @property
    def is_full(self) -> bool:
        """Return whether the index is full. One slot is kept free for the entry that is written
        when the segment is closed.
        """
        return self.entries >= self.max_entries - 1

    def entry(self, n: int) -> TimestampEntry:
        timestamp, relative = _ENTRY.unpack_from(self._bytes, n * 12)
        return TimestampEntry(timestamp, self.base_offset + relative)

    def maybe_append(self, timestamp: int, offset: int, *, last: bool = False) -> None:
        """Add an entry if `timestamp` is later than the timestamp of the last entry.

        With `last` the slot that is kept free may be used. Raises OSError if the disk is full.
        """
        if timestamp > self.last_entry.timestamp and (
            not self.is_full or (last and self.entries < self.max_entries)
        ):
            end = (self.entries + 1) * 12
            if end > self._backed_size:
                self._back(end)
            _ENTRY.pack_into(self._bytes, end - 12, timestamp, offset - self.base_offset)
            self.entries += 1
            self.last_entry = TimestampEntry(timestamp, offset)

    def lookup(self, target: int) -> TimestampEntry:
        """Return the entry with the largest timestamp not above `target`. O(log entries).

        If there is no such entry, return (-1, base offset).
        """
        self.load()
        entries, unpack_from = self._bytes, _ENTRY.unpack_from
        low, high = 0, self.entries
        while low < high:
            middle = (low + high) >> 1
            if unpack_from(entries, middle * 12)[0] <= target:
                low = middle + 1
            else:
                high = middle
        return self.entry(low - 1) if low else TimestampEntry(NO_TIMESTAMP, self.base_offset)

    def truncate_to(self, offset: int) -> None:
        """Remove the entries whose offset is `offset` or later."""
        self.load()
        while self.entries and self.entry(self.entries - 1).offset >= offset:
            self.entries -= 1
        self._read_last()

    def truncate(self) -> None:
        """Remove all entries."""
        self.load()
        self.entries = 0
        self._read_last()

    def sanity_check(self) -> None:
        self.load()
        if self._mapped_size % self.ENTRY_BYTES:
            raise CorruptIndexError(
                f"{self.path} has {self._mapped_size} bytes, which is not a multiple of"
                f" {self.ENTRY_BYTES}"
            )
        if self.entries and self.last_entry.offset < self.base_offset:
            raise CorruptIndexError(
                f"{self.path}: the last offset, {self.last_entry.offset}, is below the base offset"
            )
        if self.entries and self.last_entry.timestamp < self.entry(0).timestamp:
            raise CorruptIndexError(f"{self.path}: the last timestamp is below the first")
        if self.entries > 1 and self.last_entry == (0, self.base_offset):
            raise CorruptIndexError(f"{self.path} ends in empty entries")
        sampled = [self.entry(slot) for slot in self._sampled_slots()]
        if not all(
            a.timestamp < b.timestamp and a.offset <= b.offset for a, b in pairwise(sampled)
        ):
            raise CorruptIndexError(f"{self.path}: the entries do not ascend")
