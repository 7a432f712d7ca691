"""The v2 record batch (Kafka: DefaultRecordBatch.java; book §6.1).

A broker stores a batch and sends it to consumers without changing the records' bytes.

    position  field                      position  field
     0  base offset            int64      27  base timestamp      int64
     8  batch length           int32      35  max timestamp       int64
    12  partition leader epoch int32      43  producer id         int64
    16  magic                  int8       51  producer epoch      int16
    17  CRC-32C                uint32     53  base sequence       int32
    21  attributes             int16      57  records count       int32
    23  last offset delta      int32      61  records, perhaps compressed

`batch length` counts the bytes from position 12 on. The CRC covers everything from position 21 on.
So a broker can set base offset and leader epoch without computing the CRC again. The attributes
are: bits 0–2 codec, bit 3 timestamp type, bit 4 transactional, bit 5 control. A batch of 10,000
records has one header of 61 bytes. In message format v0 or v1, there would be 10,000 headers.

A log may also contain older messages (see `legacy`). `header_of_any_format` describes every entry
of a log as a BatchHeader. So code that goes from entry to entry needs no special case.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

import google_crc32c

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer
from kafka_edu.record.compression import CompressionType, compress, compression_type, decompress
from kafka_edu.record.record import Record, decode_records, encode_records

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = 61
HEADER_START: Final = struct.Struct(">qii")
"""The layout of base offset, batch length, leader epoch: the first 16 bytes of a batch.

The leader may overwrite these bytes, because the CRC does not cover them.
"""
LOG_OVERHEAD: Final = 12
"""The number of bytes of base offset and length, which `batch length` does not count."""
MAGIC_OFFSET: Final = 16
CRC_OFFSET: Final = 17
ATTRIBUTES_OFFSET: Final = 21
MAGIC_V2: Final = 2
MIN_LEGACY_BYTES: Final = 14
"""The smallest possible value of an entry's size field, in bytes.

A v0 message with a null key and a null value has it.
"""
MIN_ENTRY_BYTES: Final = LOG_OVERHEAD + MIN_LEGACY_BYTES

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
NO_PARTITION_LEADER_EPOCH: Final = -1

COMPRESSION_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20

MAX_SEQUENCE: Final = 2**31 - 1
_LEGACY: Final = struct.Struct(">qiIbbq")
"""The layout of a v0 or v1 message up to its timestamp.

Only v1 has a timestamp; in v0 the key is in this place.
"""


class TimestampType(IntEnum):
    """The source of a record's timestamp: its producer (0), or the leader at the append (1)."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class CorruptRecordError(KafkaException):
    """Raised for a wrong size, magic or checksum (Kafka: CorruptRecordException)."""

    def __init__(self, message: str) -> None:
        super().__init__(Errors.CORRUPT_MESSAGE, message)


class BatchHeader(NamedTuple):
    """The first 61 bytes of a batch, field by field.

    `HEADER.unpack_from(buffer, position)` returns the values in about 0.3 µs.

    For a message of format v0 or v1, base offset and last offset are both the message's own offset.
    For a compressed set of messages, both are the offset of the last message in the set. The max
    timestamp is the message's own, and -1 in v0. Leader epoch, producer and records count are -1.
    """

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def size_in_bytes(self) -> int:
        """The size of the whole batch in bytes, header included."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def compression(self) -> CompressionType:
        """The codec. Raises CompressionError if its number is unknown."""
        return compression_type(self.attributes)

    @property
    def timestamp_type(self) -> TimestampType:
        return (
            TimestampType.LOG_APPEND_TIME
            if self.attributes & LOG_APPEND_TIME_BIT
            else TimestampType.CREATE_TIME
        )

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; -1 without a producer id.

        After sequence number 2**31 - 1 comes 0, even within a batch.
        """
        return (
            increment_sequence(self.base_sequence, self.last_offset_delta)
            if self.producer_id != NO_PRODUCER_ID
            else NO_SEQUENCE
        )


def increment_sequence(sequence: int, by: int) -> int:
    """Return the sequence number that is `by` after `sequence`; after 2**31 - 1 comes 0."""
    return sequence + by if sequence <= MAX_SEQUENCE - by else by - (MAX_SEQUENCE - sequence) - 1


def decrement_sequence(sequence: int, by: int) -> int:
    return sequence - by if sequence >= by else MAX_SEQUENCE - (by - sequence) + 1


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Return the header of the batch at `position`; all its 61 bytes must be there."""
    return BatchHeader._make(HEADER.unpack_from(buffer, position))


def header_of_any_format(buffer: Buffer, position: int = 0) -> BatchHeader | None:
    """Return the header of the entry at `position`, in any message format. O(1).

    Returns None if the buffer ends before the header does. Raises CorruptRecordError for a size or
    magic that no entry has.
    """
    available = len(buffer) - position
    if available < MIN_ENTRY_BYTES:
        return None
    offset, length, crc, magic, attributes, timestamp = _LEGACY.unpack_from(buffer, position)
    check_entry(length, magic)
    if magic == MAGIC_V2:
        return (
            BatchHeader._make(HEADER.unpack_from(buffer, position))
            if available >= HEADER_BYTES
            else None
        )
    if magic == 0:
        timestamp, attributes = NO_TIMESTAMP, attributes & ~LOG_APPEND_TIME_BIT
    return BatchHeader(
        offset,
        length,
        NO_PARTITION_LEADER_EPOCH,
        magic,
        crc,
        attributes & (COMPRESSION_MASK | LOG_APPEND_TIME_BIT),
        0,
        timestamp,
        timestamp,
        NO_PRODUCER_ID,
        NO_PRODUCER_EPOCH,
        NO_SEQUENCE,
        -1,
    )


def iter_headers(buffer: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of each whole entry in `buffer`, in order. O(entries).

    Entries may have any format; an incomplete last entry is left out. Raises CorruptRecordError for
    a size or magic that no entry has.
    """
    position, end = 0, len(buffer)
    while end - position >= MIN_ENTRY_BYTES:
        if end - position >= HEADER_BYTES and buffer[position + MAGIC_OFFSET] == MAGIC_V2:
            header = BatchHeader._make(HEADER.unpack_from(buffer, position))
            if header.batch_length < HEADER_BYTES - LOG_OVERHEAD:
                check_entry(header.batch_length, MAGIC_V2)
        else:
            other = header_of_any_format(buffer, position)
            if other is None:
                return
            header = other
        size = header.batch_length + LOG_OVERHEAD
        if size > end - position:
            return
        yield position, header
        position += size


def check_entry(batch_length: int, magic: int) -> None:
    """Raise CorruptRecordError if an entry's length or magic is invalid.

    Both are in the first 17 bytes of an entry, in every format.
    """
    if batch_length < MIN_LEGACY_BYTES:
        raise CorruptRecordError(
            f"Found record size {batch_length} smaller than minimum record overhead"
            f" ({MIN_LEGACY_BYTES})."
        )
    if not 0 <= magic <= MAGIC_V2:
        raise CorruptRecordError(f"Invalid magic found in record: {magic}")
    if magic == MAGIC_V2 and batch_length < HEADER_BYTES - LOG_OVERHEAD:
        raise CorruptRecordError(
            f"Record batch is corrupt: its size {batch_length} is smaller than a header's"
            f" {HEADER_BYTES - LOG_OVERHEAD}"
        )


def compute_crc(batch: Buffer) -> int:
    """Return the CRC-32C of one whole batch, computed from its attributes on. O(size).

    The bytes are copied once, because the library takes only `bytes`.
    """
    crc: int = google_crc32c.value(bytes(memoryview(batch)[ATTRIBUTES_OFFSET:]))
    return crc


def check_crc(batch: Buffer, header: BatchHeader) -> None:
    """Raise CorruptRecordError unless the entry's stored checksum is right.

    The checksum is a CRC-32C in v2 and a CRC-32 in older formats.
    """
    if header.magic == MAGIC_V2:
        computed = google_crc32c.value(bytes(memoryview(batch)[ATTRIBUTES_OFFSET:]))
    else:
        computed = zlib.crc32(memoryview(batch)[MAGIC_OFFSET:])
    if computed != header.crc:
        raise CorruptRecordError(
            f"Record is corrupt (stored crc = {header.crc}, computed crc = {computed})"
        )


def build_batch(
    records: Sequence[Record],
    *,
    compression: CompressionType = CompressionType.NONE,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    max_timestamp: int | None = None,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
) -> bytes:
    """Return a batch of at least one record as bytes. O(bytes).

    Its base offset is the offset of the first record (0 for a producer). If `max_timestamp` is
    None, it is the latest timestamp of the records.
    """
    base_offset, base_timestamp = records[0].offset, records[0].timestamp
    body = encode_records(records, base_offset, base_timestamp)
    return assemble_batch(
        compress(compression, body) if compression else body,
        BatchHeader(
            base_offset,
            0,
            partition_leader_epoch,
            MAGIC_V2,
            0,
            compression
            | (LOG_APPEND_TIME_BIT if timestamp_type else 0)
            | (TRANSACTIONAL_BIT if is_transactional else 0)
            | (CONTROL_BIT if is_control else 0),
            records[-1].offset - base_offset,
            base_timestamp,
            max(record.timestamp for record in records) if max_timestamp is None else max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            len(records),
        ),
    )


def assemble_batch(body: Buffer, header: BatchHeader) -> bytes:
    """Return a batch as bytes, made from header and records section.

    Length and CRC are computed; their values in `header` are ignored.
    """
    out = bytearray(HEADER_BYTES + len(body))
    HEADER.pack_into(out, 0, *header)
    out[HEADER_BYTES:] = body
    struct.pack_into(">i", out, 8, len(out) - LOG_OVERHEAD)
    struct.pack_into(">I", out, CRC_OFFSET, compute_crc(out))
    return bytes(out)


def read_records(batch: Buffer) -> list[Record]:
    """Return the decompressed records of one whole batch. O(bytes).

    The CRC is not checked. Raises InvalidRecordError or CompressionError.
    """
    header = parse_header(batch)
    codec = header.compression
    body = memoryview(batch)[HEADER_BYTES : header.size_in_bytes]
    return decode_records(
        decompress(codec, body) if codec else bytes(body),
        header.records_count,
        header.base_offset,
        header.base_timestamp,
        header.max_timestamp if header.attributes & LOG_APPEND_TIME_BIT else None,
    )
