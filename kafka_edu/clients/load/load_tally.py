"""Compare the acked records with the records that were read, while the load is running.

Each record contains its number. An ack says that record n is stored at this partition and offset. A
consumer reads a partition in order. So if a consumer has passed the offset of an acked record and
has not found the record there, the record is lost. Only records that are acked but not read yet, or
read but not acked yet, need memory.
"""

import heapq
from collections import defaultdict
from typing import Final, NamedTuple

#: The maximum number of records stored as read before their acks arrived. Older ones are dropped.
MAX_AHEAD: Final = 100_000
#: The maximum number of lost records that are stored with their partitions and offsets.
MAX_LOST: Final = 10_000


class StoredRecord(NamedTuple):
    """A record of the load, with its partition and its offset."""

    partition: int
    offset: int
    number: int


class _PartitionTally:
    """One partition: records that were acked but not read yet, or read but not acked yet."""

    def __init__(self) -> None:
        self.position = 0
        """The offset after the last record that was read."""
        self.acked: dict[int, int] = {}
        """Offset → number of each record that was acked but not read yet."""
        self.acked_offsets: list[int] = []
        """The offsets of `acked` as a heap.

        It may still contain offsets that were removed from `acked`.
        """
        self.ahead: dict[int, int] = {}
        """Offset → number of each record that was read before its ack arrived."""


class LoadTally:
    """The counts of one load. Only one thread at a time may call the methods."""

    def __init__(self, *, compacted: bool = False) -> None:
        """`compacted` says whether the topic is compacted. If it is, no missing record counts as
        lost.

        In a compacted topic, a newer record with the same key may have replaced the missing one.
        """
        self._compacted = compacted
        self.acked = 0
        self.read = 0
        self.read_again = 0
        self.lost = 0
        self._partitions: defaultdict[int, _PartitionTally] = defaultdict(_PartitionTally)
        self._lost: dict[tuple[int, int], int] = {}

    def on_ack(self, record: StoredRecord) -> list[StoredRecord]:
        """Count an acked record.

        Return the records that are now known to be lost. O(log waiting records).
        """
        self.acked += 1
        partition, offset, number = record
        tally = self._partitions[partition]
        if offset < tally.position:
            if tally.ahead.pop(offset, None) == number:
                return []
            return self._gone([record])
        before = tally.acked.get(offset)
        tally.acked[offset] = number
        if before is None:
            heapq.heappush(tally.acked_offsets, offset)
            return []
        return self._gone([record._replace(number=before)])

    def on_read(self, record: StoredRecord) -> list[StoredRecord]:
        """Count a record that was read. Return the records that are now known to be lost.

        O(log waiting records) for each record that is now read or lost.
        """
        partition, offset, number = record
        tally = self._partitions[partition]
        if offset < tally.position:
            self._read_again(record)
            return []
        self.read += 1
        gone: list[StoredRecord] = []
        acked_offsets = tally.acked_offsets
        while acked_offsets and acked_offsets[0] < offset:
            passed = heapq.heappop(acked_offsets)
            missing = tally.acked.pop(passed, None)
            if missing is not None:
                gone.append(StoredRecord(partition, passed, missing))
        expected = tally.acked.pop(offset, None)
        if expected is None:
            tally.ahead[offset] = number
            if len(tally.ahead) > MAX_AHEAD:
                del tally.ahead[next(iter(tally.ahead))]
        elif expected != number:
            gone.append(record._replace(number=expected))
        tally.position = offset + 1
        return self._gone(gone) if gone else gone

    def _read_again(self, record: StoredRecord) -> None:
        """Count a record whose offset is below the position up to which the partition was read.
        Either the record was read before, or it has counted as lost until now.
        """
        place = record.partition, record.offset
        if self._lost.get(place) == record.number:
            del self._lost[place]
            self.lost -= 1
            self.read += 1
        else:
            self.read_again += 1

    def _gone(self, records: list[StoredRecord]) -> list[StoredRecord]:
        """Count acked records that were not found in the log. Return those that are lost.

        In a compacted topic none of them counts as lost.
        """
        if self._compacted:
            return []
        for record in records:
            self.lost += 1
            if len(self._lost) < MAX_LOST:
                self._lost[record.partition, record.offset] = record.number
        return records

    @property
    def unread(self) -> int:
        """Return the number of acked records that were not read yet."""
        return sum(len(tally.acked) for tally in self._partitions.values())
