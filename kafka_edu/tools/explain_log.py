"""The meaning of each byte of a log's file: position, bytes, field, value, and one sentence.

`dump-log --explain` prints a file piece by piece. The pieces follow each other without a gap and
cover every byte exactly once. Bytes that cannot be read are a piece too. The names of the fields
are Kafka's: from DefaultRecordBatch, DefaultRecord and LegacyRecord, the indexes, and the schema of
producer snapshots.

Compressed records are one piece. With `deep`, further pieces for their decompressed bytes follow,
with positions in the decompressed data.
"""

import os
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

import google_crc32c

from kafka_edu.common.errors import KafkaException
from kafka_edu.log.log_file_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
)
from kafka_edu.record.compression import CompressionType, compression_type, decompress
from kafka_edu.record.legacy import iter_messages
from kafka_edu.record.record import InvalidRecordError, read_varint
from kafka_edu.record.record_batch import (
    ATTRIBUTES_OFFSET,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC_OFFSET,
    MAGIC_V2,
    BatchHeader,
    CorruptRecordError,
    iter_headers,
)

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_UINT32: Final = struct.Struct(">I")
_INT64: Final = struct.Struct(">q")
_INT8: Final = struct.Struct(">b")


class Piece(NamedTuple):
    """Consecutive bytes that form one field."""

    position: int
    raw: bytes
    field: str
    value: str
    sentence: str
    depth: int = 0
    """0 for bytes of the file, 1 for bytes of decompressed records."""


class Heading(NamedTuple):
    """A line above the pieces of one batch, record or entry."""

    text: str
    depth: int = 0


Line = Piece | Heading
Show = Callable[[bytes | None], str]


class ExplainError(Exception):
    """There is nothing to explain. The text says why."""


class Field(NamedTuple):
    """A field of fixed size."""

    name: str
    layout: struct.Struct
    sentence: str
    show: Callable[[int], str] = str


def _time(ms: int) -> str:
    if ms < 0:
        return f"{ms} (none)"
    try:
        when = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(ms)
    return f"{ms} ({when:%Y-%m-%d %H:%M:%S}.{ms % 1000:03d} UTC)"


def _or_none(value: int) -> str:
    return f"{value} (none)" if value < 0 else str(value)


#: The fields of a v2 batch up to its records. CRC and attributes get their values from `_batch`.
_BATCH: Final = (
    Field("baseOffset", _INT64, "The offset of the first record; the leader sets it."),
    Field("batchLength", _INT32, "How many bytes of the batch follow this field."),
    Field(
        "partitionLeaderEpoch",
        _INT32,
        "The epoch of the leader that appended the batch; -1 as a producer sends it.",
    ),
    Field("magic", _INT8, "The version of the message format: 2 since Kafka 0.11."),
    Field("crc", _UINT32, "CRC-32C of all that follows, so offset and epoch can be set later."),
    Field("attributes", _INT16, "Bits: 0-2 codec, 3 timestamp type, 4 transactional, 5 control."),
    Field(
        "lastOffsetDelta", _INT32, "What to add to baseOffset for the offset of the last record."
    ),
    Field("baseTimestamp", _INT64, "Timestamp deltas of the records count from this time.", _time),
    Field("maxTimestamp", _INT64, "The latest timestamp of the records.", _time),
    Field("producerId", _INT64, "The id of an idempotent or transactional producer.", _or_none),
    Field("producerEpoch", _INT16, "Fences older producers with the same id.", _or_none),
    Field(
        "baseSequence",
        _INT32,
        "The sequence number of the first record, by which duplicates are known.",
        _or_none,
    ),
    Field("recordsCount", _INT32, "How many records follow."),
)
_OFFSET_SENTENCE: Final = (
    "The offset of the message; of a compressed set, that of its last message."
)
_LEGACY: Final = (
    Field("offset", _INT64, _OFFSET_SENTENCE),
    Field("messageSize", _INT32, "How many bytes of the message follow this field."),
    Field("crc", _UINT32, "CRC-32 of all that follows, so the offset can be set later."),
    Field("magic", _INT8, "The version of the message format: 0, or 1 since Kafka 0.10."),
    Field("attributes", _INT8, "Bits: 0-2 codec, 3 timestamp type (only in v1)."),
)
_LEGACY_TIME: Final = Field(
    "timestamp", _INT64, "When the message was created, or appended, in ms since 1970.", _time
)
_TXN_ENTRY: Final = (
    Field("version", _INT16, "The version of the entry's form."),
    Field("producerId", _INT64, "The producer whose transaction was aborted."),
    Field("firstOffset", _INT64, "The first record of the transaction in this partition."),
    Field("lastOffset", _INT64, "The offset of the abort marker."),
    Field(
        "lastStableOffset",
        _INT64,
        "The last stable offset right after the marker: how far a search must read this index.",
    ),
)
_SNAPSHOT_HEAD: Final = (
    Field("version", _INT16, "The version of the snapshot's form."),
    Field("crc", _UINT32, "CRC-32C of all that follows."),
    Field("producer_entries", _INT32, "How many producers follow."),
)
_SNAPSHOT_ENTRY: Final = (
    Field("producer_id", _INT64, "The id of the producer."),
    Field("epoch", _INT16, "Its epoch."),
    Field("last_sequence", _INT32, "The sequence number of its last record.", _or_none),
    Field("last_offset", _INT64, "The offset of its last record.", _or_none),
    Field("offset_delta", _INT32, "How many offsets its last batch has, less one."),
    Field("timestamp", _INT64, "The latest timestamp of its last batch.", _time),
    Field(
        "coordinator_epoch", _INT32, "The epoch of the coordinator of its last marker.", _or_none
    ),
    Field(
        "current_txn_first_offset",
        _INT64,
        "The first offset of its open transaction, if one is open.",
        _or_none,
    ),
)
_MARKERS: Final = {0: "ABORT", 1: "COMMIT"}


def explain(
    path: str, data: memoryview, *, deep: bool, show: Show, offset: int | None = None
) -> Iterator[Line]:
    """Yield the pieces of a file, and headings between them. With `offset`, only the batch or entry
    for that offset.

    `show` turns a key or payload into text. Raises ExplainError.
    """
    match os.path.splitext(path)[1]:
        case suffix if suffix == LOG_SUFFIX:
            yield from _log(data, deep, show, offset)
        case suffix if suffix == INDEX_SUFFIX:
            yield from _index(data, _base_offset(path), offset, 8, _offset_entry)
        case suffix if suffix == TIME_INDEX_SUFFIX:
            yield from _index(data, _base_offset(path), offset, 12, _time_entry)
        case suffix if suffix == TXN_INDEX_SUFFIX:
            yield from _txn_index(data, offset)
        case suffix if suffix == SNAPSHOT_SUFFIX:
            yield from _snapshot(data)
        case _:
            raise ExplainError(f"Ignoring unknown file {path}")


def _fields(
    data: memoryview, start: int, fields: Sequence[Field], at: int = 0, depth: int = 0
) -> Iterator[Piece]:
    """Yield the pieces of consecutive fields in `data` from `at` on. `start` is the position of
    `data` itself.
    """
    for name, layout, sentence, show in fields:
        raw = bytes(data[at : at + layout.size])
        yield Piece(start + at, raw, name, show(int(layout.unpack(raw)[0])), sentence, depth)
        at += layout.size


def _log(data: memoryview, deep: bool, show: Show, offset: int | None) -> Iterator[Line]:
    end, last = 0, -1
    reason = "The file ends inside of a batch here."
    try:
        for number, (position, header) in enumerate(iter_headers(data)):
            end, last = position + header.size_in_bytes, header.last_offset
            if offset is not None and last < offset:
                continue
            if offset is not None and header.magic == MAGIC_V2 and header.base_offset > offset:
                raise ExplainError(
                    f"No batch holds offset {offset}: the next one begins at {header.base_offset}."
                )
            entry = data[position:end]
            yield Heading(f"batch {number}, {_extent(header)}, {len(entry):,} bytes")
            if header.magic == MAGIC_V2:
                yield from _batch(entry, position, header, deep, show)
            else:
                yield from _message(entry, position, deep, show)
            if offset is not None:
                return
    except CorruptRecordError as error:
        reason = f"No batch begins here: {error.message.rstrip('.')}."
    if offset is not None:
        raise ExplainError(f"No batch holds offset {offset}: the last one ends at {last}.")
    yield from _rest(data, end, "invalidBytes", reason)


def _rest(data: memoryview, end: int, field: str, sentence: str) -> Iterator[Line]:
    if len(data) > end:
        size = len(data) - end
        yield Heading(f"the last {size:,} bytes")
        yield Piece(end, bytes(data[end:]), field, f"{size:,} bytes", sentence)


def _extent(header: BatchHeader) -> str:
    if header.magic < MAGIC_V2:
        return f"a message of format v{header.magic} with offset {header.last_offset}"
    return f"offsets {header.base_offset} to {header.last_offset}"


def _batch(
    entry: memoryview, position: int, header: BatchHeader, deep: bool, show: Show
) -> Iterator[Line]:
    computed = google_crc32c.value(bytes(entry[ATTRIBUTES_OFFSET:]))
    for piece in _fields(entry, position, _BATCH):
        if piece.field == "crc":
            piece = piece._replace(value=_crc(header.crc, computed))
        elif piece.field == "attributes":
            piece = piece._replace(value=_attributes(header.attributes, MAGIC_V2))
        yield piece
    body = entry[HEADER_BYTES:]
    codec = header.attributes & 0x07
    if not len(body):
        return
    if deep and not codec:
        yield from _records(bytes(body), position + HEADER_BYTES, header, show, 0)
        return
    how = f"compressed by {_codec(codec)}" if codec else "not compressed"
    hint = "They are explained below." if deep else "--deep-iteration explains them."
    yield Piece(
        position + HEADER_BYTES,
        bytes(body),
        "records",
        f"{len(body):,} bytes, {how}",
        f"The {header.records_count:,} records of the batch. {hint}",
    )
    if deep:
        yield from _decompressed(
            codec, bytes(body), MAGIC_V2, lambda plain: _records(plain, 0, header, show, 1)
        )


def _decompressed(
    codec: int, body: bytes, magic: int, explained: Callable[[bytes], Iterator[Line]]
) -> Iterator[Line]:
    """Yield the pieces of compressed data, with positions in the decompressed data."""
    try:
        plain = decompress(compression_type(codec), body, magic)
    except KafkaException as error:
        yield Heading(f"it cannot be decompressed: {error.message}", 1)
        return
    yield Heading(f"decompressed: {len(plain):,} bytes", 1)
    yield from explained(plain)


def _records(
    data: bytes, start: int, header: BatchHeader, show: Show, depth: int
) -> Iterator[Line]:
    at = 0
    try:
        for number in range(header.records_count):
            if at >= len(data):
                return
            lines, following = _record(data, at, start, number, header, show, depth)
            yield from lines
            at = following
    except (InvalidRecordError, struct.error) as error:
        reason = error.message if isinstance(error, InvalidRecordError) else str(error)
        yield Piece(
            start + at, data[at:], "invalidBytes", f"{len(data) - at:,} bytes", f"{reason}.", depth
        )
        return
    if at < len(data):
        size = f"{len(data) - at:,} bytes"
        sentence = "They follow the last record and belong to none."
        yield Piece(start + at, data[at:], "invalidBytes", size, sentence, depth)


class _Cursor:
    """Reads fields from the bytes of a record one by one, and collects their pieces."""

    def __init__(self, data: bytes, at: int, start: int, depth: int) -> None:
        self.data, self.at, self.start, self.depth = data, at, start, depth
        self.pieces: list[Line] = []

    def add(self, size: int, field: str, value: str, sentence: str) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise InvalidRecordError(f"{field} of {size} bytes ends behind the batch")
        raw = self.data[self.at : self.at + size]
        self.pieces.append(Piece(self.start + self.at, raw, field, value, sentence, self.depth))
        self.at += size
        return raw

    def varint(self, field: str, sentence: str, value: Callable[[int], str], most: int = 5) -> int:
        number, end = read_varint(self.data, self.at, most)
        self.add(end - self.at, field, value(number), sentence)
        return number

    def bytes_of(self, name: str, length: str, what: str, show: Show) -> None:
        """Read a length, and then that many bytes. A length of -1 means null."""
        size = self.varint(
            length,
            f"How many bytes {what} has, as a varint; -1: it is null.",
            lambda n: f"{n} (null)" if n < 0 else str(n),
        )
        if size > 0:
            raw = self.data[self.at : self.at + size]
            self.add(size, name, show(raw), f"The bytes of {what}.")


def _record(
    data: bytes,
    at: int,
    start: int,
    number: int,
    header: BatchHeader,
    show: Show,
    depth: int,
) -> tuple[list[Line], int]:
    """Return the lines of one record, and the start of the next record. Raises
    InvalidRecordError.
    """
    cursor = _Cursor(data, at, start, depth)
    length = cursor.varint("length", "How many bytes of the record follow, as a varint.", str)
    end = cursor.at + length
    if length < 0 or end > len(data):
        raise InvalidRecordError(f"a record of {length} bytes ends behind the batch")
    cursor.add(1, "attributes", str(data[cursor.at]), "No bit of it is in use.")
    cursor.varint(
        "timestampDelta",
        "What to add to baseTimestamp, as a varlong.",
        lambda n: f"{n}: {_time(header.base_timestamp + n)}",
        10,
    )
    delta = cursor.varint(
        "offsetDelta",
        "What to add to baseOffset, as a varint.",
        lambda n: f"{n}: offset {header.base_offset + n}",
    )
    if header.is_control:
        _control(cursor)
    else:
        cursor.bytes_of("key", "keyLength", "the key", show)
        cursor.bytes_of("value", "valueLength", "the value", show)
    count = cursor.varint("headersCount", "How many headers follow, as a varint.", str)
    for _ in range(count):
        cursor.bytes_of("headerKey", "headerKeyLength", "the header's name", text_or_null)
        cursor.bytes_of("headerValue", "headerValueLength", "the header's value", text_or_null)
    if cursor.at > end:
        raise InvalidRecordError(f"a record of {length} bytes has fields of more")
    if cursor.at < end:
        cursor.add(end - cursor.at, "invalidBytes", "", "No field of the record is here.")
    heading = Heading(f"record {number}, offset {header.base_offset + delta}", depth)
    return [heading, *cursor.pieces], end


def _control(cursor: _Cursor) -> None:
    """Read the key and value of a control record: a marker that ends a transaction."""
    for name, what, fields in (
        (
            "key",
            "the key",
            (
                ("version", _INT16, "The version of the key's form.", str),
                (
                    "type",
                    _INT16,
                    "How the transaction ended: 0 aborted, 1 committed.",
                    lambda n: f"{n} ({_MARKERS.get(n, 'unknown')})",
                ),
            ),
        ),
        (
            "value",
            "the value",
            (
                ("version", _INT16, "The version of the value's form.", str),
                (
                    "coordinatorEpoch",
                    _INT32,
                    "The epoch of the transaction coordinator that decided it.",
                    str,
                ),
            ),
        ),
    ):
        size = cursor.varint(
            f"{name}Length", f"How many bytes {what} has, as a varint; -1: it is null.", str
        )
        end = cursor.at + max(size, 0)
        for field, layout, sentence, show in fields:
            if cursor.at + layout.size <= min(end, len(cursor.data)):
                number = int(layout.unpack_from(cursor.data, cursor.at)[0])
                cursor.add(layout.size, field, show(number), sentence)
        if cursor.at < end:
            rest = end - cursor.at
            cursor.add(rest, name, f"{rest} bytes", f"Bytes of {what} of a later version.")


def _message(
    entry: memoryview, start: int, deep: bool, show: Show, depth: int = 0
) -> Iterator[Line]:
    """Yield the pieces of a message of format v0 or v1."""
    magic = entry[MAGIC_OFFSET]
    stored = _UINT32.unpack_from(entry, 12)[0]
    attributes = entry[MAGIC_OFFSET + 1]
    computed = zlib.crc32(entry[MAGIC_OFFSET:])
    for piece in _fields(entry, start, _LEGACY, depth=depth):
        if piece.field == "crc":
            piece = piece._replace(value=_crc(stored, computed))
        elif piece.field == "attributes":
            piece = piece._replace(value=_attributes(attributes, magic))
        yield piece
    cursor = _Cursor(bytes(entry), 18, start, depth)
    codec = attributes & 0x07
    try:
        if magic == 1:
            at = _INT64.unpack_from(cursor.data, cursor.at)[0]
            cursor.add(8, _LEGACY_TIME.name, _time(at), _LEGACY_TIME.sentence)
        _legacy_bytes(cursor, "key", "the key", show)
        value = _legacy_bytes(
            cursor,
            "value",
            "the value" if not codec else f"the value: messages, compressed by {_codec(codec)}",
            show if not codec else size_or_null,
        )
    except (InvalidRecordError, struct.error):
        value = None
    yield from cursor.pieces
    if cursor.at < len(entry):
        size = len(entry) - cursor.at
        sentence = "They are no field of a message of this format."
        yield Piece(
            start + cursor.at, bytes(entry[cursor.at :]), "invalidBytes", f"{size}", sentence, depth
        )
    if deep and codec and value is not None:
        yield from _decompressed(codec, value, magic, lambda plain: _inner(plain, show))


def _legacy_bytes(cursor: _Cursor, name: str, what: str, show: Show) -> bytes | None:
    size = int(_INT32.unpack_from(cursor.data, cursor.at)[0])
    shown = f"{size} (null)" if size < 0 else str(size)
    cursor.add(4, f"{name}Length", shown, f"How many bytes the {name} has; -1: it is null.")
    if size <= 0:
        return None
    raw = cursor.data[cursor.at : cursor.at + size]
    return cursor.add(size, name, show(raw), f"The bytes of {what}.")


def _inner(data: bytes, show: Show) -> Iterator[Line]:
    """Yield the messages of a compressed set."""
    at = 0
    try:
        for number, message in enumerate(iter_messages(data, checked=False)):
            yield Heading(f"message {number} of the set", 1)
            entry = memoryview(data)[at : at + message.size_in_bytes]
            yield from _message(entry, at, False, show, 1)
            at += message.size_in_bytes
    except (CorruptRecordError, InvalidRecordError) as error:
        rest = data[at:]
        yield Piece(at, rest, "invalidBytes", f"{len(rest):,} bytes", f"{error.message}.", 1)


class _Entry(NamedTuple):
    """An index entry: the offset with which a look-up compares, its heading, and its pieces."""

    offset: int
    pieces: Sequence[Piece]


def _offset_entry(data: memoryview, at: int, base: int) -> _Entry:
    relative = int(_INT32.unpack_from(data, at)[0])
    fields = (
        Field(
            "relativeOffset",
            _INT32,
            "The last offset of a batch, less the segment's base offset.",
            lambda n: f"{n}: offset {base + n}",
        ),
        Field("position", _INT32, "The byte of the .log file at which to begin to look for it."),
    )
    return _Entry(base + relative, list(_fields(data, 0, fields, at)))


def _time_entry(data: memoryview, at: int, base: int) -> _Entry:
    relative = int(_INT32.unpack_from(data, at + 8)[0])
    fields = (
        Field("timestamp", _INT64, "No record up to the next field's offset is later.", _time),
        Field(
            "relativeOffset",
            _INT32,
            "The offset of the batch with that timestamp, less the segment's base offset.",
            lambda n: f"{n}: offset {base + n}",
        ),
    )
    return _Entry(base + relative, list(_fields(data, 0, fields, at)))


def _index(
    data: memoryview,
    base: int,
    offset: int | None,
    size: int,
    read: Callable[[memoryview, int, int], _Entry],
) -> Iterator[Line]:
    whole = len(data) - len(data) % size
    used = whole
    while used > size and not any(data[used - size : used]):
        used -= size
    entries = [read(data, at, base) for at in range(0, used, size)]
    if offset is not None:
        below = [n for n, entry in enumerate(entries) if entry.offset <= offset]
        if not below:
            raise ExplainError(
                f"No entry is at or below offset {offset}: a look-up begins at byte 0 of the log."
            )
        chosen = [below[-1]]
    else:
        chosen = list(range(len(entries)))
    for number in chosen:
        yield Heading(f"entry {number}")
        yield from entries[number].pieces
    if offset is None:
        if whole > used:
            zeros = bytes(data[used:whole])
            yield Heading(f"room for {len(zeros) // size:,} entries")
            sentence = "Empty: the segment is the active one, or its broker was killed."
            yield Piece(used, zeros, "unused", f"{len(zeros):,} zeros", sentence)
        yield from _rest(data, whole, "invalidBytes", "They are no whole entry: the file is torn.")


def _txn_index(data: memoryview, offset: int | None) -> Iterator[Line]:
    size = sum(field.layout.size for field in _TXN_ENTRY)
    whole = len(data) - len(data) % size
    found = False
    for number, at in enumerate(range(0, whole, size)):
        first, last = (int(n) for n in struct.unpack_from(">qq", data, at + 10))
        if offset is None or first <= offset <= last:
            found = True
            yield Heading(f"aborted transaction {number}, offsets {first} to {last}")
            yield from _fields(data, 0, _TXN_ENTRY, at)
    if offset is None:
        yield from _rest(data, whole, "invalidBytes", "They are no whole entry: the file is torn.")
    elif not found:
        raise ExplainError(f"No aborted transaction here reaches over offset {offset}.")


def _snapshot(data: memoryview) -> Iterator[Line]:
    size = sum(field.layout.size for field in _SNAPSHOT_ENTRY)
    head = sum(field.layout.size for field in _SNAPSHOT_HEAD)
    if len(data) < head:
        yield from _rest(data, 0, "invalidBytes", "The file is shorter than a snapshot's head.")
        return
    yield Heading("the head")
    computed = google_crc32c.value(bytes(data[6:]))
    for piece in _fields(data, 0, _SNAPSHOT_HEAD):
        if piece.field == "crc":
            piece = piece._replace(value=_crc(_UINT32.unpack(piece.raw)[0], computed))
        yield piece
    count = int(_INT32.unpack_from(data, 6)[0])
    at = head
    for number in range(max(count, 0)):
        if at + size > len(data):
            break
        yield Heading(f"producer {number}")
        yield from _fields(data, 0, _SNAPSHOT_ENTRY, at)
        at += size
    yield from _rest(data, at, "invalidBytes", "They belong to no producer of the count above.")


def _crc(stored: int, computed: int) -> str:
    return f"{stored} (right)" if stored == computed else f"{stored} (wrong: it is {computed})"


def _codec(codec: int) -> str:
    return CompressionType(codec).name if codec <= CompressionType.ZSTD else f"codec {codec}"


def _attributes(bits: int, magic: int) -> str:
    said = [f"{bits:#06x}" if magic == MAGIC_V2 else f"{bits:#04x}", f"codec {_codec(bits & 7)}"]
    if magic:
        said.append("LogAppendTime" if bits & LOG_APPEND_TIME_BIT else "CreateTime")
    if magic == MAGIC_V2:
        said += [name for bit, name in ((0x10, "transactional"), (0x20, "control")) if bits & bit]
    return ", ".join(said)


def text_or_null(raw: bytes | None) -> str:
    return "null" if raw is None else raw.decode(errors="replace")


def size_or_null(raw: bytes | None) -> str:
    return "null" if raw is None else f"{len(raw):,} bytes"


def _base_offset(path: str) -> int:
    name = os.path.basename(path).partition(".")[0]
    if not name.isascii() or not name.isdigit():
        raise ExplainError(f"{path} is not named by an offset, so its entries have no base")
    return int(name)
