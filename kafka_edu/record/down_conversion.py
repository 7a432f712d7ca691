"""Down-conversion: convert stored records for clients that know only older message formats.

(Kafka: RecordsUtil.java, LazyDownConversionRecords.java; KIP-283.)

    Fetch v0–1    message format v0              Fetch v4+    as stored in the log, by sendfile
    Fetch v2–3    message format v1

Entries in the client's format or an older one are sent as they are. Other entries are unpacked and
built again in the client's format. Record headers are lost, and in v0 timestamps too. Control
batches are left out. A zstd batch cannot be converted for such a client.

The conversion runs piece by piece while the response is sent, one piece in each turn of the event
loop. For each connection, at most CHUNK_BYTES of the log are unpacked in memory at a time, or one
batch if it is larger. This limit does not depend on the size of the fetch.

But the size of the response must be announced before the conversion is finished. Kafka announces
the size of the records in the log, or the size of the first converted entry if that is larger.
Converted bytes beyond the announced size are cut off. If bytes are missing, the response is filled
with the beginning of a batch that is too long for it. Clients ignore an incomplete last batch.
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
"""The maximum bytes of the log that are converted at a time.

One chunk takes 1 to 15 ms, in which the broker's event loop does nothing else. Kafka converts 128
KiB at a time, in a thread.
"""
_OVERFLOW: Final = struct.Struct(">qi")
Entry = tuple[BatchHeader, Buffer]


def lazily_down_converted(records: Part, magic: int, first_offset: int) -> Part:
    """Return a response part that converts `records` to format `magic` while it is sent.

    The last entry of `records` may be cut off. The first entry is converted at once. From a
    compressed batch all records are returned, from an uncompressed one only those from
    `first_offset` on.

    Raises UNSUPPORTED_COMPRESSION_TYPE if the first entry is a zstd batch, and every error of
    unpacking.
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
    """Return whole entries converted to format `magic`. O(bytes).

    Raises KafkaException (UNSUPPORTED_COMPRESSION_TYPE) for a zstd batch.
    """
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
    """Yield lists of entries: each has at most CHUNK_BYTES, or one entry that is larger."""
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
    """Yield each whole entry; read it from the file only when it is needed.

    Raises OSError if the file has become shorter.
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
    """Yield exactly `size` bytes: the converted entries, cut off or filled up.

    Raises OSError if an entry cannot be unpacked, because `size` is already announced. At a zstd
    batch the entries end, and the rest is filled up.
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
