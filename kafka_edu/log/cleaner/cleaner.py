"""One cleaning pass over the closed segments of a log (Kafka: Cleaner in LogCleaner.scala).

    1. Read the dirty part. Record in the offset map at which offset each key's last record is.
    2. Put neighbouring segments into groups. Each group must fit into one segment.
    3. Copy each group into a segment `.cleaned`, without the records that are no longer needed.

The caller then replaces the old segments with the cleaned ones. The segments that a pass reads are
not written to any more, so the pass may run in another process. If that process is killed,
`.cleaned` files remain, and the broker removes these files at its next start. The pass blocks.
O(bytes of the log).
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from kafka_edu.common.errors import KafkaException
from kafka_edu.common.files import Buffer, FileSystem
from kafka_edu.log.abstract_index import CorruptIndexError
from kafka_edu.log.cleaner.batch_filter import (
    Fate,
    fate_of,
    with_records,
    with_rows,
    without_records,
)
from kafka_edu.log.cleaner.clean_job import CleanedGroup, CleanJob, CleanResult, Lost
from kafka_edu.log.cleaner.cleaned_transactions import CleanedTransactions
from kafka_edu.log.cleaner.offset_map import SLOT_BYTES, OffsetMap
from kafka_edu.log.cleaner.record_rows import RecordRows, rows_of_batches, rows_of_records
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
from kafka_edu.record.record_batch import (
    COMPRESSION_MASK,
    MAGIC_V2,
    NO_PRODUCER_ID,
    BatchHeader,
    check_crc,
    iter_headers,
)

Batch = tuple[BatchHeader, Buffer]
PIECE_BYTES: Final = 1 << 20
"""The bytes of batches that are decoded together. A compressed byte counts as eight.

A piece of 1 MiB and its decoded form fit into the processor's cache. With smaller pieces, the fixed
cost of each call of numpy would matter.
"""
COMPRESSED_WEIGHT: Final = 8
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
    """Do nothing, so the cleaner reads and writes at full speed."""


class Cleaner:
    """Carries out one cleaning job. `clean` is called once.

    The function `took` is called with the number of bytes of each read or write. `Throttle.took`
    sleeps if the bytes are too many for the elapsed time. `no_throttle` does nothing; it is used
    where time is virtual.
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

        If this method raises OSError, the old segments are unchanged, and the unfinished new
        segments are removed.
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

    def _pieces(self, base: int) -> Iterator[list[Batch]]:
        """Yield the batches of a segment in lists of one or more batches, each batch as (header,
        bytes).

        Raises CorruptRecordError.
        """
        file = self._file_system.open(
            segment_file(self._job.directory, base, LOG_SUFFIX), create=False
        )
        try:
            piece: list[Batch] = []
            weight = 0
            for _, header, batch in iter_file_batches(file, 0, file.size()):
                check_crc(batch, header)
                self._took(header.size_in_bytes)
                piece.append((header, batch))
                compressed = header.attributes & COMPRESSION_MASK
                weight += header.size_in_bytes * (COMPRESSED_WEIGHT if compressed else 1)
                if weight >= PIECE_BYTES:
                    yield piece
                    piece, weight = [], 0
            if piece:
                yield piece
        finally:
            file.close()

    def _offset_map(self) -> OffsetMap:
        """Return the offset map with the keys of the log's dirty part.

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
            for piece in self._pieces(segment.base):
                plain = [one for one in piece if self._is_plain(one, transactions)]
                for rows, batches in _rows_of(plain):
                    cut = self._put(rows, offsets, most)
                    if cut is not None:
                        before = batches[cut][0].base_offset - 1
                        offsets.latest_offset = max(offsets.latest_offset, before)
                        return offsets
                last = max(header.last_offset for header, _ in piece)
                offsets.latest_offset = max(offsets.latest_offset, last)
            offsets.latest_offset = max(offsets.latest_offset, self._end_of(index) - 1)
        return offsets

    @staticmethod
    def _is_plain(one: Batch, transactions: CleanedTransactions) -> bool:
        """Process a batch. Return False for a control batch, and for a batch of an aborted
        transaction.
        """
        header, batch = one
        if header.is_control:
            transactions.is_over(header, batch)
            return False
        return not transactions.is_aborted(header)

    def _put(self, rows: RecordRows, offsets: OffsetMap, most: int) -> int | None:
        """Put the keys of dirty records into the map.

        Return the index of the batch at which the map became full; None if the map took all keys.
        """
        keyed = rows.offset[rows.has_key]
        dirty = keyed >= self._job.first_dirty
        taken = offsets.put(rows.digests.take(dirty), keyed[dirty], most)
        if taken == len(keyed[dirty]):
            return None
        cut = int(np.flatnonzero(rows.has_key)[dirty][taken])
        return next(number for number, one in enumerate(rows.batches) if cut < one.stop)

    def _delete_horizon_ms(self) -> int:
        """Return the time limit for dropping tombstones, in ms.

        Only segments whose last write was before this time lose their tombstones. The limit lies
        delete.retention.ms before the last write of the newest segment that was already clean.
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
                for piece in self._pieces(segment.base):
                    for kept, gone, records in self._filtered(
                        piece, offsets, transactions, keeps=keeps
                    ):
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

    def _append(self, cleaned: LogSegment, batch: Buffer) -> None:
        for at, header in iter_headers(batch):
            piece = batch[at : at + header.size_in_bytes]
            cleaned.append((piece,), header.base_offset, header.last_offset, header.max_timestamp)
            self._took(len(piece))

    def _filtered(
        self,
        piece: Sequence[Batch],
        offsets: OffsetMap,
        transactions: CleanedTransactions,
        *,
        keeps: bool,
    ) -> Iterator[tuple[Buffer, Lost, int]]:
        """Yield for each batch (bytes that stay, dropped records by reason, number of records in
        the batch).

        The bytes are empty if no part of the batch stays. `keeps` is true if the tombstones and
        markers are too young to be dropped.
        """
        decided: dict[int, tuple[Buffer, Lost, int]] = {}
        plain: list[Batch] = []
        for number, (header, batch) in enumerate(piece):
            if header.is_control:
                over = transactions.is_over(header, batch) and not keeps
                count = max(header.records_count, 0)
                decided[number] = (
                    (self._emptied(header), Lost(markers=count), count)
                    if over
                    else (batch, Lost(), count)
                )
            elif transactions.is_aborted(header):
                count = _count(header, batch)
                decided[number] = self._emptied(header), Lost(aborted=count), count
            else:
                plain.append((header, batch))
        rest = (
            self._without_gone(one, rows, fate, number)
            for rows, batches in _rows_of(plain)
            for fate in [self._fate(rows, offsets, keeps)]
            for number, one in enumerate(batches)
        )
        for number in range(len(piece)):
            yield decided[number] if number in decided else next(rest)

    def _fate(self, rows: RecordRows, offsets: OffsetMap, keeps: bool) -> Fate:
        """Decide about the records of data batches. With `keeps`, their tombstones must stay."""
        return fate_of(rows, offsets, keeps_tombstones=keeps)

    def _without_gone(
        self, one: Batch, rows: RecordRows, fate: Fate, number: int
    ) -> tuple[Buffer, Lost, int]:
        """Return (bytes that stay, dropped records by reason, number of records in the batch)."""
        header, batch = one
        own = rows.batches[number]
        count = own.stop - own.start
        kept = np.flatnonzero(fate.stays[own])
        if len(kept) == count:
            return (batch if count else self._emptied(header)), Lost(), count
        gone = Lost(
            superseded=int(np.count_nonzero(fate.superseded[own])),
            tombstones=int(np.count_nonzero(fate.tombstone[own])),
            without_key=int(np.count_nonzero(fate.without_key[own])),
        )
        if not len(kept):
            return self._emptied(header), gone, count
        if header.magic == MAGIC_V2:
            return with_rows(header, rows, kept + own.start), gone, count
        records = read_entry(batch)
        return with_records(header, [records[at] for at in kept]), gone, count

    def _emptied(self, header: BatchHeader) -> bytes:
        """Return the batch without its records if the broker still needs its header; otherwise b"".

        The header is needed if this is the last batch of a producer that the log still remembers:
        it has the producer's sequence numbers, or the epoch of a marker.
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


def _count(header: BatchHeader, batch: Buffer) -> int:
    """Return the number of records of a batch in any format."""
    return header.records_count if header.magic == MAGIC_V2 else len(read_entry(batch))


def _rows_of(batches: Sequence[Batch]) -> Iterator[tuple[RecordRows, Sequence[Batch]]]:
    """Yield rows together with their batches: consecutive v2 batches at once, and entries of an
    older format one by one.
    """
    run: list[Batch] = []
    for one in batches:
        header, entry = one
        if header.magic == MAGIC_V2:
            run.append(one)
            continue
        if run:
            yield rows_of_batches(run), run
            run = []
        yield rows_of_records(read_entry(entry)), [one]
    if run:
        yield rows_of_batches(run), run
