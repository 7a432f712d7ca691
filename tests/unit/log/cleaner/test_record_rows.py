"""Records as rows: the rows have the same content as records that are decoded one by one."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.common.files import Buffer
from kafka_edu.log.cleaner.offset_map import SLACK, digest_of
from kafka_edu.log.cleaner.record_rows import RecordRows, rows_of_batches, rows_of_records
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.record import InvalidRecordError, Record, encode_records
from kafka_edu.record.record_batch import (
    BatchHeader,
    TimestampType,
    assemble_batch,
    build_batch,
    parse_header,
    read_records,
)

NOW = 1_600_000_000_000
DATA = st.one_of(st.none(), st.binary(max_size=20), st.binary(min_size=60, max_size=70))
HEADERS = st.lists(st.tuples(st.text(max_size=2), DATA), max_size=2).map(tuple)
RECORDS = st.lists(
    st.tuples(st.integers(0, 300), st.integers(-200, 2**41), DATA, DATA, HEADERS), max_size=5
)


def batch_of(
    rows: list[tuple[int, int, bytes | None, bytes | None, object]], **options: object
) -> bytes:
    """Build a batch whose offsets ascend with gaps."""
    at, records = 100, []
    for gap, time, key, value, headers in rows:
        at += 1 + gap
        records.append(Record(at, max(NOW + time, 0), key, value, headers))  # type: ignore[arg-type]
    return build_batch(records, **options)  # type: ignore[arg-type]


def with_header(batch: bytes) -> tuple[BatchHeader, Buffer]:
    return parse_header(batch), batch


@given(
    st.lists(RECORDS.filter(bool), min_size=1, max_size=4),
    st.sampled_from(list(CompressionType)),
    st.sampled_from(list(TimestampType)),
)
def test_rows_say_the_same_as_decoded_records(
    batches: list[list[tuple[int, int, bytes | None, bytes | None, object]]],
    codec: CompressionType,
    clock: TimestampType,
) -> None:
    made = [batch_of(rows, compression=codec, timestamp_type=clock) for rows in batches]
    rows = rows_of_batches([with_header(batch) for batch in made])
    records = [record for batch in made for record in read_records(batch)]
    check(rows, records)
    assert [one.stop - one.start for one in rows.batches] == [len(one) for one in batches]
    pieces = [rows.data[at:to] for at, to in zip(rows.begin, rows.end, strict=True)]
    assert b"".join(pieces) == rows.data[:-SLACK], "the records follow each other"
    check(rows_of_records(records), records)


def check(rows: RecordRows, records: list[Record]) -> None:
    assert len(rows.offset) == len(records)
    assert rows.offset.tolist() == [record.offset for record in records]
    assert rows.timestamp.tolist() == [record.timestamp for record in records]
    assert rows.has_key.tolist() == [record.key is not None for record in records]
    assert rows.has_value.tolist() == [record.value is not None for record in records]
    expected = digest_of(*(record.key for record in records if record.key is not None))
    assert np.array_equal(rows.digests.high, expected.high)
    assert np.array_equal(rows.digests.low, expected.low)


def test_a_record_of_megabytes_and_a_batch_without_records() -> None:
    large = build_batch([Record(0, NOW, b"k", bytes(3_000_000)), Record(1, NOW, b"l", None)])
    empty = assemble_batch(b"", parse_header(large)._replace(records_count=0))
    rows = rows_of_batches([with_header(empty), with_header(large), with_header(empty)])
    assert rows.offset.tolist() == [0, 1]
    assert rows.batches == (slice(0, 0), slice(0, 2), slice(2, 2))
    assert rows_of_batches([with_header(empty)]).offset.tolist() == []


def test_the_bytes_of_the_batches_are_copied_only_once() -> None:
    """Each further copy of 1 KiB records would cost more than the rest of the work."""
    batch = build_batch([Record(i, NOW, b"key-%d" % i, bytes(1024)) for i in range(1000)])
    tracemalloc.start()
    try:
        rows_of_batches([with_header(batch), with_header(batch)])
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 1.5 * 2 * len(batch)


@pytest.mark.parametrize("cut", range(1, 40))
def test_bytes_that_are_no_records_are_refused(cut: int) -> None:
    """Bytes of records that are cut off, or have one byte changed, give an error or rows, and no
    crash.
    """
    header = parse_header(build_batch([Record(i, NOW, b"key", b"value") for i in range(3)]))
    body = encode_records([Record(i, NOW, b"key", b"value") for i in range(3)], 0, NOW)
    with pytest.raises(InvalidRecordError):
        rows_of_batches([(header, assemble_batch(body[:-cut], header))])
    for value in (0x00, 0x01, 0x7F, 0x80, 0xFF):
        damaged = bytearray(body)
        damaged[cut] = value
        try:
            rows_of_batches([(header, assemble_batch(bytes(damaged), header))])
        except InvalidRecordError:
            continue
