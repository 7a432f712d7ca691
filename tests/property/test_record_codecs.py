"""Records in, the same records out, in every format and codec; any bytes in, a Kafka error out
(spec P6, V2).
"""

import contextlib

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_edu.common.errors import KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_validator import validate
from kafka_edu.record.compression import CompressionType, decompress
from kafka_edu.record.down_conversion import lazily_down_converted
from kafka_edu.record.legacy import build_message_set, read_old_produce
from kafka_edu.record.memory_records import read_all
from kafka_edu.record.record import Record, append_varint, read_varint
from kafka_edu.record.record_batch import (
    build_batch,
    check_crc,
    compute_crc,
    iter_headers,
    parse_header,
    read_records,
)

Drawn = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
QUICK = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
data = st.none() | st.binary(max_size=40)
headers = st.lists(st.tuples(st.text(max_size=8), data), max_size=3).map(tuple)
bodies = st.lists(st.tuples(st.integers(-1, 2**41), data, data, headers), min_size=1, max_size=8)
CONFIG = LogConfig.parse()
PARTITION = TopicPartition("t", 0)


def records_of(drawn: list[Drawn], base: int = 0) -> list[Record]:
    return [Record(base + i, *fields) for i, fields in enumerate(drawn)]


@given(drawn=bodies, base=st.integers(0, 2**40), codec=st.sampled_from(list(CompressionType)))
@QUICK
def test_a_batch_gives_back_its_records(
    drawn: list[Drawn], base: int, codec: CompressionType
) -> None:
    records = records_of(drawn, base)
    batch = build_batch(records, compression=codec)
    header = parse_header(batch)
    check_crc(batch, header)
    assert read_records(batch) == records
    assert [h for _, h in iter_headers(batch)] == [header]
    assert (header.base_offset, header.last_offset) == (base, base + len(records) - 1)


@given(
    drawn=bodies,
    magic=st.sampled_from([0, 1]),
    codec=st.sampled_from([c for c in CompressionType if c is not CompressionType.ZSTD]),
)
@QUICK
def test_old_formats_keep_all_but_headers_and_v0_s_times(
    drawn: list[Drawn], magic: int, codec: CompressionType
) -> None:
    records = records_of(drawn)
    kept = [r._replace(headers=(), timestamp=r.timestamp if magic else -1) for r in records]
    assert read_old_produce(build_message_set(records, magic, codec)).records == kept
    assert (
        read_all(
            part_bytes(lazily_down_converted(build_batch(records, compression=codec), magic, 0))
        )
        == kept
    )


@given(st.integers(-(2**63), 2**63 - 1))
@QUICK
def test_varints(number: int) -> None:
    out = bytearray()
    append_varint(out, number)
    assert read_varint(bytes(out), 0, 10) == (number, len(out))


@given(noise=st.binary(max_size=200))
@QUICK
def test_noise_is_never_more_than_an_error(noise: bytes) -> None:
    with contextlib.suppress(KafkaException):
        validate(noise, PARTITION, CONFIG, 0)


@given(
    drawn=bodies,
    codec=st.sampled_from(list(CompressionType)),
    at=st.integers(0, 500),
    value=st.integers(0, 255),
    mended=st.booleans(),
)
@QUICK
def test_a_damaged_batch_is_stored_or_refused_and_nothing_else(
    drawn: list[Drawn], codec: CompressionType, at: int, value: int, mended: bool
) -> None:
    batch = bytearray(build_batch(records_of(drawn), compression=codec))
    batch[at % len(batch)] = value
    if mended:  # as a client would send it that is wrong about more than a bit
        batch[17:21] = compute_crc(batch).to_bytes(4, "big")
    with contextlib.suppress(KafkaException):
        valid = validate(batch, PARTITION, CONFIG, 0)
        if valid is not None:
            check_crc(bytes(valid.head) + bytes(valid.rest), valid.header)


@given(noise=st.binary(max_size=100), codec=st.sampled_from(list(CompressionType)))
@QUICK
def test_noise_does_not_break_a_codec(noise: bytes, codec: CompressionType) -> None:
    with contextlib.suppress(KafkaException):
        decompress(codec, noise)
