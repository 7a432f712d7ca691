"""We read what kafka-python's record classes write, and they read what we write, in every format
and codec (spec P6).
"""

from collections.abc import Sequence
from typing import Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kafka.codec import has_gzip, has_lz4, has_snappy, has_zstd
from kafka.record import MemoryRecords
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from kafka_edu.record.compression import CompressionType
from kafka_edu.record.memory_records import build_records, read_all
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import TimestampType, build_batch, check_crc, iter_headers

Drawn = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
data = st.none() | st.binary(max_size=40) | st.integers(0, 300).map(lambda n: b"long " * n)
headers = st.lists(st.tuples(st.text(max_size=8), data), max_size=3).map(tuple)
drawn_records = st.lists(
    st.tuples(st.integers(0, 2**41), data, data, headers), min_size=1, max_size=12
)
#: kafka-python's packages for these are in the group dev. Without them it has only gzip.
CODECS: Final = [
    codec
    for codec, has in (
        (CompressionType.NONE, lambda: True),
        (CompressionType.GZIP, has_gzip),
        (CompressionType.SNAPPY, has_snappy),
        (CompressionType.LZ4, has_lz4),
        (CompressionType.ZSTD, has_zstd),
    )
    if has()
]
#: No lz4 in v0, because kafka-python needs the package xxhash there. Apache Kafka has it, see
#: tests/conformance/cases/records.py.
NOT_HELD: Final = {(0, CompressionType.ZSTD), (1, CompressionType.ZSTD), (0, CompressionType.LZ4)}
formats = st.sampled_from(
    [(magic, codec) for magic in (0, 1, 2) for codec in CODECS if (magic, codec) not in NOT_HELD]
)


def in_format(drawn: Sequence[Drawn], magic: int, base: int = 0) -> list[Record]:
    """Return the records as format `magic` can hold them."""
    return [
        Record(base + i, t if magic else -1, key, value, h if magic == 2 else ())
        for i, (t, key, value, h) in enumerate(drawn)
    ]


def read_by_kafka_python(entries: bytes) -> list[Record]:
    records, found = MemoryRecords(entries), []
    while records.has_next():
        batch = records.next_batch()
        assert batch.validate_crc()
        for one in batch:
            time = -1 if one.timestamp is None else one.timestamp
            found.append(
                Record(
                    one.offset,
                    time,
                    as_bytes(one.key),
                    as_bytes(one.value),
                    tuple((n, as_bytes(v)) for n, v in one.headers),
                )
            )
    return found


def as_bytes(field: bytes | None) -> bytes | None:
    return None if field is None else bytes(field)


def written_by_kafka_python(records: Sequence[Record], magic: int, codec: CompressionType) -> bytes:
    if magic == 2:
        builder = DefaultRecordBatchBuilder(
            magic=2,
            compression_type=codec,
            is_transactional=False,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            batch_size=1 << 20,
        )
    else:
        builder = LegacyRecordBatchBuilder(magic=magic, compression_type=codec, batch_size=1 << 20)
    for i, record in enumerate(records):
        assert (
            builder.append(
                i,
                record.timestamp if magic else None,
                record.key,
                record.value,
                list(record.headers),
            )
            is not None
        )
    return bytes(builder.build())


@given(drawn=drawn_records, kind=formats)
@QUICK
def test_what_kafka_python_writes_is_read(
    drawn: list[Drawn], kind: tuple[int, CompressionType]
) -> None:
    magic, codec = kind
    records = in_format(drawn, magic)
    entries = written_by_kafka_python(records, magic, codec)
    for at, header in iter_headers(entries):
        check_crc(entries[at : at + header.size_in_bytes], header)
        assert (header.magic, header.compression) in (
            (magic, codec),
            (magic, CompressionType.NONE),
        )  # it leaves out what does not get smaller
    found = read_all(entries)
    if (
        magic == 1
        # A producer leaves the wrapper's offset at 0 for the broker to set. It is the offset of the
        # last message.
    ):
        found = [record._replace(offset=record.offset - found[0].offset) for record in found]
    assert found == records


@given(drawn=drawn_records, kind=formats, base=st.integers(0, 2**50))
@QUICK
def test_what_we_write_kafka_python_reads(
    drawn: list[Drawn], kind: tuple[int, CompressionType], base: int
) -> None:
    magic, codec = kind
    records = in_format(drawn, magic, base)
    assert read_by_kafka_python(build_records(records, magic, codec)) == records


@given(
    drawn=drawn_records, kind=formats.filter(lambda kind: kind[0] > 0), time=st.integers(0, 2**41)
)
@QUICK
def test_log_append_time_is_every_record_s(
    drawn: list[Drawn], kind: tuple[int, CompressionType], time: int
) -> None:
    magic, codec = kind
    records = [record._replace(timestamp=time) for record in in_format(drawn, magic)]
    entries = build_records(records, magic, codec, timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert read_by_kafka_python(entries) == read_all(entries) == records


@given(drawn=drawn_records)
@QUICK
def test_without_compression_both_write_the_same_bytes(drawn: list[Drawn]) -> None:
    for magic in (0, 1, 2):
        records = in_format(drawn, magic)
        ours, theirs = (
            bytearray(build_records(records, magic)),
            written_by_kafka_python(records, magic, CompressionType.NONE),
        )
        if magic == 2:
            ours[12:16] = theirs[12:16]  # the leader epoch is the broker's, and not in the checksum
        assert bytes(ours) == theirs


def test_a_producer_s_numbers_are_in_the_same_places() -> None:
    batch = build_batch(
        [Record(0, 5, b"k", b"v")],
        producer_id=2**40,
        producer_epoch=7,
        base_sequence=99,
        is_transactional=True,
    )
    found = MemoryRecords(batch).next_batch()
    assert (
        found.producer_id,
        found.producer_epoch,
        found.base_sequence,
        found.is_transactional,
    ) == (2**40, 7, 99, True)
