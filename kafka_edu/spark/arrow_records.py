"""Decode the records of a fetch into Arrow columns, many records with each call of numpy.

A record of format v2 is a chain of varints (see `kafka_edu.record.record`):

    length · attributes · timestamp delta · offset delta · key length, key · value length, value
    · header count, headers

All fields are read column by column (`kafka_edu.record.record_columns`).

Keys and values are also copied many at a time. The positions where they begin and end form one
ascending list of numbers. This list makes the whole buffer a valid Arrow array with the elements
key, gap, value, gap and so on. Arrow's `take` then copies every fourth element, for example all
keys.

The rows are those of Spark's own connector: key, value, topic, partition, offset, timestamp,
timestampType, and headers if they are wanted. For a record without headers, the column `headers` is
null.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafka_edu.common.arrays import Bools, Bytes, Int64s, Numbers
from kafka_edu.protocol.types import ProtocolError, read_varint
from kafka_edu.record.record import InvalidRecordError
from kafka_edu.record.record_columns import append_begins, behind_varints, varints
from kafka_edu.spark import crc32c
from kafka_edu.spark.record_codecs import CodecError, decompress
from kafka_edu.spark.source_errors import CorruptBatchError

#: The head of a v2 batch. Its fields are: base offset, length, leader epoch, magic, CRC,
#: attributes, last offset delta, base timestamp, max timestamp, producer id, producer epoch, base
#: sequence, number of records.
BATCH: Final = struct.Struct(">qiibIhiqqqhii")
_ENTRY: Final = struct.Struct(">qi")
LEGACY: Final = struct.Struct(">qiIbb")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_CONTROL_KEY: Final = struct.Struct(">hh")
ENTRY_BYTES: Final = 12
MAGIC_AT: Final = 16
CODEC_BITS, LOG_APPEND_TIME_BIT, TRANSACTIONAL_BIT, CONTROL_BIT = 0x07, 0x08, 0x10, 0x20
_ABORT: Final = 0

CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE = 0, 1, -1

FIELDS: Final = (
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", pa.timestamp("us", tz="UTC")),
    pa.field("timestampType", pa.int32()),
)
HEADER: Final = pa.struct([("key", pa.string()), ("value", pa.binary())])
SCHEMA: Final = pa.schema(FIELDS)
SCHEMA_WITH_HEADERS: Final = pa.schema([*FIELDS, pa.field("headers", pa.list_(HEADER))])


class Wanted(NamedTuple):
    """Which records of one partition are wanted."""

    topic: str
    partition: int
    start: int
    """The first wanted offset. A batch may begin before it."""
    end: int
    """The first offset after the wanted ones."""
    check_crcs: bool = True
    include_headers: bool = False


class _Columns(NamedTuple):
    """The decoded columns of some records. Keys, values and headers are positions in `buffer`. A
    length of −1 means null.
    """

    buffer: bytes
    offsets: Int64s
    timestamps: Int64s
    timestamp_types: Int64s
    key_at: Int64s
    key_length: Int64s
    value_at: Int64s
    value_length: Int64s
    headers_at: Int64s | None
    """For each record, the position of its count of headers. None for formats v0 and v1, which have
    no headers.
    """


class _V2Batch(NamedTuple):
    records: memoryview | bytes
    record_count: int
    base_offset: int
    base_timestamp: int
    append_timestamp: int | None
    """With LogAppendTime, the leader's timestamp, which applies to all records of the batch. None
    with CreateTime.
    """


def next_offset(records: memoryview, position: int) -> int:
    """Return the offset after the last complete batch, or `position` if there is none.

    Only the heads of the batches are read. So the next fetch can be sent before the records are
    decoded. O(batches).
    """
    for at, _ in entries(records):
        offset = _ENTRY.unpack_from(records, at)[0]
        if records[at + MAGIC_AT] >= 2:
            offset += _INT32.unpack_from(records, at + 23)[0]
        position = max(position, offset + 1)
    return position


def entries(records: memoryview) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each complete batch or old message. An incomplete last entry is
    left out.
    """
    at, size = 0, len(records)
    while size - at > MAGIC_AT:
        length = _ENTRY.unpack_from(records, at)[1]
        if length < 14 or (records[at + MAGIC_AT] >= 2 and length < 49):
            raise CorruptBatchError(f"a batch of {length} bytes is too short")
        end = at + ENTRY_BYTES + length
        if end > size:
            return
        yield at, end
        at = end


def decode(
    records: memoryview, wanted: Wanted, aborted: Sequence[tuple[int, int]] = ()
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of `records` in order. Rows outside of the wanted offsets are left out.

    `aborted` has the producer id and the first offset of each aborted transaction in `records`. A
    broker returns this list for read_committed. Rows of these transactions are left out. Control
    batches never become rows. Neighbouring batches of format v2 become one Arrow batch, and so do
    neighbouring messages of formats v0 and v1. An Arrow batch without rows is left out. Raises
    CorruptBatchError if the bytes are not valid.
    """
    schema = SCHEMA_WITH_HEADERS if wanted.include_headers else SCHEMA
    for columns in _runs(records, wanted, sorted(aborted, key=lambda one: one[1])):
        batch = _to_arrow(columns, wanted, schema)
        if batch.num_rows:
            yield batch


def _runs(
    records: memoryview, wanted: Wanted, aborted: list[tuple[int, int]]
) -> Iterator[_Columns]:
    """Yield columns: one set of columns for neighbouring v2 batches, or for neighbouring messages
    of older formats.
    """
    new: list[_V2Batch] = []
    old: list[memoryview] = []
    ongoing: set[int] = set()
    upcoming = aborted
    for at, end in entries(records):
        entry = records[at:end]
        magic = entry[MAGIC_AT]
        if magic > 2:
            raise CorruptBatchError(f"a batch of the unknown message format {magic}")
        if magic == 2:
            if old:
                yield _legacy_columns(old, wanted.check_crcs)
                old = []
            batch, ongoing, upcoming = _v2_batch(entry, wanted, ongoing, upcoming)
            if batch is not None:
                new.append(batch)
        else:
            if new:
                yield _v2_columns(new)
                new = []
            old.append(entry)
    if new:
        yield _v2_columns(new)
    if old:
        yield _legacy_columns(old, wanted.check_crcs)


def _v2_batch(
    entry: memoryview, wanted: Wanted, ongoing: set[int], upcoming: list[tuple[int, int]]
) -> tuple[_V2Batch | None, set[int], list[tuple[int, int]]]:
    """Return the batch, or None if it has no wanted rows. Also return the new values of `ongoing`
    and `upcoming` for the next batch.

    `ongoing` are the producers with an aborted transaction that has begun and not ended before this
    batch. `upcoming` are the aborted transactions that begin later.
    """
    (base_offset, _, _, _, crc, attributes, last_delta, base_timestamp, max_timestamp, producer,
     _, _, count) = BATCH.unpack_from(entry)  # fmt: skip
    if wanted.check_crcs and crc32c.crc32c(bytes(entry[21:])) != crc:
        raise CorruptBatchError(f"the batch at offset {base_offset} fails its checksum")
    while upcoming and upcoming[0][1] <= base_offset + last_delta:
        ongoing = ongoing | {upcoming[0][0]}
        upcoming = upcoming[1:]
    if attributes & CONTROL_BIT:
        if producer in ongoing and count and _is_abort(entry, attributes):
            ongoing = ongoing - {producer}
        return None, ongoing, upcoming
    if attributes & TRANSACTIONAL_BIT and producer in ongoing:
        return None, ongoing, upcoming
    if base_offset + last_delta < wanted.start or base_offset >= wanted.end or count <= 0:
        return None, ongoing, upcoming
    found: memoryview | bytes = entry[BATCH.size :]
    if codec := attributes & CODEC_BITS:
        try:
            found = decompress(codec, bytes(found), 2)
        except CodecError as error:
            raise CorruptBatchError(f"the batch at offset {base_offset}: {error}") from None
    append = max_timestamp if attributes & LOG_APPEND_TIME_BIT else None
    return _V2Batch(found, count, base_offset, base_timestamp, append), ongoing, upcoming


def _is_abort(entry: memoryview, attributes: int) -> bool:
    """Return whether a control batch is an abort marker, from the key of its only record."""
    try:
        records: memoryview | bytes = entry[BATCH.size :]
        if codec := attributes & CODEC_BITS:
            records = decompress(codec, bytes(records), 2)
        _, at = read_varint(records, 0)
        _, at = read_varint(records, at + 1)
        _, at = read_varint(records, at)
        _, at = read_varint(records, at)
        return bool(_CONTROL_KEY.unpack_from(records, at)[1] == _ABORT)
    except (ProtocolError, CodecError, struct.error):
        raise CorruptBatchError("a control batch has no control record") from None


def _begins(buffer: bytes, at: int, end: int, count: int, found: list[int]) -> None:
    """Append the position of each record. Raises CorruptBatchError."""
    try:
        append_begins(buffer, at, end, count, found)
    except InvalidRecordError as error:
        raise CorruptBatchError(error.message) from None


def _varints(buffer: Bytes, at: Int64s) -> tuple[Int64s, Int64s]:
    """Return the varint at each position, and the position after each varint. Raises
    CorruptBatchError.
    """
    try:
        return varints(buffer, at)
    except InvalidRecordError as error:
        raise CorruptBatchError(error.message) from None


def _v2_columns(batches: list[_V2Batch]) -> _Columns:
    """Decode the columns of several batches together, so that each call of numpy handles many
    records.
    """
    buffer = b"".join(batch.records for batch in batches)
    found: list[int] = []
    at = 0
    for batch in batches:
        end = at + len(batch.records)
        _begins(buffer, at, end, batch.record_count, found)
        at = end
    data = np.frombuffer(buffer, np.uint8)
    bodies = behind_varints(data, np.array(found, np.int64))
    counts = [batch.record_count for batch in batches]
    timestamp_delta, after = _varints(data, bodies + 1)
    offset_delta, after = _varints(data, after)
    key_length, key_at = _varints(data, after)
    value_length, value_at = _varints(data, key_at + np.maximum(key_length, 0))
    headers_at = value_at + np.maximum(value_length, 0)
    if min(key_length.min(), value_length.min()) < -1 or not (
        np.all(headers_at[:-1] < bodies[1:]) and headers_at[-1] < len(buffer)
    ):
        raise CorruptBatchError("a key or value reaches over the end of its record")
    append = np.array(
        [-1 if batch.append_timestamp is None else batch.append_timestamp for batch in batches],
        np.int64,
    )
    by_leader = np.repeat([batch.append_timestamp is not None for batch in batches], counts)
    created = np.repeat([batch.base_timestamp for batch in batches], counts) + timestamp_delta
    return _Columns(
        buffer=buffer,
        offsets=np.repeat([batch.base_offset for batch in batches], counts) + offset_delta,
        timestamps=np.where(by_leader, np.repeat(append, counts), created),
        timestamp_types=by_leader.astype(np.int64),  # 1 is LogAppendTime
        key_at=key_at,
        key_length=key_length,
        value_at=value_at,
        value_length=value_length,
        headers_at=headers_at,
    )


class _OldMessage(NamedTuple):
    """A message of format v0 or v1. Its key and value are positions in `raw`."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key_at: int
    key_length: int
    value_at: int
    value_length: int

    @property
    def timestamp_type(self) -> int:
        if self.magic == 0:
            return NO_TIMESTAMP_TYPE
        return LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME_BIT else CREATE_TIME


def _old_message(raw: memoryview, at: int, end: int, check_crcs: bool) -> _OldMessage:
    try:
        offset, _, crc, magic, attributes = LEGACY.unpack_from(raw, at)
        if check_crcs and zlib.crc32(raw[at + MAGIC_AT : end]) != crc:
            raise CorruptBatchError(f"the message at offset {offset} fails its checksum")
        here = at + LEGACY.size
        timestamp = -1
        if magic:
            timestamp = _INT64.unpack_from(raw, here)[0]
            here += 8
        key_length = _INT32.unpack_from(raw, here)[0]
        key_at = here + 4
        here = key_at + max(key_length, 0)
        value_length = _INT32.unpack_from(raw, here)[0]
        value_at = here + 4
    except struct.error:
        raise CorruptBatchError("a message is shorter than its fields") from None
    if value_at + max(value_length, 0) > end:
        raise CorruptBatchError("a value reaches over the end of its message")
    return _OldMessage(
        offset=offset,
        magic=magic,
        attributes=attributes,
        timestamp=timestamp,
        key_at=key_at,
        key_length=max(key_length, -1),
        value_at=value_at,
        value_length=max(value_length, -1),
    )


def _legacy_columns(messages: list[memoryview], check_crcs: bool) -> _Columns:
    """Decode messages of formats v0 and v1, including those inside compressed sets.

    A set is a message whose value contains other messages. In v0 the inner messages have their own
    offsets. In v1 the inner offsets count from 0, and the set has the offset of its last message.
    With LogAppendTime, the set's timestamp applies to all messages in it.
    """
    parts: list[bytes] = []
    rows: list[tuple[int, int, int, int, int, int, int]] = []
    size = 0
    for entry in messages:
        raw = memoryview(bytes(entry))
        outer = _old_message(raw, 0, len(raw), check_crcs)
        found = [outer]
        if codec := outer.attributes & CODEC_BITS:
            value = raw[outer.value_at : outer.value_at + max(outer.value_length, 0)]
            try:
                raw = memoryview(decompress(codec, bytes(value), outer.magic))
            except CodecError as error:
                raise CorruptBatchError(f"the set at offset {outer.offset}: {error}") from None
            found = [_old_message(raw, at, end, check_crcs) for at, end in entries(raw)]
            if outer.magic and found:
                shift = outer.offset - found[-1].offset
                found = [one._replace(offset=one.offset + shift) for one in found]
            if outer.timestamp_type == LOG_APPEND_TIME:
                found = [
                    one._replace(timestamp=outer.timestamp, attributes=outer.attributes)
                    for one in found
                ]
        rows += [
            (one.offset, one.timestamp, one.timestamp_type, size + one.key_at, one.key_length,
             size + one.value_at, one.value_length)
            for one in found
        ]  # fmt: skip
        parts.append(raw.tobytes())
        size += len(raw)
    column = np.array(rows, np.int64).reshape(-1, 7).T
    return _Columns(
        buffer=b"".join(parts),
        offsets=column[0],
        timestamps=column[1],
        timestamp_types=column[2],
        key_at=column[3],
        key_length=column[4],
        value_at=column[5],
        value_length=column[6],
        headers_at=None,
    )


def _to_arrow(columns: _Columns, wanted: Wanted, schema: pa.Schema) -> pa.RecordBatch:
    """Return an Arrow batch with those rows whose offsets are wanted."""
    keep = np.flatnonzero((columns.offsets >= wanted.start) & (columns.offsets < wanted.end))
    everything = len(keep) == len(columns.offsets)
    rows = len(keep)
    if not rows:
        return pa.RecordBatch.from_pylist([], schema=schema)

    def kept(column: Int64s) -> Int64s:
        return column if everything else column[keep]

    key_at, key_length = kept(columns.key_at), kept(columns.key_length)
    value_at, value_length = kept(columns.value_at), kept(columns.value_length)
    buffer = pa.py_buffer(columns.buffer)
    keys, values = _slices(
        buffer, len(columns.buffer), [(key_at, key_length), (value_at, value_length)]
    )
    arrays = [
        keys,
        values,
        _repeated(wanted.topic, rows),
        _arrow(pa.int32(), np.full(rows, wanted.partition, np.int32)),
        _arrow(pa.int64(), kept(columns.offsets)),
        _arrow(pa.timestamp("us", tz="UTC"), kept(columns.timestamps) * 1000),
        _arrow(pa.int32(), kept(columns.timestamp_types).astype(np.int32)),
    ]
    if wanted.include_headers:
        arrays.append(
            pa.nulls(rows, pa.list_(HEADER))
            if columns.headers_at is None
            else _headers(columns.buffer, kept(columns.headers_at))
        )
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _bits(flags: Bools) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def _arrow(kind: pa.DataType, values: Numbers, valid: Bools | None = None) -> pa.Array:
    """Return numbers as an Arrow array that uses the same memory. Numbers that are not valid are
    null.

    `pa.array` could do this too, but it imports pandas (as `pa.repeat` does). The import takes 0.3
    s of CPU time in a new worker.
    """
    bits = None if valid is None else _bits(valid)
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [bits, data])


def _repeated(text: str, rows: int) -> pa.StringArray:
    raw = text.encode()
    borders = pa.py_buffer(np.array([0, len(raw)], np.int32))
    once = pa.Array.from_buffers(pa.string(), 1, [None, borders, pa.py_buffer(raw)])
    return once.take(_arrow(pa.int64(), np.zeros(rows, np.int64)))


def _slices(
    buffer: pa.Buffer, size: int, fields: Sequence[tuple[Int64s, Int64s]]
) -> list[pa.BinaryArray]:
    """Return a binary array for each field. `fields` has, for each field, the positions where its
    values begin, and the lengths of the values.

    The positions must ascend from row to row, and within a row from field to field. A length of −1
    means null.
    """
    if size > 2**31 - 1:
        raise CorruptBatchError(f"the batches of one fetch hold {size} bytes; 2 GiB are the most")
    rows, width = len(fields[0][0]), 2 * len(fields)
    if not rows:  # no record has a header
        return [pa.array([], pa.binary()) for _ in fields]
    table = np.empty((rows, width), np.int64)
    for i, (at, length) in enumerate(fields):
        table[:, 2 * i] = at
        table[:, 2 * i + 1] = at + np.maximum(length, 0)
    borders = table.reshape(-1)
    if borders[0] < 0 or borders[-1] > size or np.any(borders[1:] < borders[:-1]):
        raise CorruptBatchError("a field reaches over the end of its record")
    everything = pa.Array.from_buffers(
        pa.binary(), len(borders) - 1, [None, pa.py_buffer(borders.astype(np.int32)), buffer]
    )
    first = np.arange(rows, dtype=np.int64) * width
    return [
        everything.take(_arrow(pa.int64(), first + 2 * i, valid=length >= 0))
        for i, (_, length) in enumerate(fields)
    ]


def _headers(buffer: bytes, at: Int64s) -> pa.ListArray:
    """Return the headers of each record as a list of key and value, or null for a record without
    headers.

    Headers are read in rounds: first the first header of all records, then the second header of all
    records, and so on.
    """
    data = np.frombuffer(buffer, np.uint8)
    counts, after = _varints(data, at)
    if len(counts) and counts.min() < 0:
        raise CorruptBatchError(f"a record has {counts.min()} headers")
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    if total > len(buffer):
        raise CorruptBatchError(f"{total} headers in {len(buffer)} bytes")
    key_at, key_length = np.zeros(total, np.int64), np.zeros(total, np.int64)
    value_at, value_length = np.zeros(total, np.int64), np.zeros(total, np.int64)
    left, turn = np.flatnonzero(counts > 0), 0
    while left.size:
        slot = ends[left] - counts[left] + turn
        key_length[slot], key_at[slot] = _varints(data, after[left])
        here = key_at[slot] + np.maximum(key_length[slot], 0)
        value_length[slot], value_at[slot] = _varints(data, here)
        after[left] = value_at[slot] + np.maximum(value_length[slot], 0)
        turn += 1
        left = left[counts[left] > turn]
    if len(after) and (after.max() > len(buffer) or (total and key_length.min() < 0)):
        raise CorruptBatchError("a header reaches over the end of its record")
    if total and np.any(value_length < -1):
        raise CorruptBatchError("a header has a value of negative length")
    keys, values = _slices(
        pa.py_buffer(buffer), len(buffer), [(key_at, key_length), (value_at, value_length)]
    )
    borders = np.concatenate([np.zeros(1, np.int64), ends]).astype(np.int32)
    return pa.ListArray.from_arrays(
        _arrow(pa.int32(), borders),
        pa.StructArray.from_arrays([_text(keys), values], fields=list(HEADER)),
        mask=pa.Array.from_buffers(pa.bool_(), len(counts), [None, _bits(counts == 0)]),
    )


def _text(keys: pa.BinaryArray) -> pa.StringArray:
    """Return binary values as text. Bytes that are not UTF-8 become U+FFFD, as in Java."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.as_py().decode("utf-8", "replace") for key in keys], pa.string())
