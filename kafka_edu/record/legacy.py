"""Message formats v0 and v1, from before Kafka 0.11.

(Kafka: LegacyRecord.java, AbstractLegacyRecordBatch.java, RecordsUtil.java; book §6.1.)

    offset int64 | size int32 | crc uint32 | magic int8 | attributes int8
    | timestamp int64 (only v1) | key length int32, key | value length int32, value

The CRC-32 (not CRC-32C) covers everything from `magic` on. So a broker that sets the offset does
not have to compute the CRC again. Messages follow each other without a common header. A compressed
set of messages is one message, the wrapper. Its value has the compressed inner messages.

In v0 the inner messages have absolute offsets. To set these, a broker must unpack the set and
compress it again. In v1 the wrapper has the offset of its last inner message, and the inner offsets
begin at 0: absolute = wrapper offset - last inner offset + inner offset.

Old clients read and write these formats, and a topic with an old message.format.version stores
them.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.files import Buffer
from kafka_edu.record.compression import CompressionType, compress, compression_type, decompress
from kafka_edu.record.record import InvalidRecordError, Record
from kafka_edu.record.record_batch import (
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V2,
    NO_TIMESTAMP,
    CorruptRecordError,
    check_entry,
)

_HEAD: Final = struct.Struct(">qiIbb")
_HEAD_BYTES: Final = 18
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")


class LegacyMessage(NamedTuple):
    """One message as it is stored; the value of a wrapper is the compressed inner messages.

    `timestamp` is -1 in v0.
    """

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    size_in_bytes: int
    crc: int
    is_valid: bool
    """Whether the stored checksum is right."""


def iter_messages(buffer: Buffer, *, checked: bool = True) -> Iterator[LegacyMessage]:
    """Yield the messages of format v0 or v1 in `buffer`; an incomplete last message is left out.

    Raises CorruptRecordError for broken bytes and, if `checked`, for a wrong checksum. Raises
    InvalidRecordError for a v2 batch among the messages. O(bytes).
    """
    view = memoryview(buffer)
    position = 0
    while len(view) - position > MAGIC_OFFSET:
        size = _INT32.unpack_from(view, position + 8)[0]
        magic = view[position + MAGIC_OFFSET]
        check_entry(size, magic)
        end = position + LOG_OVERHEAD + size
        if end > len(view):
            return
        if magic == MAGIC_V2:
            raise InvalidRecordError("a v2 batch is among messages of an older format")
        yield _message(view[position:end], checked)
        position = end


def _message(raw: memoryview, checked: bool) -> LegacyMessage:
    offset, _, crc, magic, attributes = _HEAD.unpack_from(raw)
    computed = zlib.crc32(raw[MAGIC_OFFSET:])
    if checked and computed != crc:
        raise CorruptRecordError(
            f"Record is corrupt (stored crc = {crc}, computed crc = {computed})"
        )
    at = _HEAD_BYTES
    timestamp = NO_TIMESTAMP
    try:
        if magic == 1:
            timestamp = _INT64.unpack_from(raw, at)[0]
            at += 8
        key, at = _read_bytes(raw, at)
        value, at = _read_bytes(raw, at)
    except struct.error:
        raise CorruptRecordError("a message is shorter than its fields") from None
    return LegacyMessage(
        offset, magic, attributes, timestamp, key, value, len(raw), crc, computed == crc
    )


def _read_bytes(raw: memoryview, at: int) -> tuple[bytes | None, int]:
    length = _INT32.unpack_from(raw, at)[0]
    at += 4
    if length < 0:
        return None, at
    if at + length > len(raw):
        raise CorruptRecordError(f"a field of {length} bytes ends after its message")
    return bytes(raw[at : at + length]), at + length


def inner_messages(message: LegacyMessage, *, checked: bool = True) -> list[LegacyMessage]:
    """Return the inner messages of a wrapper. A message that is no wrapper is returned alone.

    Inner messages get their absolute offsets and their timestamps. Raises an error for every fault
    inside the wrapper; for a wrong checksum only if `checked`. O(bytes).
    """
    codec = compression_type(message.attributes)
    if not codec:
        return [message]
    if codec is CompressionType.ZSTD:
        raise InvalidRecordError("a message of format v0 or v1 cannot be compressed by zstd")
    if message.value is None:
        raise InvalidRecordError("a compressed message has no value")
    inner = list(iter_messages(decompress(codec, message.value, message.magic), checked=checked))
    if not inner:
        raise InvalidRecordError("a compressed message set has no message in it")
    found = []
    last_offset = inner[-1].offset
    for one in inner:
        if one.magic != message.magic:
            raise InvalidRecordError(
                f"a message of format v{one.magic} is in a wrapper of format v{message.magic}"
            )
        if compression_type(one.attributes):
            raise InvalidRecordError(
                "Compressed outer record should not have an inner record with a compression"
                " attribute set"
            )
        offset = one.offset if message.magic == 0 else message.offset - last_offset + one.offset
        timestamp = (
            message.timestamp
            if message.magic and message.attributes & LOG_APPEND_TIME_BIT
            else one.timestamp
        )
        found.append(one._replace(offset=offset, timestamp=timestamp))
    return found


def inner_records(message: LegacyMessage) -> list[Record]:
    """Return the records in a message or in a wrapper, with absolute offsets."""
    return [
        Record(one.offset, one.timestamp, one.key, one.value) for one in inner_messages(message)
    ]


class OldProduce(NamedTuple):
    """The decoded records of a Produce v0–2.

    The records are numbered from 0. `magic` and `compression` are the producer's values.
    `largest_message` is in bytes.
    """

    records: list[Record]
    magic: int
    compression: CompressionType
    largest_message: int
    log_append_time: bool
    """Whether the producer set timestamp type LogAppendTime, which only a broker may set."""
    wrapper: LegacyMessage | None = None
    """The compressed message, if the broker may store it without compressing it again.

    Then only its offset and its time change. That requires v1, and inner messages numbered from 0.
    """


def read_old_produce(buffer: Buffer) -> OldProduce:
    """Read the records of a Produce v0–2: messages of one format, or one wrapper. O(bytes).

    A message that is cut off at the end is ignored. Raises CorruptRecordError for a wrong checksum,
    size or magic, and InvalidRecordError for mixed formats, for a second wrapper and for zstd.
    """
    magics, wrappers, entries = _survey(memoryview(buffer))
    if len(magics) > 1:
        raise InvalidRecordError("Batch magic byte is not the same as the first batch")
    if not magics:
        return OldProduce([], 0, CompressionType.NONE, 0, False)
    if entries > 1 and wrappers:
        raise InvalidRecordError("Compressed outer record has more than one batch")
    records: list[Record] = []
    codec = CompressionType.NONE
    largest = 0
    log_append_time = False
    wrapper = None
    for message in iter_messages(buffer):
        codec = compression_type(message.attributes)
        largest = max(largest, message.size_in_bytes)
        log_append_time = log_append_time or (
            message.magic == 1 and message.attributes & LOG_APPEND_TIME_BIT != 0
        )
        found = inner_records(message)
        if (
            codec
            and message.magic == 1
            and [r.offset - message.offset for r in found] == list(range(1 - len(found), 1))
        ):
            wrapper = message
        records += found
    return OldProduce(
        [r._replace(offset=i) for i, r in enumerate(records)],
        magics[0],
        codec,
        largest,
        log_append_time,
        wrapper,
    )


def _survey(view: memoryview) -> tuple[list[int], int, int]:
    """Check sizes and formats; return (formats, number of compressed entries, number of entries).

    The formats are the magic numbers in the order in which they first appear.
    """
    magics: list[int] = []
    wrappers = entries = position = 0
    while len(view) - position > MAGIC_OFFSET:
        size = _INT32.unpack_from(view, position + 8)[0]
        magic = view[position + MAGIC_OFFSET]
        check_entry(size, magic)
        if position + LOG_OVERHEAD + size > len(view):
            break
        if magic not in magics:
            magics.append(magic)
        wrappers += view[position + MAGIC_OFFSET + 1] & 0x07 != 0
        entries += 1
        position += LOG_OVERHEAD + size
    return magics, wrappers, entries


def encode_message(
    offset: int, magic: int, attributes: int, timestamp: int, key: bytes | None, value: bytes | None
) -> bytes:
    """Return one message of format v0 or v1 as bytes."""
    body = bytearray((magic, attributes))
    if magic == 1:
        body += _INT64.pack(timestamp)
    for field in (key, value):
        body += _INT32.pack(-1 if field is None else len(field))
        body += field or b""
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def build_message_set(
    records: Sequence[Record],
    magic: int,
    compression: CompressionType = CompressionType.NONE,
    *,
    log_append_time: bool = False,
) -> bytes:
    """Return messages of format `magic` as bytes; if compressed, inside one wrapper. O(bytes).

    Record headers are lost, because the older formats have none.
    """
    time_bit = LOG_APPEND_TIME_BIT if log_append_time and magic == 1 else 0
    if not compression:
        return b"".join(
            encode_message(r.offset, magic, time_bit, r.timestamp, r.key, r.value) for r in records
        )
    if not records:
        return b""
    base = records[0].offset if magic == 1 else 0
    inner = b"".join(
        encode_message(r.offset - base, magic, time_bit, r.timestamp, r.key, r.value)
        for r in records
    )
    timestamp = max(r.timestamp for r in records)
    return encode_message(
        records[-1].offset,
        magic,
        compression | time_bit,
        timestamp,
        None,
        compress(compression, inner, magic),
    )
