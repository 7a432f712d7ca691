"""One cleaning pass over the closed segments of a log (Kafka: Cleaner in LogCleaner.scala).

    1. Read the dirty part. Note in the offset map at which offset each key's last record is.
    2. Put neighbouring segments into groups. Each group must fit into one segment.
    3. Copy each group into a segment `.cleaned`, without the records that are no longer needed.

The caller then replaces the old segments by the cleaned ones. The segments that a pass reads are
not written to any more, so the pass may run in another process. If it is killed, `.cleaned` files
remain, which the next start removes. The pass blocks. O(bytes of the log).
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.errors import KafkaException
from kafka_edu.common.files import FileSystem
from kafka_edu.log.abstract_index import CorruptIndexError
from kafka_edu.log.cleaner.batch_filter import stays, with_records, without_records
from kafka_edu.log.cleaner.clean_job import CleanedGroup, CleanJob, CleanResult, Lost
from kafka_edu.log.cleaner.cleaned_transactions import CleanedTransactions
from kafka_edu.log.cleaner.offset_map import SLOT_BYTES, OffsetMap
from kafka_edu.log.log_file_names import (
    CLEANED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    segment_file,
)
from kafka_edu.log.log_segment import MAX_RELATIVE_OFFSET, LogSegment
from kafka_edu.log.transaction_index import AbortedTxn, decode_aborted
from kafka_edu.record.file_records import iter_file_batches
from kafka_edu.record.memory_records import read_entry
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import (
    MAGIC_V2,
    NO_PRODUCER_ID,
    BatchHeader,
    check_crc,
    iter_headers,
)

NO_DATA: Final = -1
"""Used instead of an offset for a producer whose last entry in the log is a marker."""


class _Segment(NamedTuple):
    base: int
    size: int
    index_size: int
    time_index_size: int
    modified_ms: int


class Throttle:
    """Limits the bytes read and written per second (log.cleaner.io.max.bytes.per.second)."""

    def __init__(
        self,
        bytes_per_second: float,
        clock_s: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._rate = bytes_per_second
        self._clock_s, self._sleep = clock_s, sleep
        self._began_s = clock_s()
        self._bytes = 0

    def took(self, count: int) -> None:
        """Count bytes that were read or written. Sleep if there were too many for the elapsed
        time.
        """
        self._bytes += count
        ahead_s = self._bytes / self._rate - (self._clock_s() - self._began_s)
        if ahead_s > 0:
            self._sleep(ahead_s)


def no_throttle(count: int) -> None:
    """Do nothing: this cleaner reads and writes as fast as it can."""


class Cleaner:
    """Carries out one cleaning job. `clean` is called once.

    `took` is called with each number of bytes that were read or written. It may sleep
    (`Throttle.took`) or do nothing (`no_throttle`, where time is virtual).
    """

    def __init__(self, job: CleanJob, file_system: FileSystem, took: Callable[[int], None]) -> None:
        self._job = job
        self._file_system = file_system
        self._took = took
        self._segments = [self._look_at(base) for base in job.bases]
        self._aborted: list[AbortedTxn] = []
        self._last_of = {producer: (epoch, last) for producer, epoch, last in job.last_of_producers}

    def clean(self) -> CleanResult:
        """Clean the segments, and return the result.

        If it raises OSError, the old segments are unchanged, and the unfinished new ones are
        removed.
        """
        self._remove_cleaned()  # an interrupted pass may have left some files
        try:
            self._aborted = self._aborted_transactions()
            offsets = self._offset_map()
            horizon_ms = self._delete_horizon_ms()
            transactions = CleanedTransactions()
            end = offsets.latest_offset + 1
            chosen = [one for one in self._segments if one.base < end]
            groups = [
                self._clean_group(group, offsets, horizon_ms, transactions)
                for group in self._grouped(chosen)
            ]
        except (KafkaException, CorruptIndexError) as error:
            self._remove_cleaned()
            return CleanResult(self._job.first_dirty, (), 0, str(error))
        except BaseException:
            self._remove_cleaned()
            raise
        return CleanResult(max(end, self._job.first_dirty), tuple(groups), offsets.entries)

    def _remove_cleaned(self) -> None:
        for base in self._job.bases:
            for suffix in SEGMENT_SUFFIXES:
                with contextlib.suppress(OSError):
                    self._file_system.remove(
                        segment_file(self._job.directory, base, suffix) + CLEANED_SUFFIX
                    )

    def _look_at(self, base: int) -> _Segment:
        path = segment_file(self._job.directory, base, LOG_SUFFIX)
        return _Segment(
            base,
            self._size(base, LOG_SUFFIX),
            self._size(base, INDEX_SUFFIX),
            self._size(base, TIME_INDEX_SUFFIX),
            self._file_system.modified_ms(path),
        )

    def _size(self, base: int, suffix: str) -> int:
        path = segment_file(self._job.directory, base, suffix)
        if suffix != LOG_SUFFIX and not self._file_system.exists(path):
            return 0
        file = self._file_system.open(path, create=False)
        try:
            return file.size()
        finally:
            file.close()

    def _aborted_transactions(self) -> list[AbortedTxn]:
        found: list[AbortedTxn] = []
        for base in (*self._job.bases, *self._job.later_bases):
            path = segment_file(self._job.directory, base, TXN_INDEX_SUFFIX)
            if self._file_system.exists(path):
                found += decode_aborted(path, self._file_system.read(path))
        return found

    def _end_of(self, index: int) -> int:
        following = self._segments[index + 1 : index + 2]
        return following[0].base if following else self._job.first_uncleanable

    def _batches(self, base: int) -> Iterator[tuple[BatchHeader, bytes]]:
        """Yield (header, bytes) of each batch of a segment. Raises CorruptRecordError."""
        file = self._file_system.open(
            segment_file(self._job.directory, base, LOG_SUFFIX), create=False
        )
        try:
            for _, header, batch in iter_file_batches(file, 0, file.size()):
                check_crc(batch, header)
                self._took(header.size_in_bytes)
                yield header, bytes(batch)
        finally:
            file.close()

    def _offset_map(self) -> OffsetMap:
        """Return the map of the keys of the dirty part.

        If the map becomes full in the middle of a segment, the pass cleans only up to that offset,
        as in Kafka.
        """
        job = self._job
        dirty = max(job.first_uncleanable - job.first_dirty, 0)
        wanted = int(dirty / job.load_factor) + 2
        offsets = OffsetMap(min(job.map_bytes, wanted * SLOT_BYTES))
        most = max(int(offsets.slots * job.load_factor), 1)
        offsets.latest_offset = job.first_dirty - 1
        transactions = CleanedTransactions()
        transactions.add(self._aborted)
        for index, segment in enumerate(self._segments):
            if self._end_of(index) <= job.first_dirty:
                continue
            for header, batch in self._batches(segment.base):
                if header.is_control:
                    transactions.is_over(header, batch)
                elif not transactions.is_aborted(header):
                    for record in read_entry(batch):
                        if record.key is not None and record.offset >= job.first_dirty:
                            if offsets.entries >= most or offsets.is_full:
                                return offsets
                            offsets.put(record.key, record.offset)
                offsets.latest_offset = max(offsets.latest_offset, header.last_offset)
            offsets.latest_offset = max(offsets.latest_offset, self._end_of(index) - 1)
        return offsets

    def _delete_horizon_ms(self) -> int:
        """Return the time before which a segment must have been last written if its tombstones may
        go.

        It lies delete.retention.ms before the last write of the newest segment that was already
        clean.
        """
        clean = [one for one in self._segments if one.base < self._job.first_dirty]
        return clean[-1].modified_ms - self._job.delete_retention_ms if clean else 0

    def _grouped(self, segments: Sequence[_Segment]) -> Iterator[list[_Segment]]:
        """Yield groups of neighbouring segments, each of which fits into one segment.

        The limits are the bytes of batches, the bytes of each index, and the range of offsets.
        """
        job = self._job
        group: list[_Segment] = []
        for index, one in enumerate(segments):
            fits = (
                sum(each.size for each in group) + one.size <= job.segment_bytes
                and sum(each.index_size for each in group) + one.index_size
                <= job.segment_index_bytes
                and sum(each.time_index_size for each in group) + one.time_index_size
                <= job.segment_index_bytes
                and self._end_of(index) - 1 - (group[0].base if group else one.base)
                <= MAX_RELATIVE_OFFSET
            )
            if group and not fits:
                yield group
                group = []
            group.append(one)
        if group:
            yield group

    def _clean_group(
        self,
        group: Sequence[_Segment],
        offsets: OffsetMap,
        horizon_ms: int,
        transactions: CleanedTransactions,
    ) -> CleanedGroup:
        job = self._job
        cleaned = LogSegment(
            self._file_system,
            job.directory,
            group[0].base,
            job.index_interval_bytes,
            group[-1].modified_ms,
            CLEANED_SUFFIX,
        )
        try:
            cleaned.begin(job.segment_index_bytes)
            lost, before = Lost(), 0
            for segment in group:
                keeps = segment.modified_ms > horizon_ms
                transactions.add(one for one in self._aborted if one.last_offset >= segment.base)
                for header, batch in self._batches(segment.base):
                    kept, gone, records = self._filtered(
                        header, batch, offsets, transactions, keeps=keeps
                    )
                    before += records
                    lost = Lost(*(a + b for a, b in zip(lost, gone, strict=True)))
                    if kept:
                        self._append(cleaned, kept)
            for one in transactions.take_kept():
                cleaned.txn_index.append(one)
            cleaned.on_become_inactive()
            cleaned.flush()
            after = cleaned.size
        finally:
            cleaned.close_handlers()
        path = segment_file(job.directory, group[0].base, LOG_SUFFIX) + CLEANED_SUFFIX
        self._file_system.set_modified_ms(path, group[-1].modified_ms)
        return CleanedGroup(
            tuple(one.base for one in group), sum(one.size for one in group), after, before, lost
        )

    def _append(self, cleaned: LogSegment, batch: bytes) -> None:
        for at, header in iter_headers(batch):
            piece = batch[at : at + header.size_in_bytes]
            cleaned.append((piece,), header.base_offset, header.last_offset, header.max_timestamp)
            self._took(len(piece))

    def _filtered(
        self,
        header: BatchHeader,
        batch: bytes,
        offsets: OffsetMap,
        transactions: CleanedTransactions,
        *,
        keeps: bool,
    ) -> tuple[bytes, Lost, int]:
        """Return (kept bytes of the batch, records lost by reason, number of records before).

        The bytes are empty if nothing is kept.
        """
        if header.is_control:
            over = transactions.is_over(header, batch) and not keeps
            count = max(header.records_count, 0)
            if not over:
                return batch, Lost(), count
            return self._emptied(header), Lost(markers=count), count
        records = read_entry(batch)
        if transactions.is_aborted(header):
            return self._emptied(header), Lost(aborted=len(records)), len(records)
        kept: list[Record] = []
        lost = [0, 0, 0]
        for record in records:
            if stays(record, offsets, keeps_tombstones=keeps):
                kept.append(record)
            elif record.key is None:
                lost[2] += 1
            else:
                lost[record.offset >= offsets.get(record.key)] += 1
        gone = Lost(superseded=lost[0], tombstones=lost[1], without_key=lost[2])
        if records and len(kept) == len(records):
            return batch, gone, len(records)
        return (
            with_records(header, kept) if kept else self._emptied(header),
            gone,
            len(records),
        )

    def _emptied(self, header: BatchHeader) -> bytes:
        """Return the batch without its records if it is the last batch of a producer in the log's
        state.

        Such a batch is needed for its sequence numbers, or for the epoch of a marker. For any other
        batch the result is empty.
        """
        if header.magic != MAGIC_V2 or header.producer_id == NO_PRODUCER_ID:
            return b""
        known = self._last_of.get(header.producer_id)
        if known is None:
            return b""
        epoch, last = known
        is_last = (
            header.last_offset == last
            if last != NO_DATA
            else header.is_control and header.producer_epoch == epoch
        )
        return without_records(header) if is_last else b""
