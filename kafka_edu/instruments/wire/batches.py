"""Decode record batches of every format: header fields, checksum, and each record.

The layout is described in `kafka_edu.record.record_batch` and `kafka_edu.record.legacy`. A fetch
response may end with an incomplete batch, because the broker cuts the records at a maximum size.
The consumer ignores that part. In a request, an incomplete batch is an error.
"""

import zlib
from typing import Final

import google_crc32c

from kafka_edu.common.words import plural
from kafka_edu.instruments.wire.cursor import Cursor, Stop
from kafka_edu.instruments.wire.tree import Node
from kafka_edu.instruments.wire.words import bytes_words, time_words
from kafka_edu.protocol.types import FixedType, Int8, Int16, Int32, Int64, Uint32
from kafka_edu.record.compression import (
    CompressionError,
    CompressionType,
    TooLargeError,
    compression_type,
    decompress,
)
from kafka_edu.record.record_batch import (
    ATTRIBUTES_OFFSET,
    CONTROL_BIT,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V2,
    MIN_LEGACY_BYTES,
    TRANSACTIONAL_BIT,
)

_HEADER: Final[tuple[tuple[str, FixedType[int], str], ...]] = (
    ("base_offset", Int64, "0 from a producer. The leader overwrites it when it appends."),
    ("batch_length", Int32, "The bytes of the batch after this field."),
    ("partition_leader_epoch", Int32, "The leader sets it. The CRC does not cover it."),
    ("magic", Int8, "The message format: 2 since Kafka 0.11."),
    ("crc", Uint32, "CRC-32C of everything after it."),
    ("attributes", Int16, "Bits 0-2 codec, 3 timestamp type, 4 transactional, 5 control."),
    ("last_offset_delta", Int32, "Last offset minus base offset. Compaction leaves it alone."),
    ("base_timestamp", Int64, "The time from which the records count."),
    ("max_timestamp", Int64, "The latest time of the batch."),
    ("producer_id", Int64, "The idempotent producer, or -1."),
    ("producer_epoch", Int16, "Fences an older producer with the same id."),
    ("base_sequence", Int32, "The sequence number of the first record."),
    ("records_count", Int32, "The number of records."),
)
_CONTROL_TYPES: Final = {0: "abort", 1: "commit"}


def read_batches(cursor: Cursor, *, may_be_cut: bool) -> str:
    """Read batches up to the end of the cursor's scope. Return in words what was found. Raises
    Stop.
    """
    batches = records = 0
    faults = len(cursor.problems)
    while cursor.rest:
        if not _is_whole(cursor):
            if not may_be_cut:
                _fail_at_end(cursor)
            cursor.rest_is(
                "incomplete batch",
                "the broker cuts at the maximum size, and the consumer drops this part",
                wrong=False,
            )
            break
        magic = cursor.data[cursor.at + MAGIC_OFFSET]
        if magic == MAGIC_V2:
            records += _batch(cursor)
        elif magic in (0, 1):
            records += _message(cursor, magic)
        else:
            for name, wire, note in _HEADER[:3]:
                cursor.fixed(name, wire).note = note
            raise cursor.fail("magic", "int8", f"no message format has magic {magic}")
        batches += 1
    if not batches:
        return ""
    words = f", {plural(batches, 'batch')}, {plural(records, 'record')}"
    return words + (", checksums right" if len(cursor.problems) == faults else "")


def _is_whole(cursor: Cursor) -> bool:
    """Return whether the next batch ends within the scope.

    A batch that is wrong in its first 17 bytes also counts.
    """
    if cursor.rest <= MAGIC_OFFSET:
        return False
    start = cursor.at + 8
    length = int.from_bytes(cursor.data[start : start + 4], "big", signed=True)
    return length + LOG_OVERHEAD <= cursor.rest


def _fail_at_end(cursor: Cursor) -> None:
    """Read the present bytes of an incomplete batch, and raise Stop.

    The Stop is at the length, if the batch must be whole, or else where the bytes end.
    """
    with cursor.group(Node("batch", "record batch", cursor.at, cursor.at)):
        cursor.fixed("base_offset", Int64)
        start = cursor.at
        length = cursor.fixed("batch_length", Int32)
        assert isinstance(length.raw, int)
        if not cursor.is_cut:
            raise cursor.wrong_value(
                length,
                start,
                f"{length.raw:,} bytes are announced, and only {cursor.rest:,} are left",
            )
        for name, wire, note in _HEADER[2:]:
            cursor.fixed(name, wire).note = note
        raise cursor.ends("records", "the batch", length.raw)


def _attributes(value: int) -> str:
    try:
        codec = compression_type(value).name.lower()
    except CompressionError:
        codec = f"unknown codec {value & 7}"
    words = ["not compressed" if codec == "none" else codec]
    words.append("log append time" if value & LOG_APPEND_TIME_BIT else "create time")
    if value & TRANSACTIONAL_BIT:
        words.append("transactional")
    if value & CONTROL_BIT:
        words.append("control batch")
    return f"0x{value & 0xFFFF:02x} = {', '.join(words)}"


def _batch(cursor: Cursor) -> int:
    """Read one v2 batch. Return the number of its records. Raises Stop."""
    start = cursor.at
    node = Node("batch", "record batch v2", start, start)
    with cursor.group(node):
        read: dict[str, Node] = {}
        numbers: dict[str, int] = {}
        for name, wire, note in _HEADER[:2]:
            read[name] = cursor.fixed(name, wire)
            read[name].note = note
        length = read["batch_length"].raw
        assert isinstance(length, int)
        if length < HEADER_BYTES - LOG_OVERHEAD:
            raise cursor.wrong_value(
                read["batch_length"],
                start + 8,
                f"{length} bytes, and the rest of a header alone has {HEADER_BYTES - LOG_OVERHEAD}",
            )
        end = start + LOG_OVERHEAD + length
        with cursor.scope(end):
            for name, wire, note in _HEADER[2:]:
                read[name] = cursor.fixed(name, wire)
                read[name].note = note
            for name, field in read.items():
                assert isinstance(field.raw, int)
                numbers[name] = field.raw
            read["attributes"].value = _attributes(numbers["attributes"])
            for name in ("base_timestamp", "max_timestamp"):
                if numbers[name] >= 0:
                    read[name].value = time_words(numbers[name])
            computed = google_crc32c.value(cursor.data[start + ATTRIBUTES_OFFSET : end])
            _checksum(cursor, read["crc"], computed)
            count = numbers["records_count"]
            node.value = (
                f"{plural(max(count, 0), 'record')} from offset {numbers['base_offset']:,}"
                f", {read['attributes'].value.partition(' = ')[2]}"
            )
            if count < 0:
                raise cursor.wrong_value(
                    read["records_count"], cursor.at - 4, f"{count} cannot be a number of records"
                )
            codec = _codec(cursor, read["attributes"], start + ATTRIBUTES_OFFSET + 1)
            if codec is CompressionType.NONE:
                _records(cursor, numbers)
            else:
                unpacked = _compressed(cursor, codec, 2)
                if unpacked is not None:
                    inside = cursor.inside(unpacked)
                    with inside.scope(len(unpacked)):
                        _records(inside, numbers)
                    cursor.hand_over(cursor.last, inside)
    return max(numbers.get("records_count", 0), 0)


def _checksum(cursor: Cursor, node: Node, computed: int) -> None:
    """Write on the node whether the checksum that was read is right."""
    if node.raw == computed:
        node.value = f"0x{computed:08x} ✓"
        return
    node.value = f"0x{node.raw:08x} ✗"
    node.wrong = f"the bytes have the checksum 0x{computed:08x}"
    cursor.problem(node.start, node.name, node.wrong)


def _codec(cursor: Cursor, attributes: Node, at: int) -> CompressionType:
    """Return the codec in the batch's attributes. Raises Stop if there is no such codec."""
    assert isinstance(attributes.raw, int)
    try:
        return compression_type(attributes.raw)
    except CompressionError as error:
        attributes.wrong = error.message
        raise cursor.fail("records", "bytes", error.message, at) from None


def _compressed(cursor: Cursor, codec: CompressionType, magic: int) -> bytes | None:
    """Add a leaf for the compressed records. Return their bytes decompressed, or None.

    The compressed records are all bytes up to the end of the scope. Return None if they cannot be
    decompressed.
    """
    start, end = cursor.at, cursor.limit
    raw = cursor.data[start:end]
    node = Node("compressed records", codec.name.lower(), start, end, raw=raw)
    cursor.add(node)
    try:
        unpacked = decompress(codec, raw, magic, cursor.unpackable)
    except TooLargeError:
        node.value = f"{len(raw):,} bytes, too many to unpack here"
        return None
    except CompressionError as error:
        node.value, node.wrong = f"{len(raw):,} bytes", error.message
        cursor.problem(start, node.name, error.message)
        return None
    node.value = f"{len(raw):,} bytes, {len(unpacked):,} unpacked"
    return unpacked


def _records(cursor: Cursor, header: dict[str, int]) -> None:
    """Read the records of a v2 batch, which must fill the scope. Raises Stop."""
    for index in range(header["records_count"]):
        if not cursor.rest:
            reason = f"{header['records_count']:,} records are announced, and {index:,} are here"
            raise cursor.fail(f"record {index}", "record", reason)
        _record(cursor, index, header)


def _record(cursor: Cursor, index: int, header: dict[str, int]) -> None:
    node = Node(f"record {index}", "record", cursor.at, cursor.at, folded=True)
    with cursor.group(node):
        start = cursor.at
        length = cursor.varint("length")
        assert isinstance(length.raw, int)
        if not 0 <= length.raw <= cursor.rest:
            raise cursor.wrong_value(
                length,
                start,
                f"a record of {length.raw:,} bytes, and {cursor.rest:,} are left",
            )
        stopped = True
        with cursor.scope(cursor.at + length.raw):
            _record_body(cursor, node, header)
            stopped = False
        if stopped:
            node.folded = False


def _record_body(cursor: Cursor, node: Node, header: dict[str, int]) -> None:
    cursor.fixed("attributes", Int8).note = "No bit is in use."
    delta = cursor.varint("timestamp_delta", "varlong")
    assert isinstance(delta.raw, int)
    if header["base_timestamp"] >= 0:
        delta.value = f"+{delta.raw:,} ms: {time_words(header['base_timestamp'] + delta.raw)}"
    delta = cursor.varint("offset_delta")
    assert isinstance(delta.raw, int)
    offset = header["base_offset"] + delta.raw
    delta.value = f"+{delta.raw:,}: offset {offset:,}"
    key = cursor.bytes_with_varint(Node("key", "", cursor.at, cursor.at))
    value = cursor.bytes_with_varint(Node("value", "", cursor.at, cursor.at))
    node.value = f"offset {offset:,}  key {key.value}  value {value.value}"
    if header["attributes"] & CONTROL_BIT and isinstance(key.raw, bytes) and len(key.raw) >= 4:
        kind = _CONTROL_TYPES.get(int.from_bytes(key.raw[2:4], "big"), "unknown")
        node.value = f"offset {offset:,}  control record: {kind}"
    start = cursor.at
    count = cursor.varint("header_count")
    assert isinstance(count.raw, int)
    if not 0 <= count.raw <= cursor.rest:
        raise cursor.wrong_value(
            count, start, f"{count.raw:,} headers are announced in {cursor.rest:,} bytes"
        )
    for number in range(count.raw):
        _record_header(cursor, number)
    if count.raw:
        node.value += f"  {plural(count.raw, 'header')}"


def _record_header(cursor: Cursor, number: int) -> None:
    node = Node(f"header {number}", "header", cursor.at, cursor.at, folded=True)
    with cursor.group(node):
        start = cursor.at
        key = cursor.bytes_with_varint(Node("key", "", cursor.at, cursor.at))
        if not isinstance(key.raw, bytes):
            raise cursor.fail("key", "bytes", "a header has no name", start)
        value = cursor.bytes_with_varint(Node("value", "", cursor.at, cursor.at))
        node.value = f"{bytes_words(key.raw)}: {value.value}"


def _message(cursor: Cursor, magic: int) -> int:
    """Read one message of format v0 or v1. Return the number of records in it. Raises Stop."""
    start = cursor.at
    node = Node("message", f"message v{magic}", start, start)
    inside_count = 1
    with cursor.group(node):
        offset = cursor.fixed("offset", Int64)
        size = cursor.fixed("message_size", Int32)
        assert isinstance(size.raw, int)
        if size.raw < MIN_LEGACY_BYTES:
            raise cursor.wrong_value(
                size, start + 8, f"{size.raw} bytes, and a message has {MIN_LEGACY_BYTES} at least"
            )
        end = start + LOG_OVERHEAD + size.raw
        with cursor.scope(end):
            crc = cursor.fixed("crc", Uint32)
            crc.note = "CRC-32 of everything after it."
            _checksum(cursor, crc, zlib.crc32(cursor.data[start + MAGIC_OFFSET : end]))
            cursor.fixed("magic", Int8)
            attributes = cursor.fixed("attributes", Int8)
            assert isinstance(attributes.raw, int)
            attributes.value = _attributes(attributes.raw)
            if magic == 1:
                cursor.fixed("timestamp", Int64)
            key = cursor.sized(
                Node("key", "", cursor.at, cursor.at), "bytes", flexible=False, nullable=True
            )
            codec = _codec(cursor, attributes, attributes.start)
            value = cursor.sized(
                Node("value", "", cursor.at, cursor.at), "bytes", flexible=False, nullable=True
            )
            node.value = f"offset {offset.value}  key {key.value}  value {value.value}"
            if codec is not CompressionType.NONE and isinstance(value.raw, bytes):
                inside_count = _wrapper(cursor, node, value, codec, magic)
    return inside_count


def _wrapper(cursor: Cursor, node: Node, value: Node, codec: CompressionType, magic: int) -> int:
    """Decompress a message set, which is the value of the message around it (the wrapper)."""
    raw = value.raw
    assert isinstance(raw, bytes)
    node.value = f"a wrapper of messages in {codec.name.lower()}"
    try:
        unpacked = decompress(codec, raw, magic, cursor.unpackable)
    except TooLargeError:
        return 1
    except CompressionError as error:
        value.wrong = error.message
        cursor.problem(value.start, value.name, error.message)
        return 1
    inside = cursor.inside(unpacked)
    count = 0
    try:
        while inside.rest:
            if not _is_whole(inside):
                _fail_at_end(inside)
            inner_magic = unpacked[inside.at + MAGIC_OFFSET]
            if inner_magic != magic or unpacked[inside.at + MAGIC_OFFSET + 1] & 7:
                raise inside.fail(
                    "message", "message", f"no plain message of format v{magic} is here"
                )
            count += _message(inside, magic)
    except Stop:
        pass
    cursor.hand_over(value, inside)
    return count
