"""Compare the records that were acked with those that were read, while both go on.

Each record carries its number. An ack says: record n is stored at this partition and offset. A
consumer reads a partition in order. So when it has passed the offset of an acked record without
finding that record there, the record is lost. Memory is bounded by the records that are acked and
not read yet, or read and not acked yet.
"""

import heapq
from typing import Final, NamedTuple

#: So many records may be read before their acks arrive; older ones are forgotten.
MAX_AHEAD: Final = 100_000
#: So many lost records are remembered one by one.
MAX_LOST: Final = 10_000


class StoredRecord(NamedTuple):
    """A record of the load at its place in a partition."""

    partition: int
    offset: int
    number: int


class _PartitionTally:
    """One partition: its acked records that were not read yet, and the reverse."""

    def __init__(self) -> None:
        self.position = 0
        """The offset behind the last record that was read."""
        self.acked: dict[int, int] = {}
        """offset → number."""
        self.acked_offsets: list[int] = []
        """The keys of `acked` as a heap; it may hold keys that are gone."""
        self.ahead: dict[int, int] = {}
        """offset → number of records that were read before their ack arrived."""


class LoadTally:
    """Counts of one load. One thread at a time may call it."""

    def __init__(self, *, compacted: bool = False) -> None:
        """In a compacted topic an acked record that is not there may have been superseded, so none
        counts as lost.
        """
        self._compacted = compacted
        self.acked = 0
        self.read = 0
        self.read_again = 0
        self.lost = 0
        self._partitions: dict[int, _PartitionTally] = {}
        self._lost: dict[tuple[int, int], int] = {}

    def on_ack(self, record: StoredRecord) -> list[StoredRecord]:
        """Note an acked record. Return the records that are found to be lost. O(log waiting)."""
        self.acked += 1
        tally = self._partitions.setdefault(record.partition, _PartitionTally())
        if record.offset < tally.position:
            if tally.ahead.pop(record.offset, None) == record.number:
                return []
            return self._gone([record])
        before = tally.acked.get(record.offset)
        tally.acked[record.offset] = record.number
        if before is None:
            heapq.heappush(tally.acked_offsets, record.offset)
            return []
        return self._gone([record._replace(number=before)])

    def on_read(self, record: StoredRecord) -> list[StoredRecord]:
        """Note a record that was read. Return the records that are found to be lost. O(log waiting)
        for each record that is settled.
        """
        tally = self._partitions.setdefault(record.partition, _PartitionTally())
        if record.offset < tally.position:
            self._read_again(record)
            return []
        self.read += 1
        gone = []
        while tally.acked_offsets and tally.acked_offsets[0] < record.offset:
            offset = heapq.heappop(tally.acked_offsets)
            number = tally.acked.pop(offset, None)
            if number is not None:
                gone.append(StoredRecord(record.partition, offset, number))
        expected = tally.acked.pop(record.offset, None)
        if expected is None:
            tally.ahead[record.offset] = record.number
            if len(tally.ahead) > MAX_AHEAD:
                del tally.ahead[next(iter(tally.ahead))]
        elif expected != record.number:
            gone.append(record._replace(number=expected))
        tally.position = record.offset + 1
        return self._gone(gone)

    def _read_again(self, record: StoredRecord) -> None:
        """Note a record below the position: it was read before, or was missed and turns up now."""
        place = record.partition, record.offset
        if self._lost.get(place) == record.number:
            del self._lost[place]
            self.lost -= 1
            self.read += 1
        else:
            self.read_again += 1

    def _gone(self, records: list[StoredRecord]) -> list[StoredRecord]:
        """Note acked records that are not in the log. Return those that are lost."""
        if self._compacted:
            return []
        for record in records:
            self.lost += 1
            if len(self._lost) < MAX_LOST:
                self._lost[record.partition, record.offset] = record.number
        return records

    @property
    def unread(self) -> int:
        """Return how many acked records were not read yet."""
        return sum(len(tally.acked) for tally in self._partitions.values())
