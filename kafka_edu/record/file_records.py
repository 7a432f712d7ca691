"""Read the entries of a segment file (Kafka: FileRecords.java, FileLogInputStream.java).

A segment is a sequence of batches, or of messages of an older format, without gaps. The length of
an entry leads to the next entry. So a search goes from header to header, and reads 61 bytes of each
batch. The sparse index only gives the position where the search begins.
"""

from collections.abc import Iterator
from typing import Final

from kafka_edu.common.files import File
from kafka_edu.record.record_batch import (
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC_V2,
    MIN_ENTRY_BYTES,
    BatchHeader,
    CorruptRecordError,
    header_of_any_format,
)

_READ_AHEAD: Final = 1024 * 1024


def iter_file_headers(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of each whole entry from `position` to `end`.

    An entry must begin at `position`. Each entry needs one read of 61 bytes. Raises
    CorruptRecordError at bytes that cannot begin an entry.
    """
    pread, unpack, make = file.pread, HEADER.unpack, BatchHeader._make
    while end - position >= MIN_ENTRY_BYTES:
        raw = pread(HEADER_BYTES, position)
        if len(raw) == HEADER_BYTES:
            header = make(unpack(raw))
            if header.magic == MAGIC_V2 and header.batch_length >= HEADER_BYTES - LOG_OVERHEAD:
                size = header.batch_length + LOG_OVERHEAD
                if size > end - position:
                    return
                yield position, header
                position += size
                continue
        other = _other_header(file, raw, 0, position)
        if other is None or other.batch_length + LOG_OVERHEAD > end - position:
            return
        yield position, other
        position += other.batch_length + LOG_OVERHEAD


def iter_file_batches(
    file: File, position: int, end: int
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Yield (position, header, bytes) of each whole entry from `position` to `end`.

    The file is read a megabyte at a time. Each byte is read once, except for a header at the end of
    a megabyte. Recovery uses this function, because it must check every byte.
    """
    chunk, start = memoryview(b""), position
    while end - position >= MIN_ENTRY_BYTES:
        if start + len(chunk) - position < min(HEADER_BYTES, end - position):
            chunk, start = (
                memoryview(file.pread(min(_READ_AHEAD, end - position), position)),
                position,
            )
        header = _other_header(file, chunk, position - start, position)
        if header is None:
            return
        size = header.batch_length + LOG_OVERHEAD
        if size > end - position:
            return
        batch = chunk[position - start : position - start + size]
        if len(batch) < size:  # the chunk ends inside it: only the rest is read
            rest = file.pread(size - len(batch), position + len(batch))
            batch = memoryview(b"".join((batch, rest)))
            if len(batch) < size:
                return
        yield position, header, batch
        position += size


def read_batch(file: File, position: int, header: BatchHeader) -> bytes:
    """Return the bytes of the whole entry whose header is at `position`."""
    return file.pread(header.batch_length + LOG_OVERHEAD, position)


def _other_header(
    file: File, raw: bytes | memoryview, at: int, position: int
) -> BatchHeader | None:
    try:
        return header_of_any_format(raw, at)
    except CorruptRecordError as error:
        raise CorruptRecordError(f"{file.path}, position {position}: {error.message}") from error
