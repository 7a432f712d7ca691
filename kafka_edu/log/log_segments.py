"""The segments of one log, ascending by base offset, and the search for the segment of an offset
(Kafka: LogSegments.scala, within Log.scala until 3.0).
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import overload

from kafka_edu.common.transport import part_size
from kafka_edu.log.fetch_data_info import FetchDataInfo, TimestampOffset
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.log.stable_rule import StableRule
from kafka_edu.log.transaction_index import AbortedTxn


class LogSegments(Sequence[LogSegment]):
    """The list of a log's segments, with at least one. Only its owner, the Log, changes it.

    A second list has the base offsets, so a look-up is one bisection.
    """

    __slots__ = ("_bases", "_segments", "active")

    def __init__(self, segments: Sequence[LogSegment]) -> None:
        self._segments = list(segments)
        self._bases = [segment.base_offset for segment in segments]
        self.active = self._segments[-1]
        """The last segment, the only one that is written to."""

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[LogSegment]:
        return iter(self._segments)

    @overload
    def __getitem__(self, i: int) -> LogSegment: ...

    @overload
    def __getitem__(self, i: slice) -> list[LogSegment]: ...

    def __getitem__(self, i: int | slice) -> LogSegment | list[LogSegment]:
        return self._segments[i]

    @property
    def first_base(self) -> int:
        return self._bases[0]

    @property
    def size(self) -> int:
        """Return the bytes of all batches. O(segments)."""
        return sum(segment.size for segment in self._segments)

    def floor(self, offset: int) -> int:
        """Return the index in the list of the segment with the largest base offset not above
        `offset`.

        -1 if all segments begin above `offset`. O(log segments).
        """
        return bisect_right(self._bases, offset) - 1

    def from_offset(self, offset: int) -> list[LogSegment]:
        """Return the segment that contains `offset`, and all later segments."""
        return self._segments[max(self.floor(offset), 0) :]

    def append(self, segment: LogSegment) -> None:
        """Add `segment`. It is the active segment from now on."""
        self._segments.append(segment)
        self._bases.append(segment.base_offset)
        self.active = segment

    def remove(self, gone: Sequence[LogSegment]) -> None:
        """Remove segments from the list. If all are removed, call `append` before anything else."""
        self._segments = [segment for segment in self._segments if segment not in gone]
        self._bases = [segment.base_offset for segment in self._segments]
        if self._segments:
            self.active = self._segments[-1]

    def replace(self, gone: Sequence[LogSegment], new: LogSegment) -> None:
        """Replace neighbouring segments with one. The active segment must not be among them."""
        at = self._segments.index(gone[0])
        assert self._segments[at : at + len(gone)] == list(gone), "they are no neighbours"
        assert gone[-1] is not self.active
        self._segments[at : at + len(gone)] = [new]
        self._bases = [segment.base_offset for segment in self._segments]

    def read(
        self, start_offset: int, max_length: int, limit: int, log_end: int, min_one_message: bool
    ) -> tuple[LogSegment, FetchDataInfo] | None:
        """Return the first batches at or after `start_offset` and below the offset `limit`, with
        their segment.

        Return None if there are no such batches. O(log segments).
        """
        segments = self._segments
        i = (
            len(segments) - 1
            if start_offset >= self.active.base_offset
            else self.floor(start_offset)
        )
        while i < len(segments):
            found = segments[i].read(
                start_offset, max_length, self.max_position(i, limit, log_end), min_one_message
            )
            if found is not None:
                return segments[i], found
            # the offsets up to the end of this segment were removed by compaction, or no record
            # ever had them: continue in the next segment
            i += 1
        return None

    def max_position(self, i: int, limit: int, log_end: int) -> int:
        """Return the position in segment `i` up to which a read may go.

        The result is the beginning of the batch that contains the offset `limit`, or the segment's
        size if `limit` lies after the segment.
        """
        segment = self._segments[i]
        if limit >= log_end or (i + 1 < len(self._segments) and self._bases[i + 1] <= limit):
            return segment.size
        position = segment.position_of(limit)
        return segment.size if position is None else position

    def aborted_transactions(
        self, start_offset: int, data: FetchDataInfo, log_end: int, rule: StableRule
    ) -> list[AbortedTxn]:
        """Return the aborted transactions that overlap the records `data`, read for `start_offset`.

        The transaction index of the records' segment is searched first, and then those of later
        segments, until an entry shows that no later entry can matter. The end of the records is
        known only as a byte position. The offset index gives an offset for this position; because
        that index is sparse, the offset may lie a little after the end. O(entries of the searched
        indexes).
        """
        place = data.fetch_offset_metadata
        i = self.floor(place.segment_base_offset)
        end = self._segments[i].offset_index.upper_bound(
            place.relative_position_in_segment + part_size(data.records)
        )
        if end is None:
            end = self._bases[i + 1] if i + 1 < len(self._bases) else log_end
        found: list[AbortedTxn] = []
        for segment in self._segments[i:]:
            aborted, complete = rule.overlapping(segment.txn_index, start_offset, end)
            found += aborted
            if complete:
                break
        return found

    def locate(self, offset: int) -> LogOffsetMetadata | None:
        """Return the place of the batch that contains `offset`, or of the next batch after it.

        Return None if there is no such batch. O(1) for recent batches.
        """
        for i in range(self.floor(offset), len(self._segments)):
            segment = self._segments[i]
            position = segment.position_of(offset)
            if position is not None:
                return LogOffsetMetadata(offset, segment.base_offset, position)
        return None

    def find_by_timestamp(self, timestamp: int, log_start_offset: int) -> TimestampOffset | None:
        """Return the first record from `log_start_offset` on whose timestamp is `timestamp` or
        later.

        Return None if there is no such record. Takes two binary searches and a walk over some
        batches.
        """
        for segment in self._segments:
            if segment.max_timestamp_so_far >= timestamp:
                found = segment.find_offset_by_timestamp(timestamp, log_start_offset)
                if found is not None:
                    return found
        return None
