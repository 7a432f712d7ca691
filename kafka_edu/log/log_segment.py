"""One segment of a log: a file of batches and its indexes (Kafka: LogSegment.scala; seed 004; spec
S1, S2).

Only the last segment of a log is written to. A batch gets an index entry if it begins more than
`index_interval_bytes` after the batch of the last entry. Recovery after a crash follows the same
rule, so it builds the same index file.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Final

from kafka_edu.common.files import Buffer, FileSystem
from kafka_edu.common.transport import FileRegion
from kafka_edu.log.abstract_index import CorruptIndexError
from kafka_edu.log.fetch_data_info import FetchDataInfo, TimestampOffset
from kafka_edu.log.index_checks import (
    find,
    offset_index_damage,
    time_index_damage,
    transaction_index_damage,
)
from kafka_edu.log.log_file_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    segment_file,
)
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.log.offset_index import OffsetIndex
from kafka_edu.log.time_index import TimeIndex
from kafka_edu.log.transaction_index import TransactionIndex
from kafka_edu.record.file_records import iter_file_batches, iter_file_headers, read_batch
from kafka_edu.record.memory_records import read_entry
from kafka_edu.record.record_batch import (
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptRecordError,
    check_crc,
)

MAX_RELATIVE_OFFSET: Final = 2**31 - 1
_POSITIONS_KEPT: Final = 512


class LogSegment:
    """The batches of a log from `base_offset` on, up to the next segment. Owned by its Log.

    `_positions` remembers where the last 512 batches begin. Most readers read at the end of the
    log. For them the position is found without the index and without the file. Next hop of an
    append: the file system, then OffsetIndex and TimeIndex.
    """

    __slots__ = (
        "_file_system",
        "_index_interval_bytes",
        "_last_index_position",
        "_positions",
        "_rolling_based_timestamp",
        "base_offset",
        "created_ms",
        "directory",
        "log",
        "max_timestamp_so_far",
        "offset_index",
        "offset_of_max_timestamp_so_far",
        "suffix",
        "time_index",
        "txn_index",
    )

    def __init__(
        self,
        file_system: FileSystem,
        directory: str,
        base_offset: int,
        index_interval_bytes: int,
        now_ms: int,
        suffix: str = "",
    ) -> None:
        self._file_system = file_system
        self.directory = directory
        self.base_offset = base_offset
        self.suffix = suffix
        """The suffix of the file names: `.deleted` before the files are removed, `.cleaned` and
        then `.swap` for a compacted segment that has not replaced the old segments yet; otherwise
        empty.
        """
        self._index_interval_bytes = index_interval_bytes
        self.created_ms = now_ms
        self.log = file_system.open(self._path(LOG_SUFFIX))
        self.offset_index = OffsetIndex(file_system, self._path(INDEX_SUFFIX), base_offset)
        self.time_index = TimeIndex(file_system, self._path(TIME_INDEX_SUFFIX), base_offset)
        self.txn_index = TransactionIndex(file_system, self._path(TXN_INDEX_SUFFIX), base_offset)
        self.max_timestamp_so_far = NO_TIMESTAMP
        self.offset_of_max_timestamp_so_far = base_offset
        self._last_index_position = 0
        self._rolling_based_timestamp: int | None = None
        self._positions: dict[int, int] = {}

    def _path(self, suffix: str) -> str:
        return segment_file(self.directory, self.base_offset, suffix) + self.suffix

    @property
    def size(self) -> int:
        """Return the number of bytes of its batches."""
        return self.log.size()

    def begin(self, max_index_bytes: int) -> None:
        """Become the active segment. The index files get the full length that they may need."""
        self.offset_index.resize(max_index_bytes)
        self.time_index.resize(max_index_bytes)

    def load(self) -> None:
        """Load the indexes. Raises CorruptIndexError if one is missing or impossible."""
        for index in (self.offset_index, self.time_index):
            if not self._file_system.exists(index.path):
                raise CorruptIndexError(f"{index.path} is missing")
            index.sanity_check()
        self.txn_index.sanity_check()
        self._last_index_position = self.offset_index.last_position
        if self._points_behind_end():
            raise CorruptIndexError(f"{self.offset_index.path} points past the end of its log")
        for path, damage in self._contradictions():
            raise CorruptIndexError(f"{path}: {damage}")
        self.max_timestamp_so_far, self.offset_of_max_timestamp_so_far = self.time_index.last_entry

    def can_convert_to_relative_offset(self, offset: int) -> bool:
        return 0 <= offset - self.base_offset <= MAX_RELATIVE_OFFSET

    def should_roll(
        self,
        size: int,
        max_timestamp: int,
        last_offset: int,
        now_ms: int,
        segment_bytes: int,
        segment_ms: int,
    ) -> str | None:
        """Return why this segment cannot take `size` more bytes; None if it can.

        The four conditions of seed 004 are checked, in Kafka's order.
        """
        mine = self.log.size()
        if mine > segment_bytes - size:
            return "size"
        if mine > 0 and self._time_waited_for_roll(max_timestamp, now_ms) > segment_ms:
            return "time"
        if self.offset_index.entries >= self.offset_index.max_entries or self.time_index.is_full:
            return "index full"
        if not 0 <= last_offset - self.base_offset <= MAX_RELATIVE_OFFSET:
            return "offset range"
        return None

    def _time_waited_for_roll(self, max_timestamp: int, now_ms: int) -> int:
        """Return how long the segment has waited for its roll, in ms.

        If the records have timestamps, the result is the time from the first batch to
        `max_timestamp`. So if old records are copied into a log again, its segments roll as they
        did when the records were new. If the records have no timestamps, the result is the time
        since the segment was created.
        """
        first = self._rolling_based_timestamp
        if first is None:
            first = next(
                (h.max_timestamp for _, h in iter_file_headers(self.log, 0, self.size)),
                NO_TIMESTAMP,
            )
            self._rolling_based_timestamp = first
        return max_timestamp - first if first >= 0 else now_ms - self.created_ms

    def rolls_at_ms(self, segment_ms: int) -> int:
        """Return the time of the first record that would make the segment roll, in ms since 1970;
        -1 if it is empty. May read one batch header. Raises OSError.
        """
        if self.size == 0:
            return -1
        waited = self._time_waited_for_roll(0, 0)
        return segment_ms + 1 - waited

    def append(
        self, parts: Sequence[Buffer], base_offset: int, last_offset: int, max_timestamp: int
    ) -> int:
        """Write one batch, given in parts, in one call. Return its position in the file.

        If it raises OSError, nothing was appended.
        """
        position = self._write(parts)
        try:
            self._note(base_offset, last_offset, position, max_timestamp)
        except OSError:  # the disk has no room for the index
            self._cut_back(position)
            raise
        return position

    def append_batches(self, data: Buffer, batches: Sequence[tuple[int, BatchHeader]]) -> int:
        """Write several batches, which follow each other in `data`, in one call. Return the
        position of the first batch.
        """
        position = self._write((data,))
        try:
            for at, header in batches:
                self._note(
                    header.base_offset,
                    header.base_offset + header.last_offset_delta,
                    position + at,
                    header.max_timestamp,
                )
        except OSError:
            self._cut_back(position)
            raise
        return position

    def _write(self, parts: Sequence[Buffer]) -> int:
        before = self.log.size()
        try:
            return self.log.append(parts)
        except OSError:
            self._cut_back(before)
            raise

    def _cut_back(self, size: int) -> None:
        """Cut off the part of an append that was written before the disk was full.

        If this fails too, the log's next recovery cuts the part off.
        """
        with contextlib.suppress(OSError):
            self.log.truncate(size)

    def _note(self, base_offset: int, last_offset: int, position: int, max_timestamp: int) -> None:
        """Update the positions and indexes for one batch in the file.

        Takes about 0.4 µs if no index entry is added.
        """
        if max_timestamp > self.max_timestamp_so_far:
            self.max_timestamp_so_far = max_timestamp
            self.offset_of_max_timestamp_so_far = last_offset
        if self._rolling_based_timestamp is None and position == 0:
            self._rolling_based_timestamp = max_timestamp
        if (
            position - self._last_index_position > self._index_interval_bytes
            and not self.offset_index.is_full
        ):
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(
                self.max_timestamp_so_far, self.offset_of_max_timestamp_so_far
            )
            self._last_index_position = position
        positions = self._positions
        positions[base_offset] = position
        if len(positions) > _POSITIONS_KEPT:
            del positions[next(iter(positions))]

    def position_of(self, offset: int) -> int | None:
        """Return the position of the batch that contains `offset`, or of the next batch after it.

        Return None if this segment has no such batch. Takes O(log index entries), and reads a few
        batch headers.
        """
        position = self._positions.get(offset)
        if position is not None:
            return position
        found = self._find(offset)
        return None if found is None else found[0]

    def _find(self, offset: int) -> tuple[int, BatchHeader] | None:
        return find(self.log, self.offset_index, offset)

    def read(
        self, start_offset: int, max_size: int, max_position: int, min_one_message: bool
    ) -> FetchDataInfo | None:
        """Return the part of the file that begins with the batch containing `start_offset`.

        The part ends before `max_position` and has at most `max_size` bytes. Return None if there
        is nothing to read. With `min_one_message` the first batch is never cut off, however large
        it is. At most one header is read. The result is a FileRegion, which the network layer sends
        with sendfile.
        """
        start = self._positions.get(start_offset)
        if start is None:
            found = self._find(start_offset)
            if found is None:
                return None
            start = found[0]
        return self.read_at(start, start_offset, max_size, max_position, min_one_message)

    def remembers(self, offset: int) -> bool:
        """Return whether a read at `offset` needs neither the index nor the file to find its
        batch.
        """
        return offset in self._positions

    def read_at(
        self,
        start: int,
        start_offset: int,
        max_size: int,
        max_position: int,
        min_one_message: bool,
    ) -> FetchDataInfo:
        """Return the part of the file that begins at the byte `start`. The limits are those of
        `read`.
        """
        available = max_position - start
        if available <= 0:
            return FetchDataInfo(LogOffsetMetadata(start_offset, self.base_offset, start), b"")
        incomplete = False
        length = available
        if available > max_size:
            length = max_size
            first = int.from_bytes(self.log.pread(4, start + 8), "big") + LOG_OVERHEAD
            if first > max_size:
                incomplete = not min_one_message
                length = min(first, available) if min_one_message else max_size
        where = LogOffsetMetadata(start_offset, self.base_offset, start)
        if length == 0:
            return FetchDataInfo(where, b"", incomplete)
        return FetchDataInfo(where, FileRegion(self.log, start, length), incomplete)

    def next_offset(self) -> int:
        """Return the offset after the last batch. Reads the batch headers from the last index entry
        to the end.
        """
        last = self.last_batch()
        return self.base_offset if last is None else last[1].next_offset

    def last_batch(self) -> tuple[int, BatchHeader] | None:
        """Return (position, header) of the last complete batch; None if the segment has no complete
        batch.

        Raises CorruptRecordError at bytes that cannot be the beginning of a batch.
        """
        last = None
        if self.size:
            start = self.offset_index.lookup(2**63 - 1).position
            for found in iter_file_headers(self.log, start, self.size):
                last = found
        return last

    def torn_end(self) -> str:
        """Return what is wrong with the end of the file; "" if it ends with a whole batch.

        Reads the batch headers from the last index entry to the end. Checksums are not checked.
        """
        try:
            last = self.last_batch()
        except CorruptRecordError as error:
            return error.message
        end = last[0] + last[1].size_in_bytes if last is not None else 0
        return "" if end == self.size else f"no whole batch begins at byte {end:,}"

    def header_at(self, offset: int) -> BatchHeader | None:
        """Return the header of the batch that contains `offset`, or of the next batch after it.

        Return None if this segment has no such batch.
        """
        found = self._find(offset)
        return None if found is None else found[1]

    def damaged_indexes(self, *, after_kill: bool) -> list[tuple[str, str]]:
        """Return (path, damage) of each index file whose content is impossible.

        After a kill of the broker, an offset or time index may have its full length, with zeros
        after the last entry. With `after_kill` such an index does not count as damaged.
        """
        found: list[tuple[str, str]] = []
        killed = False
        for index in (self.offset_index, self.time_index):
            if not self._file_system.exists(index.path):
                found.append((index.path, "it is missing"))
            elif after_kill and index.ends_in_zeros():
                killed = True
            else:
                try:
                    index.sanity_check()
                except CorruptIndexError as error:
                    found.append((index.path, _without_path(error, index.path)))
                else:
                    if index is self.offset_index and self._points_behind_end():
                        found.append((index.path, "it points past the end of its log"))
        try:
            self.txn_index.sanity_check()
        except CorruptIndexError as error:
            found.append((self.txn_index.path, _without_path(error, self.txn_index.path)))
        return found if found or killed else self._contradictions()

    def _contradictions(self) -> list[tuple[str, str]]:
        """Return path and damage of the first index that contradicts the batches; none if the log
        is empty.
        """
        if not self.size:
            return []
        log, offsets, times, aborted = self.log, self.offset_index, self.time_index, self.txn_index
        if reason := offset_index_damage(log, offsets):
            return [(offsets.path, reason)]
        if reason := time_index_damage(log, offsets, times):
            return [(times.path, reason)]
        if reason := transaction_index_damage(log, offsets, aborted):
            return [(aborted.path, reason)]
        return []

    def _points_behind_end(self) -> bool:
        return not 0 <= self.offset_index.last_position < max(self.size, 1)

    def indexed_behind_end(self) -> int:
        """Return the end offset of the records that a killed broker has indexed, if the log lacks
        some of them.

        It is the offset after the last indexed record; -1 if the log has all indexed records.
        """
        entry = self.offset_index.before_zeros()
        return entry.offset + 1 if entry is not None and entry.position >= self.size else -1

    def find_offset_by_timestamp(
        self, timestamp: int, starting_offset: int
    ) -> TimestampOffset | None:
        """Return the first record at or after `starting_offset` whose timestamp is `timestamp` or
        later.

        Takes two binary searches and a walk over some batches.
        """
        from_offset = max(self.time_index.lookup(timestamp).offset, starting_offset)
        start = self.offset_index.lookup(from_offset).position
        for position, header in iter_file_headers(self.log, start, self.size):
            if header.max_timestamp >= timestamp and header.last_offset >= starting_offset:
                for record in read_entry(read_batch(self.log, position, header)):
                    if record.timestamp >= timestamp and record.offset >= starting_offset:
                        return TimestampOffset(
                            record.timestamp, record.offset, header.partition_leader_epoch
                        )
        return None

    @property
    def largest_timestamp(self) -> int:
        """Return the largest timestamp of the records, for retention.

        Records of message format v0 have no timestamps. For such records the result is the time of
        the last write.
        """
        return (
            self.max_timestamp_so_far
            if self.max_timestamp_so_far >= 0
            else self._file_system.modified_ms(self._path(LOG_SUFFIX))
        )

    def recover(
        self,
        max_index_bytes: int,
        on_batch: Callable[[BatchHeader, memoryview], None],
        following: int | None = None,
    ) -> tuple[int, str]:
        """Check every batch, call `on_batch` for each valid batch, and cut off everything after the
        last valid batch.

        `following` is the base offset of the next segment: no batch reaches into it. Returns how
        many bytes were cut off, and in words what was wrong with them ("" if nothing was cut off).
        """
        for index in (self.offset_index, self.time_index):
            index.resize(max_index_bytes)
        self.offset_index.truncate()
        self.time_index.truncate()
        self.txn_index.reset()
        self.max_timestamp_so_far, self.offset_of_max_timestamp_so_far = (
            NO_TIMESTAMP,
            self.base_offset,
        )
        self._last_index_position = valid = 0
        self._rolling_based_timestamp = None
        self._positions.clear()
        reason = "the last batch is incomplete"
        next_offset = self.base_offset
        size = self.size
        try:
            for position, header, batch in iter_file_batches(self.log, 0, size):
                check_crc(batch, header)
                if (
                    header.base_offset < next_offset
                    or header.last_offset_delta < 0
                    or not self.can_convert_to_relative_offset(header.last_offset)
                    or (following is not None and header.last_offset >= following)
                ):
                    raise CorruptRecordError(
                        f"offsets {header.base_offset} to {header.last_offset} where {next_offset}"
                        " is due"
                    )
                self._note(header.base_offset, header.last_offset, position, header.max_timestamp)
                on_batch(header, batch)
                next_offset = header.next_offset
                valid = position + header.size_in_bytes
        except CorruptRecordError as error:
            reason = error.message
        if valid < size:
            self.log.truncate(valid)
        return (size - valid, f"at byte {valid:,}: {reason}") if valid < size else (0, "")

    def truncate_to(self, offset: int, max_index_bytes: int, now_ms: int) -> int:
        """Cut off the batch that contains `offset` and all later batches. Return the number of
        bytes cut off.

        The segment is active afterwards.
        """
        position = self.position_of(offset)
        before = self.size
        if position is not None:
            self.log.truncate(position)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.txn_index.truncate_to(offset)
        self.begin(max_index_bytes)
        self._last_index_position = self.offset_index.last_position
        self._positions.clear()
        if self.size == 0:
            self.created_ms = now_ms
            self._rolling_based_timestamp = None
        self._reload_largest_timestamp()
        return before - self.size

    def _reload_largest_timestamp(self) -> None:
        timestamp, offset = self.time_index.last_entry
        for _, header in iter_file_headers(
            self.log, self.offset_index.lookup(offset).position, self.size
        ):
            if header.max_timestamp > timestamp:
                timestamp, offset = header.max_timestamp, header.last_offset
        self.max_timestamp_so_far, self.offset_of_max_timestamp_so_far = timestamp, offset

    def on_become_inactive(self) -> None:
        """Write the last entry of the time index, and cut off the unused ends of both index files,
        because the segment is not active any more.
        """
        self.time_index.maybe_append(
            self.max_timestamp_so_far, self.offset_of_max_timestamp_so_far, last=True
        )
        self.offset_index.trim_to_valid_size()
        self.time_index.trim_to_valid_size()

    def flush(self) -> None:
        """Force batches and indexes to the disk. May block.

        A worker may do this while the loop appends.
        """
        self.log.flush()
        self.offset_index.flush()
        self.time_index.flush()
        self.txn_index.flush()

    def close(self) -> None:
        """Write the last entry of the time index, cut off the unused ends of both index files, and
        close all files.
        """
        self.time_index.load()
        self.time_index.maybe_append(
            self.max_timestamp_so_far, self.offset_of_max_timestamp_so_far, last=True
        )
        self.offset_index.close()
        self.time_index.close()
        self.txn_index.close()
        self.log.close()

    def release_indexes(self) -> None:
        """Unmap the indexes without cutting them.

        The file of batches stays open, because a response that is being sent may still read from
        it.
        """
        self.offset_index.release()
        self.time_index.release()
        self.txn_index.close()

    def close_handlers(self) -> None:
        """Close the files without writing, because the disk has failed or they will be removed."""
        self.release_indexes()
        self.log.close()

    def files(self) -> list[str]:
        """Return the paths of all files that this segment may have, whether they exist or not."""
        return [self._path(suffix) for suffix in (*SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX)]

    def change_suffix(self, suffix: str) -> None:
        """Rename the files so that they end with `suffix`, for example `.deleted`.

        Readers that have opened the file can still read it.
        """
        before = self.files()
        self.suffix = suffix
        for old, new in zip(before, self.files(), strict=True):
            if self._file_system.exists(old):
                self._file_system.rename(old, new)
        self._note_paths()

    def moved_to(self, directory: str) -> None:
        """Record that the folder of this segment's files has a different name now. Open files stay
        open.
        """
        self.directory = directory
        self.log.path = self._path(LOG_SUFFIX)
        self._note_paths()

    def _note_paths(self) -> None:
        self.offset_index.path = self._path(INDEX_SUFFIX)
        self.time_index.path = self._path(TIME_INDEX_SUFFIX)
        self.txn_index.path = self._path(TXN_INDEX_SUFFIX)

    def delete(self) -> None:
        """Close and remove the files. Call this method in a worker, because it may block."""
        self.close_handlers()
        for path in self.files():
            self._file_system.remove(path)


def _without_path(error: CorruptIndexError, path: str) -> str:
    """Return the text of the error without the path at its beginning."""
    return str(error).removeprefix(path).lstrip(": ")
