"""Find a record in the files of a broker's log, without the broker. Nothing is written.

The file is mapped into memory. The offset index says where to begin, and the headers of batches are
read from there on. Between two index entries there are about 4 KiB. So even in a segment of 1 GB,
no more than that must be read.
"""

import bisect
import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kafka_edu.instruments.story import Absent, Stored
from kafka_edu.log.log_file_names import INDEX_SUFFIX, LOG_SUFFIX
from kafka_edu.record.memory_records import read_entry
from kafka_edu.record.record_batch import (
    MAGIC_V2,
    BatchHeader,
    CorruptRecordError,
    check_crc,
    iter_headers,
)

_INDEX_ENTRY: Final = struct.Struct(">ii")


def find_stored(log_dir: str, topic: str, partition: int, offset: int) -> Stored | Absent:
    """Return the record in this log, or why it is not there. O(log segments + a few KiB)."""
    folder = Path(log_dir) / f"{topic}-{partition}"
    try:
        segments = sorted(
            (int(path.stem), path)
            for path in folder.iterdir()
            if path.suffix == LOG_SUFFIX and path.stem.isdigit()
        )
    except OSError as error:
        return Absent(f"{folder} cannot be read: {error.strerror}", None, is_known=False)
    if not segments:
        return Absent(f"{folder} holds no segment", log_end=None)
    at = bisect.bisect_right([base for base, _ in segments], offset) - 1
    try:
        end = _end_of(*segments[-1])
        if at < 0:
            first = segments[0][0]
            return Absent(f"it was deleted: the log begins at {first:,}", log_end=end)
        if offset >= end:
            return Absent(f"its log ends at {end:,}", log_end=end)
        return _in_segment(*segments[at], offset, end)
    except (OSError, CorruptRecordError) as error:
        return Absent(f"{folder} cannot be read: {error}", None, is_known=False)


def _end_of(base: int, path: Path) -> int:
    """Return the log end offset: the offset that the next record would get."""
    with _mapped(path) as data:
        for start in (_start_for(path, base, None), 0):
            end = base
            for _, header in iter_headers(data[start:]):
                end = header.next_offset
            if end > base:  # if not, only a torn batch follows the last entry of the index
                return end
        return base


def _in_segment(base: int, path: Path, offset: int, log_end: int) -> Stored | Absent:
    with _mapped(path) as data:
        start = _start_for(path, base, offset)
        for position, header in iter_headers(data[start:]):
            if header.last_offset < offset:
                continue
            at = start + position
            entry = bytes(data[at : at + header.size_in_bytes])
            return _record(path, base, at, header, entry, offset, log_end)
    return Absent("compaction has removed it, or there is a gap", log_end=log_end)


def _record(
    path: Path,
    base: int,
    position: int,
    header: BatchHeader,
    entry: bytes,
    offset: int,
    log_end: int,
) -> Stored | Absent:
    try:
        check_crc(entry, header)
        is_valid = True
    except CorruptRecordError:
        is_valid = False
    found = [one for one in read_entry(entry) if one.offset == offset] if is_valid else []
    if is_valid and not found:
        return Absent("compaction has removed it from its batch", log_end=log_end)
    record = found[0] if found else None
    is_v2 = header.magic == MAGIC_V2
    return Stored(
        file=str(path),
        segment=base,
        position=position,
        size=header.size_in_bytes,
        first_offset=header.base_offset,
        last_offset=header.last_offset,
        records=header.records_count if is_v2 else 1,
        codec=header.compression.name.lower(),
        magic=header.magic,
        leader_epoch=header.partition_leader_epoch if is_v2 else -1,
        producer_id=header.producer_id if is_v2 else -1,
        is_transactional=is_v2 and header.is_transactional,
        is_control=is_v2 and header.is_control,
        is_valid=is_valid,
        timestamp_ms=record.timestamp if record else header.max_timestamp,
        key=_text(record.key) if record else None,
        value_bytes=len(record.value) if record and record.value is not None else None,
        log_end=log_end,
    )


def _text(key: bytes | None) -> str | None:
    """Return a key as text. If its bytes are not text, return them in hexadecimal."""
    if key is None:
        return None
    try:
        text = key.decode("utf-8")
    except UnicodeDecodeError:
        return key.hex()
    return text if text.isprintable() else key.hex()


def _start_for(path: Path, base: int, offset: int | None) -> int:
    """Return a position in the file at or before the batch of `offset`, from the offset index.

    `offset` None means: the last position in the index. Without an index the position is 0.
    """
    try:
        data = path.with_suffix(INDEX_SUFFIX).read_bytes()
    except OSError:
        return 0
    best, size = 0, os.stat(path).st_size
    for relative, position in _INDEX_ENTRY.iter_unpack(data[: len(data) // 8 * 8]):
        if position >= size or (relative, position) == (0, 0):
            break  # the index file of an active segment has zeros after its entries
        if offset is not None and base + relative > offset:
            break
        best = position
    return best


@contextmanager
def _mapped(path: Path) -> Iterator[memoryview]:
    """Yield the bytes of a file as mapped memory. The bytes are read from disk only when they are
    used.
    """
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            yield memoryview(b"")
            return
        yield memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
