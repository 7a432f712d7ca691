"""Stored records for clients that know only older formats (Kafka: RecordsUtil.java,
LazyDownConversionRecords.java; KIP-283).

    Fetch v0–1    message format v0              Fetch v4+    as they lie in the log, by sendfile
    Fetch v2–3    message format v1

Entries of that format or an older one stay as they are, others are unpacked and built again.
Headers are lost, and so are times in v0; control batches are left out; a zstd batch cannot be told
to such a client.

It is done piece by piece while the answer is sent, a piece a turn of the loop: of each connection
at most CHUNK_BYTES of the log, or one batch if that is larger, lie unpacked in memory, however much
is fetched. So the size of the answer must be said before it is known, and Kafka says: as many bytes
as lie in the log, or as the first entry makes, whichever is more. What does not fit is cut off;
what is left over is filled with the beginning of a batch too long for the answer, which clients
take for one that was cut off.
"""

import errno
import struct
from collections.abc import Iterator
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer
from kafka_edu.common.transport import FileRegion, LazyPart, Part, part_size
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.memory_records import build_records, read_entry
from kafka_edu.record.record_batch import HEADER_BYTES, BatchHeader, header_of_any_format

CHUNK_BYTES: Final = 16 * 1024
"""Of the log, converted at a time: 1 to 15 ms, in which the broker's loop does nothing else. Kafka,
with a thread for it, takes 128 KiB.
"""
_OVERFLOW: Final = struct.Struct(">qi")
Entry = tuple[BatchHeader, Buffer]


def lazily_down_converted(records: Part, magic: int, first_offset: int) -> Part:
    """`records` of the log, the last perhaps cut off, as a part in format `magic` that is made
    while it is sent; converts the first entry now.

    Of a compressed batch all records are given, of others those from `first_offset`. Raises
    UNSUPPORTED_COMPRESSION_TYPE if zstd comes first, and what unpacking raises.
    """
    entries = _entries(records)
    first = next(
        filter(None, (down_convert([entry], magic, first_offset) for entry in entries)), b""
    )
    size = max(part_size(records), len(first))
    return LazyPart(
        size,
        _filled(
            first,
            filter(None, (down_convert(chunk, magic, first_offset) for chunk in _chunks(entries))),
            size,
        ),
    )


def down_convert(entries: list[Entry], magic: int, first_offset: int) -> bytes:
    """Whole entries in format `magic`. Raises UNSUPPORTED_COMPRESSION_TYPE for zstd. O(bytes)."""
    out: list[Buffer] = []
    for header, entry in entries:
        if header.is_control:
            continue
        codec = header.compression
        if codec is CompressionType.ZSTD:
            raise KafkaException(
                Errors.UNSUPPORTED_COMPRESSION_TYPE,
                "Down-conversion of zstandard-compressed batches is not supported",
            )
        if header.magic <= magic:
            out.append(entry)
            continue
        records = read_entry(entry)
        if not codec:
            records = [record for record in records if record.offset >= first_offset]
        if records:
            out.append(build_records(records, magic, codec, timestamp_type=header.timestamp_type))
    return b"".join(out)


def _chunks(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    """As many entries at a time as together are not larger than CHUNK_BYTES, but at least one."""
    chunk: list[Entry] = []
    size = 0
    for entry in entries:
        if chunk and size + len(entry[1]) > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(entry)
        size += len(entry[1])
    if chunk:
        yield chunk


def _entries(records: Part) -> Iterator[Entry]:
    """Each whole entry, read when it is asked for. Raises OSError if the file has become
    shorter.
    """
    position, size = 0, part_size(records)
    while True:
        header = header_of_any_format(_read(records, position, HEADER_BYTES))
        if header is None or position + header.size_in_bytes > size:
            return
        entry = _read(records, position, header.size_in_bytes)
        if len(entry) < header.size_in_bytes:
            raise OSError(
                errno.EIO, f"the log ends within the entry of offset {header.last_offset}"
            )
        yield header, entry
        position += header.size_in_bytes


def _read(records: Part, position: int, count: int) -> Buffer:
    if isinstance(records, FileRegion):
        return records.file.pread(
            min(count, records.length - position), records.position + position
        )
    assert not isinstance(records, LazyPart), "converted already"
    return memoryview(records)[position : position + count]


def _filled(first: bytes, converted: Iterator[bytes], size: int) -> Iterator[Buffer]:
    """`size` bytes: what was converted, cut off at that, or filled up. Raises OSError when it
    cannot go on, for the size has been told.
    """
    left = size
    piece = first
    while piece:
        yield memoryview(piece)[:left]
        left -= min(left, len(piece))
        if not left:
            return
        try:
            piece = next(converted, b"")
        except KafkaException as failure:
            if failure.error is not Errors.UNSUPPORTED_COMPRESSION_TYPE:
                raise OSError(errno.EIO, failure.message) from failure
            piece = b""
    length = max(left + 1, HEADER_BYTES)
    while left:
        overflow = _OVERFLOW.pack(-1, length).ljust(min(left, CHUNK_BYTES), b"\0")
        yield memoryview(overflow)[:left]
        left -= min(left, len(overflow))
