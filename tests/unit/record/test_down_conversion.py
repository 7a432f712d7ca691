import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.transport import FileRegion, part_bytes, part_size
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.down_conversion import CHUNK_BYTES, lazily_down_converted
from kafka_edu.record.legacy import build_message_set
from kafka_edu.record.memory_records import build_records, read_all
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch, iter_headers
from kafka_edu.sim.memory_file_system import MemoryFileSystem

RECORDS = [Record(50 + i, 1000 + i, b"k%d" % i, b"v%d" % i, (("h", b"h" * 40),)) for i in range(4)]
OLD_CODECS = [
    CompressionType.NONE,
    CompressionType.GZIP,
    CompressionType.SNAPPY,
    CompressionType.LZ4,
]


def converted(stored: bytes, magic: int, first_offset: int = 0) -> bytes:
    part = lazily_down_converted(stored, magic, first_offset)
    size = part_size(part)
    data = bytes(part_bytes(part))
    assert len(data) == size >= len(stored)
    return data


def as_in(magic: int, records: list[Record]) -> list[Record]:
    return [r._replace(headers=(), timestamp=r.timestamp if magic else -1) for r in records]


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_the_records_are_the_same_without_headers(magic: int, codec: CompressionType) -> None:
    data = converted(build_batch(RECORDS, compression=codec), magic)
    assert read_all(data) == as_in(magic, RECORDS)
    assert {header.compression for _, header in iter_headers(data)} == {codec}


def test_a_log_of_mixed_formats() -> None:
    stored = [
        build_records([r._replace(offset=10 * n + i) for i, r in enumerate(RECORDS)], n % 3)
        for n in range(6)
    ]
    for magic in (0, 1):
        data = converted(b"".join(stored), magic)
        assert [r.offset for r in read_all(data)] == [
            10 * n + i for n in range(6) for i in range(4)
        ]
        assert {header.magic for _, header in iter_headers(data)} <= set(range(magic + 1))
    assert converted(stored[0], 0) == stored[0], "what is old enough stays as it is"


def test_it_begins_at_the_first_offset_and_leaves_out_markers() -> None:
    marker = build_end_transaction_marker(
        EndTransactionMarker(ControlRecordType.ABORT, 0), 1, 0, 0, offset=54
    )
    assert [
        r.offset for r in read_all(converted(marker + build_batch(RECORDS) + marker, 1, 52))
    ] == [52, 53]
    assert [
        r.offset
        for r in read_all(converted(build_batch(RECORDS, compression=CompressionType.GZIP), 1, 52))
    ] == [50, 51, 52, 53]
    assert read_all(converted(marker, 1)) == []


def test_zstd_is_refused_if_it_comes_first_else_it_ends_the_response() -> None:
    zstd = build_batch(
        [r._replace(offset=60 + r.offset) for r in RECORDS], compression=CompressionType.ZSTD
    )
    with pytest.raises(KafkaException) as refused:
        lazily_down_converted(zstd, 1, 0)
    assert refused.value.error is Errors.UNSUPPORTED_COMPRESSION_TYPE
    data = converted(build_batch(RECORDS) + zstd + build_batch(RECORDS), 1)
    assert read_all(data) == as_in(1, RECORDS)


def test_a_response_that_grows_is_cut_off_and_one_that_shrinks_is_filled() -> None:
    many = [Record(i, 1000 + i, None, b"") for i in range(200)]
    batches = build_batch(many), build_batch([r._replace(offset=200 + r.offset) for r in many])
    data = converted(b"".join(batches), 1)
    assert len(data) == len(build_message_set(many, 1)), (
        "the first entry is whole, however large it has become"
    )
    assert read_all(data) == many
    headers = [Record(0, 1000, None, b"", tuple((f"header-{i}", b"x" * 50) for i in range(20)))]
    data = converted(build_batch(headers), 1)
    assert read_all(data) == [Record(0, 1000, None, b"")]
    ((at, header),) = iter_headers(data)
    rest = data[at + header.size_in_bytes :]
    assert int.from_bytes(rest[8:12], "big") > len(rest), "as if a batch were cut off"


@pytest.mark.parametrize("cut", [1, 12, 40])
def test_a_cut_off_entry_of_the_log_is_left_out(cut: int) -> None:
    assert read_all(converted(build_batch(RECORDS)[:cut], 0)) == []
    assert len(converted(build_batch(RECORDS)[:cut], 0)) == cut
    one = build_batch(RECORDS)
    assert read_all(converted(one + one[:cut], 0)) == as_in(0, RECORDS)


def test_a_file_is_converted_piece_by_piece() -> None:
    file = MemoryFileSystem().open("/log")
    value = b"v" * 10_000
    file.append([b"before", *(build_batch([Record(i, i, None, value)]) for i in range(100))])
    part = lazily_down_converted(FileRegion(file, 6, file.size() - 6), 1, 0)
    assert not isinstance(part, (bytes, bytearray, memoryview, FileRegion))
    pieces = list(part.pieces)
    assert max(map(len, pieces)) <= CHUNK_BYTES < 900_000
    assert read_all(b"".join(pieces))[:98] == [Record(i, i, None, value) for i in range(98)]
    file.truncate(500_000)
    with pytest.raises(OSError, match="ends within"):
        part_bytes(lazily_down_converted(FileRegion(file, 6, 900_000), 1, 0))


def test_a_batch_that_cannot_be_read_ends_the_response_with_an_error() -> None:
    bad = bytearray(
        build_batch(
            [r._replace(offset=r.offset + 10) for r in RECORDS], compression=CompressionType.GZIP
        )
    )
    bad[70:] = bytes(len(bad) - 70)
    part = lazily_down_converted(build_batch(RECORDS) + bytes(bad), 1, 0)
    with pytest.raises(OSError, match="gzip"):
        part_bytes(part)
    with pytest.raises(KafkaException):
        lazily_down_converted(bytes(bad), 1, 0)
