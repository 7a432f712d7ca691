"""Which records of a batch the cleaner keeps, and the new batch with only these records."""

import numpy as np
import pytest

from kafka_edu.log.cleaner.batch_filter import fate_of, with_records, with_rows, without_records
from kafka_edu.log.cleaner.offset_map import SLOT_BYTES, OffsetMap, digest_of
from kafka_edu.log.cleaner.record_rows import rows_of_batches, rows_of_records
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.memory_records import build_records, read_entry
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import (
    BatchHeader,
    build_batch,
    check_crc,
    iter_headers,
    parse_header,
    read_records,
)

NOW = 1_600_000_000_000


@pytest.mark.parametrize(
    ("record", "tombstones", "expected"),
    [
        (Record(3, NOW, b"a", b"old"), True, "superseded"),
        (Record(3, NOW, b"gone", None), True, "superseded"),
        (Record(5, NOW, b"a", b"last"), True, "stays"),
        (Record(6, NOW, b"gone", None), True, "stays"),
        (Record(6, NOW, b"gone", None), False, "tombstone"),
        (Record(2, NOW, b"unknown", b"v"), False, "stays"),
        (Record(2, NOW, None, b"v"), True, "without_key"),
        (Record(2, NOW, None, None), False, "without_key"),
        (Record(9, NOW, b"a", b"behind the map"), False, "stays"),
        (Record(9, NOW, None, None), False, "stays"),
    ],
)
def test_each_record_has_one_fate(record: Record, tombstones: bool, expected: str) -> None:
    offsets = OffsetMap(10 * SLOT_BYTES)
    offsets.put(digest_of(b"a", b"gone"), np.array([5, 6]), 10)
    offsets.latest_offset = 8
    fate = fate_of(rows_of_records([record]), offsets, keeps_tombstones=tombstones)
    assert [name for name, column in fate._asdict().items() if column[0]] == [expected]


@pytest.mark.parametrize("codec", list(CompressionType))
def test_a_batch_that_loses_records_keeps_offsets_producer_and_sequence(
    codec: CompressionType,
) -> None:
    records = [Record(10 + i, NOW + i, b"k%d" % i, b"v%d" % i, (("h", b"x"),)) for i in range(5)]
    batch = build_batch(
        records,
        compression=codec,
        partition_leader_epoch=4,
        producer_id=9,
        producer_epoch=2,
        base_sequence=30,
        is_transactional=True,
    )
    header = parse_header(batch)
    smaller = with_rows(header, rows_of_batches([(header, batch)]), np.array([1, 3]))
    after = parse_header(smaller)
    check_crc(smaller, after)
    assert read_records(smaller) == [records[1], records[3]]
    assert (after.base_offset, after.last_offset, after.records_count) == (10, 14, 2)
    assert (after.producer_id, after.producer_epoch, after.base_sequence) == (9, 2, 30)
    assert (after.partition_leader_epoch, after.max_timestamp) == (4, NOW + 3)
    assert (after.is_transactional, after.compression, after.last_sequence) == (True, codec, 34)


def test_the_latest_time_of_records_from_before_1970_is_none() -> None:
    batch = build_batch([Record(i, time, b"k", b"v") for i, time in enumerate((-5, -7, 3))])
    header = parse_header(batch)
    rows = rows_of_batches([(header, batch)])
    assert parse_header(with_rows(header, rows, np.array([0, 1]))).max_timestamp == -1
    assert parse_header(with_rows(header, rows, np.array([0, 2]))).max_timestamp == 3


def test_a_batch_without_records_is_a_header_that_still_has_its_sequence_numbers() -> None:
    batch = build_batch(
        [Record(10 + i, NOW, b"k", b"v") for i in range(3)],
        compression=CompressionType.LZ4,
        producer_id=9,
        producer_epoch=2,
        base_sequence=30,
    )
    empty = without_records(parse_header(batch))
    after = parse_header(empty)
    check_crc(empty, after)
    assert (len(empty), read_records(empty)) == (61, [])
    assert (after.base_offset, after.last_offset, after.last_sequence) == (10, 12, 32)
    assert after.compression is CompressionType.NONE


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP])
def test_old_formats_keep_their_format_and_codec(magic: int, codec: CompressionType) -> None:
    time = NOW if magic else -1
    records = [Record(10 + i, time, b"k%d" % i, b"v") for i in range(3)]
    entry = build_records(records, magic, codec)
    smaller = with_records(parse_header_of(entry), records[2:])
    assert read_entry(smaller) == records[2:]


def parse_header_of(entry: bytes) -> BatchHeader:
    return list(iter_headers(entry))[-1][1]
