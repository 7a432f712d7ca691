"""The records of some batches as rows: what the cleaner must know to decide about each record.

The rows come from batches of format v2, or from one entry of an older format. Nothing is copied for
a record: a row says where the record lies in `data`, and a record that stays is copied as it is.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kafka_edu.common.arrays import Bools, Int64s
from kafka_edu.common.files import Buffer
from kafka_edu.log.cleaner.offset_map import SLACK, Digests, digest_of, key_digests
from kafka_edu.record.compression import decompress
from kafka_edu.record.record import InvalidRecordError, Record
from kafka_edu.record.record_batch import HEADER_BYTES, BatchHeader
from kafka_edu.record.record_columns import append_begins, behind_varints, varints


class RecordRows(NamedTuple):
    """One row for each record, in the order of the log."""

    data: bytes
    """The record sections of the batches, decompressed, one after the other, and `SLACK` bytes."""
    batches: tuple[slice, ...]
    """The rows of each batch."""
    begin: Int64s
    """The byte in `data` at which each record begins. A record begins with its length."""
    end: Int64s
    offset: Int64s
    timestamp: Int64s
    has_key: Bools
    has_value: Bools
    """False means that the record is a tombstone."""
    digests: Digests
    """The digests of the keys, for the rows that have a key, in order."""

    def __len__(self) -> int:
        return len(self.offset)


def rows_of_batches(batches: Sequence[tuple[BatchHeader, Buffer]]) -> RecordRows:
    """Return the rows of v2 batches. Raises InvalidRecordError and CompressionError. O(bytes).

    The bytes are copied once, so that they follow each other without gaps. With records of 1 KiB,
    each further copy would take longer than reading all the fields.
    """
    sections = [_section(header, batch) for header, batch in batches]
    data = b"".join((*sections, bytes(SLACK)))
    begins: list[int] = []
    borders, at = [0], 0
    for (header, _), section in zip(batches, sections, strict=True):
        append_begins(data, at, at + len(section), header.records_count, begins)
        borders.append(len(begins))
        at += len(section)
    headers, counts = [header for header, _ in batches], np.diff(borders)

    def of_batch(values: list[int]) -> Int64s:
        return np.repeat(np.array(values, np.int64), counts)

    begin = np.array(begins, np.int64)
    end = np.append(begin, at)[1:]  # a record ends where the next one begins
    column = np.frombuffer(data, np.uint8)
    timestamp_delta, after = varints(column, behind_varints(column, begin) + 1)
    offset_delta, after = varints(column, after)
    key_length, key_at = varints(column, after)
    _check_lengths(key_length, end - key_at)
    value_length, value_at = varints(column, key_at + np.maximum(key_length, 0))
    _check_lengths(value_length, end - value_at)
    has_key = key_length >= 0
    key_begin = key_at[has_key]
    by_leader = of_batch([int(header.timestamp_type) for header in headers]) > 0
    created = of_batch([header.base_timestamp for header in headers]) + timestamp_delta
    return RecordRows(
        data=data,
        batches=tuple(slice(first, last) for first, last in pairwise(borders)),
        begin=begin,
        end=end,
        offset=of_batch([header.base_offset for header in headers]) + offset_delta,
        timestamp=np.where(by_leader, of_batch([h.max_timestamp for h in headers]), created),
        has_key=has_key,
        has_value=value_length >= 0,
        digests=key_digests(data, key_begin, key_begin + key_length[has_key]),
    )


def _check_lengths(lengths: Int64s, room: Int64s) -> None:
    """Raise InvalidRecordError if a key or value is not within its record.

    At least one more byte of the record must follow each key and each value.
    """
    if np.any(lengths < -1) or np.any(np.maximum(lengths, 0) >= room):
        raise InvalidRecordError("a key or a value reaches over the end of its record")


def rows_of_records(records: Sequence[Record]) -> RecordRows:
    """Return the rows of the records of one entry in an older format. There is no `data`."""
    nowhere = np.zeros(len(records), np.int64)
    return RecordRows(
        data=b"",
        batches=(slice(0, len(records)),),
        begin=nowhere,
        end=nowhere,
        offset=np.array([record.offset for record in records], np.int64),
        timestamp=np.array([record.timestamp for record in records], np.int64),
        has_key=np.array([record.key is not None for record in records], np.bool_),
        has_value=np.array([record.value is not None for record in records], np.bool_),
        digests=digest_of(*(record.key for record in records if record.key is not None)),
    )


def _section(header: BatchHeader, batch: Buffer) -> Buffer:
    records = memoryview(batch)[HEADER_BYTES:]
    return decompress(header.compression, records) if header.compression else records
