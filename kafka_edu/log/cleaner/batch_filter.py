"""Decide which records of a batch are kept, and build a batch of only these records (Kafka:
shouldRetainRecord in LogCleaner.scala, filterTo in MemoryRecords.java; KIP-98, KIP-32).

A batch that loses records keeps its base offset, last offset, producer id and sequence numbers. So
the offsets of records never change, and the broker still recognizes a retry of the batch. A batch
that loses all its records is dropped. There is one exception: for the last batch of a producer that
still writes, a header without records is kept.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kafka_edu.common.arrays import Bools, Int64s
from kafka_edu.log.cleaner.offset_map import NOT_FOUND, OffsetMap
from kafka_edu.log.cleaner.record_rows import RecordRows
from kafka_edu.record.compression import compress
from kafka_edu.record.memory_records import build_records
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import (
    COMPRESSION_MASK,
    NO_TIMESTAMP,
    BatchHeader,
    assemble_batch,
)


class Fate(NamedTuple):
    """Which records stay, and why the other records are dropped. Each column has one row for each
    record.
    """

    stays: Bools
    superseded: Bools
    """A later record has the same key."""
    tombstone: Bools
    """A tombstone that is the key's last record, and is old enough to go."""
    without_key: Bools


def fate_of(rows: RecordRows, offsets: OffsetMap, *, keeps_tombstones: bool) -> Fate:
    """Decide which records of data batches stay. O(records).

    A record without a key is dropped. A compacted topic does not accept such records, but they may
    come from a time when the topic had a different policy. The map `offsets` covers the dirty part
    only up to some offset; every record after that offset stays.
    """
    last = np.full(len(rows.offset), NOT_FOUND, np.int64)
    last[rows.has_key] = offsets.get(rows.digests)
    covered = rows.offset <= offsets.latest_offset
    without_key = covered & ~rows.has_key
    superseded = covered & rows.has_key & (rows.offset < last)
    tombstone = covered & rows.has_key & ~superseded & ~rows.has_value
    if keeps_tombstones:
        tombstone[:] = False
    return Fate(~(without_key | superseded | tombstone), superseded, tombstone, without_key)


def without_records(header: BatchHeader) -> bytes:
    """Return a v2 batch that has this header and no records (Kafka: writeEmptyHeader)."""
    return assemble_batch(
        b"",
        header._replace(
            attributes=header.attributes & ~COMPRESSION_MASK,
            base_timestamp=header.max_timestamp,
            records_count=0,
        ),
    )


def with_rows(header: BatchHeader, rows: RecordRows, kept: Int64s) -> bytes:
    """Return a v2 batch with only the records in the rows `kept` (at least one), compressed like
    the old batch.

    A record is copied byte by byte. So its timestamp stays a difference from the base timestamp of
    the batch, which does not change either.
    """
    data = rows.data
    begins, ends = rows.begin[kept].tolist(), rows.end[kept].tolist()
    body = b"".join([data[at:to] for at, to in zip(begins, ends, strict=True)])
    codec = header.compression
    latest = header.max_timestamp
    if not header.timestamp_type:
        latest = max(NO_TIMESTAMP, int(rows.timestamp[kept].max()))
    return assemble_batch(
        compress(codec, body) if codec else body,
        header._replace(max_timestamp=latest, records_count=len(begins)),
    )


def with_records(header: BatchHeader, records: Sequence[Record]) -> bytes:
    """Return an entry of format v0 or v1 that has only the given `records` (at least one)."""
    return build_records(
        records, header.magic, header.compression, timestamp_type=header.timestamp_type
    )
