"""Encode Arrow columns as record batches of format v2, many records with each call of numpy.

A record is a chain of varints and bytes (see `kafka_edu.record.record`):

    length · attributes · timestamp delta · offset delta · key length, key · value length, value
    · header count, headers

numpy encodes the varints of all records at once, and Arrow joins them with the keys and values. The
buffer of the joined column is the body of the batch. Headers are rare, so they are encoded row by
row.

`arrow_records` decodes such batches. This module needs only numpy and pyarrow.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_edu.common.arrays import Int64s
from kafka_edu.record.record import append_varint
from kafka_edu.spark.arrow_records import BATCH, ENTRY_BYTES, TRANSACTIONAL_BIT
from kafka_edu.spark.crc32c import crc32c
from kafka_edu.spark.record_codecs import compress

_CRC: Final = struct.Struct(">I")
#: Positions in a batch: of the checksum, and of the first byte that the checksum covers.
_CRC_AT, _CHECKED_FROM = 17, 21
#: An upper limit, in bytes, for the varints and attributes of one record.
RECORD_OVERHEAD: Final = 32
NO_PRODUCER: Final = -1


class Rows(NamedTuple):
    """Rows for one partition, as columns of equal length. A column may be None if all its values
    are null.
    """

    values: pa.LargeBinaryArray
    keys: pa.LargeBinaryArray | None
    headers: pa.ListArray | None

    def __len__(self) -> int:
        return len(self.values)

    def slice(self, start: int, length: int) -> "Rows":
        return Rows(*(None if c is None else c.slice(start, length) for c in self))

    def take(self, indices: Int64s) -> "Rows":
        chosen = pa.array(indices)
        return Rows(*(None if c is None else c.take(chosen) for c in self))

    def sizes(self) -> Int64s:
        """Return an upper limit for the size of each row, in bytes. The sizes of headers in it are
        exact.
        """
        found = _lengths(self.values) + RECORD_OVERHEAD
        if self.keys is not None:
            found = found + _lengths(self.keys)
        if self.headers is not None and self.headers.null_count < len(self.headers):
            found = found + np.array([len(one) for one in _headers(self.headers)], np.int64)
        return found


class Producer(NamedTuple):
    """The identity of a producer, by which brokers recognise its batches."""

    producer_id: int = NO_PRODUCER
    epoch: int = -1
    transactional: bool = False


def batches_of(rows: Rows, batch_bytes: int) -> Iterator[Rows]:
    """Divide rows into groups of at most `batch_bytes` each. A larger row forms a separate group.
    O(rows).
    """
    ends = np.cumsum(rows.sizes())
    start, done = 0, 0
    while start < len(rows):
        end = max(int(np.searchsorted(ends, done + batch_bytes, "right")), start + 1)
        yield rows.slice(start, end - start)
        start, done = end, int(ends[end - 1])


def encode_batch(
    rows: Rows, *, timestamp_ms: int, codec: int, producer: Producer, sequence: int
) -> bytes:
    """Return one record batch with these rows; there must be at least one. All records get the same
    timestamp. O(bytes).

    `sequence` is the sequence number of the first record, or −1 if there is no producer id.
    """
    records = encode_records(rows)
    if codec:
        records = compress(codec, records)
    batch = bytearray(BATCH.size)
    BATCH.pack_into(
        batch,
        0,
        0,
        BATCH.size - ENTRY_BYTES + len(records),
        -1,
        2,
        0,
        codec | (TRANSACTIONAL_BIT if producer.transactional else 0),
        len(rows) - 1,
        timestamp_ms,
        timestamp_ms,
        producer.producer_id,
        producer.epoch,
        sequence,
        len(rows),
    )
    batch += records
    _CRC.pack_into(batch, _CRC_AT, crc32c(bytes(memoryview(batch)[_CHECKED_FROM:])))
    return bytes(batch)


def encode_records(rows: Rows) -> bytes:
    """Return the encoded records of a batch, one after the other. Their timestamp deltas are 0.
    O(bytes).
    """
    count = len(rows)
    offsets = _varints(np.arange(count, dtype=np.int64))
    empty = pa.array([b""], pa.large_binary()).take(pa.array(np.zeros(count, np.int64)))
    keys = empty if rows.keys is None else rows.keys.fill_null(b"")
    values = rows.values.fill_null(b"")
    key_sizes = _varints(
        np.full(count, -1, np.int64) if rows.keys is None else _lengths(rows.keys, null=-1)
    )
    value_sizes = _varints(_lengths(rows.values, null=-1))
    if rows.headers is None or rows.headers.null_count == count:
        headers = pa.array([b"\0"], pa.large_binary()).take(pa.array(np.zeros(count, np.int64)))
    else:
        headers = pa.array(_headers(rows.headers), pa.large_binary())
    start = pa.array([b"\0\0"], pa.large_binary()).take(pa.array(np.zeros(count, np.int64)))
    parts = [start, offsets, key_sizes, keys, value_sizes, values, headers]
    lengths = _varints(sum((_lengths(one) for one in parts), np.zeros(count, np.int64)))
    joined = pc.binary_join_element_wise(lengths, *parts, pa.scalar(b"", pa.large_binary()))
    borders = np.frombuffer(joined.buffers()[1], np.int64)[joined.offset :]
    return bytes(memoryview(joined.buffers()[2])[borders[0] : borders[count]])


def _lengths(column: pa.LargeBinaryArray, null: int = 0) -> Int64s:
    return np.asarray(pc.binary_length(column).fill_null(null), np.int64)


def _varints(numbers: Int64s) -> pa.LargeBinaryArray:
    """Return each number as a zigzag varint. Numbers may have at most 32 bits."""
    rest = ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)
    out = np.zeros((len(rest), 5), np.uint8)
    sizes = np.ones(len(rest), np.int64)
    for i in range(5):
        more = rest > 0x7F
        out[:, i] = (rest & np.uint64(0x7F)) | (more.astype(np.uint64) << np.uint64(7))
        rest = rest >> np.uint64(7)
        sizes += more
    kept = np.arange(5) < sizes[:, None]
    borders = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(sizes), [None, pa.py_buffer(borders), pa.py_buffer(out[kept])]
    )


def _headers(column: pa.ListArray) -> list[bytes]:
    """Return for each row its count of headers and its headers, encoded."""
    found = []
    for row in column.to_pylist():
        out = bytearray()
        append_varint(out, len(row or ()))
        for header in row or ():
            name = header["key"].encode()
            append_varint(out, len(name))
            out += name
            value = header["value"]
            append_varint(out, -1 if value is None else len(value))
            out += value or b""
        found.append(bytes(out))
    return found
