"""The batches of a segment file (Kafka: FileRecords.java, FileLogInputStream.java).

A segment is nothing but batches, one behind the other: whoever knows where one starts finds the next by its length. So a search is a walk over
headers, 61 bytes read for each batch, and the sparse index only says where to begin it.
"""

import zlib
from collections.abc import Iterator
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import File
from kafka_edu.record.record_batch import HEADER, HEADER_BYTES, LOG_OVERHEAD, MAGIC_OFFSET, MAGIC_V2, BatchHeader, CorruptRecordError, check_entry

_READ_AHEAD: Final = 1024 * 1024


class LegacyFormatError(KafkaException):
    """A segment holds messages of format v0 or v1. This broker reads those on the wire only; it stores v2, as Kafka does since 0.11."""

    def __init__(self, path: str, position: int, magic: int) -> None:
        super().__init__(Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT, f"{path}, position {position}: a message of format v{magic}; only v2 can be read")


def iter_file_headers(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each whole batch from `position` (where one must start) to `end`. One read of 61 bytes a batch.

    Raises CorruptRecordError at bytes that no batch begins with, LegacyFormatError at an older format.
    """
    pread, unpack, make = file.pread, HEADER.unpack, BatchHeader._make
    while end - position >= HEADER_BYTES:
        raw = pread(HEADER_BYTES, position)
        if len(raw) < HEADER_BYTES:
            return
        header = make(unpack(raw))
        size = header.batch_length + LOG_OVERHEAD
        if header.magic != MAGIC_V2 or size < HEADER_BYTES:
            _refuse(file, position, header)
        if size > end - position:
            return
        yield position, header
        position += size


def iter_file_batches(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Like `iter_file_headers`, with the bytes of each batch, read a megabyte at a time: for recovery, which must see everything."""
    chunk, start = memoryview(b""), position
    while end - position >= HEADER_BYTES:
        if start + len(chunk) - position < HEADER_BYTES:
            chunk, start = memoryview(file.pread(min(_READ_AHEAD, end - position), position)), position
            if len(chunk) < HEADER_BYTES:
                return
        header = BatchHeader._make(HEADER.unpack_from(chunk, position - start))
        size = header.batch_length + LOG_OVERHEAD
        if header.magic != MAGIC_V2 or size < HEADER_BYTES:
            _refuse(file, position, header)
        if size > end - position:
            return
        if start + len(chunk) - position < size:
            chunk, start = memoryview(file.pread(max(size, min(_READ_AHEAD, end - position)), position)), position
            if len(chunk) < size:
                return
        yield position, header, chunk[position - start : position - start + size]
        position += size


def read_batch(file: File, position: int, header: BatchHeader) -> bytes:
    """The whole batch whose header lies at `position`."""
    return file.pread(header.batch_length + LOG_OVERHEAD, position)


def _refuse(file: File, position: int, header: BatchHeader) -> None:
    """Say what is wrong. An old message must not be taken for garbage, which recovery cuts off: its own checksum tells them apart."""
    check_entry(header.batch_length, header.magic)
    if header.magic < MAGIC_V2 and header.batch_length + LOG_OVERHEAD <= file.size() - position:
        message = file.pread(header.batch_length + LOG_OVERHEAD, position)
        if zlib.crc32(message[MAGIC_OFFSET:]) == int.from_bytes(message[LOG_OVERHEAD:MAGIC_OFFSET], "big"):
            raise LegacyFormatError(file.path, position, header.magic)
    raise CorruptRecordError(f"{file.path} holds no v2 batch at position {position}")
