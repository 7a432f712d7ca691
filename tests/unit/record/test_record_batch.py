import struct
from binascii import unhexlify

import hypothesis.strategies as st
import pytest
from hypothesis import given

from kafka_edu.common.errors import Errors
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
    read_end_transaction_marker,
)
from kafka_edu.record.record import (
    InvalidRecordError,
    Record,
    append_varint,
    decode_records,
    encode_record,
    encode_records,
    read_varint,
    varint,
)
from kafka_edu.record.record_batch import (
    HEADER_BYTES,
    CorruptRecordError,
    TimestampType,
    build_batch,
    check_crc,
    compute_crc,
    decrement_sequence,
    increment_sequence,
    iter_headers,
    parse_header,
    read_records,
)

RECORDS = [
    Record(0, 1000, b"key", b"value"),
    Record(1, 1001, None, b"v", (("h", b"x"), ("null", None))),
    Record(2, 999, b"", None),
]


BYTES = st.none() | st.binary(max_size=70) | st.integers(3_990, 8_300).map(lambda n: b"x" * n)
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3)


@given(st.integers(-(10**6), 10**10), st.integers(-3, 10_000), BYTES, BYTES, HEADERS)
def test_a_record_is_encoded_part_by_part(
    stamp: int,
    offset: int,
    key: bytes | None,
    value: bytes | None,
    headers: list[tuple[str, bytes | None]],
) -> None:
    body = bytearray(b"\0")
    parts: list[int | bytes | None] = [stamp, offset, key, value, len(headers)]
    for name, content in headers:
        parts += [name.encode(), content]
    for part in parts:
        append_varint(body, part if isinstance(part, int) else -1 if part is None else len(part))
        body += part if isinstance(part, bytes) else b""
    expected = bytearray()
    append_varint(expected, len(body))
    expected += body
    assert encode_record(stamp, offset, key, value, headers) == expected
    record = Record(offset + 7, stamp + 9, key, value, tuple(headers))
    assert encode_records([record, record], 7, 9) == expected * 2


def test_the_header_holds_what_was_built() -> None:
    batch = build_batch(
        RECORDS,
        compression=CompressionType.GZIP,
        producer_id=7,
        producer_epoch=3,
        base_sequence=2**31 - 2,
        is_transactional=True,
        partition_leader_epoch=5,
    )
    header = parse_header(batch)
    assert header.size_in_bytes == len(batch)
    assert (header.base_offset, header.last_offset, header.next_offset, header.records_count) == (
        0,
        2,
        3,
        3,
    )
    assert (header.base_timestamp, header.max_timestamp, header.partition_leader_epoch) == (
        1000,
        1001,
        5,
    )
    assert header.compression is CompressionType.GZIP
    assert header.timestamp_type is TimestampType.CREATE_TIME
    assert header.is_transactional
    assert not header.is_control
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, 2**31 - 2)
    assert header.last_sequence == 0, "sequences wrap inside a batch"
    assert header.crc == compute_crc(batch)


@pytest.mark.parametrize("codec", list(CompressionType))
def test_records_come_back_as_they_were(codec: CompressionType) -> None:
    assert read_records(build_batch(RECORDS, compression=codec)) == RECORDS


def test_log_append_time_is_every_record_s_time() -> None:
    records = read_records(build_batch(RECORDS, timestamp_type=TimestampType.LOG_APPEND_TIME))
    assert {r.timestamp for r in records} == {1001}


def test_a_small_record_takes_fifteen_bytes() -> None:
    assert len(build_batch([Record(0, 0, b"key", b"value")])) == HEADER_BYTES + 15


def test_a_batch_as_apache_kafka_wrote_it() -> None:
    """One record, key `k`, value `v`.

    The bytes were written by hand from the description of the format, and checked by Kafka's
    DumpLogSegments (see golden/log).
    """
    batch = build_batch([Record(0, 0, b"k", b"v")])
    assert batch[HEADER_BYTES:] == unhexlify("10000000026b027600")
    assert struct.unpack_from(">i", batch, 8) == (len(batch) - 12,)


def test_headers_are_walked_and_a_partial_batch_is_left_out() -> None:
    one, two = build_batch(RECORDS), build_batch([Record(3, 5, None, b"z")])
    both = one + two
    assert [(p, h.base_offset) for p, h in iter_headers(both)] == [(0, 0), (len(one), 3)]
    assert [p for p, _ in iter_headers(both[:-1])] == [0]
    assert list(iter_headers(b"")) == []


@pytest.mark.parametrize(
    ("at", "value"), [(16, b"\x03"), (8, b"\0\0\0\x05"), (8, b"\xff" * 4), (8, b"\0\0\0\x20")]
)
def test_a_wrong_magic_or_size_is_corrupt(at: int, value: bytes) -> None:
    batch = bytearray(build_batch(RECORDS))
    batch[at : at + len(value)] = value
    with pytest.raises(CorruptRecordError):
        list(iter_headers(batch))


def test_a_flipped_bit_fails_the_checksum() -> None:
    batch = bytearray(build_batch(RECORDS))
    batch[-1] ^= 1
    with pytest.raises(CorruptRecordError) as corrupt:
        check_crc(batch, parse_header(batch))
    assert corrupt.value.error is Errors.CORRUPT_MESSAGE


@pytest.mark.parametrize("count", [2, 4])
def test_a_wrong_count_is_an_invalid_record(count: int) -> None:
    batch = bytearray(build_batch(RECORDS))
    struct.pack_into(">i", batch, 57, count)
    with pytest.raises(InvalidRecordError):
        read_records(batch)


@pytest.mark.parametrize("number", [0, 63, 64, 8191, 8192, 1_048_575, 1_048_576])
def test_a_record_with_varints_of_one_to_four_bytes_comes_back(number: int) -> None:
    content = b"x" * number
    records = [
        Record(5, 1_000, None, None),
        Record(5 + number, 1_000 + number, content, content, (("h", content), ("", None))),
        Record(6 + number, 1_000 - number, None, content),
        Record(7 + number, 2**50, content, None),
    ]
    body = encode_records(records, 5, 1_000)
    assert decode_records(body, 4, 5, 1_000) == records
    at_append = [record._replace(timestamp=7) for record in records]
    assert decode_records(body, 4, 5, 1_000, 7) == at_append


def test_a_record_that_ends_too_early_is_an_invalid_record() -> None:
    content = b"x" * 70
    body = encode_records([Record(0, 9_000, content, content, (("h", content),))], 0, 0)
    for end in range(len(body)):
        with pytest.raises(InvalidRecordError):
            decode_records(body[:end], 1, 0, 0)
    for end in range(len(body) - 2):
        with pytest.raises(InvalidRecordError):  # the length is right, the content is not whole
            decode_records(varint(end) + body[2 : 2 + end], 1, 0, 0)


@pytest.mark.parametrize("position", range(HEADER_BYTES, HEADER_BYTES + 33))
def test_a_damaged_record_is_read_or_refused_as_an_invalid_record(position: int) -> None:
    for value in (0x00, 0x7F, 0x80, 0xFF):
        batch = bytearray(build_batch(RECORDS))
        batch[min(position, len(batch) - 1)] = value
        try:
            records = read_records(batch)
        except InvalidRecordError:
            continue
        assert len(records) == 3


@pytest.mark.parametrize(
    ("number", "coded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (8191, "fe7f"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
    ],
)
def test_varints_are_zigzag(number: int, coded: str) -> None:
    out = bytearray()
    append_varint(out, number)
    assert out.hex() == coded
    assert read_varint(bytes(out), 0) == (number, len(out))


@pytest.mark.parametrize("coded", ["80", "8080808080", "808080808001"])
def test_a_varint_that_does_not_end_is_refused(coded: str) -> None:
    with pytest.raises(InvalidRecordError):
        read_varint(unhexlify(coded), 0)


def test_sequences_wrap() -> None:
    assert increment_sequence(2**31 - 1, 1) == 0
    assert increment_sequence(2**31 - 3, 5) == 2
    assert decrement_sequence(0, 1) == 2**31 - 1


def test_a_marker_ends_a_transaction() -> None:
    batch = build_end_transaction_marker(
        EndTransactionMarker(ControlRecordType.COMMIT, 4),
        producer_id=9,
        producer_epoch=1,
        timestamp=77,
        offset=12,
    )
    header = parse_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert header.base_offset == 12
    assert read_end_transaction_marker(batch) == (ControlRecordType.COMMIT, 4)


def test_a_control_batch_without_a_marker_is_invalid() -> None:
    with pytest.raises(InvalidRecordError):
        read_end_transaction_marker(build_batch([Record(0, 0, b"x", b"y")], is_control=True))
