"""A producer's batch: its bytes have Kafka's format, and its callbacks are called exactly once."""

import hypothesis.strategies as st
from hypothesis import given

from kafka_edu.clients.producer.producer_batch import (
    Outcome,
    ProducerBatch,
    RecordMetadata,
    Thunk,
    largest_size,
)
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.record.compression_type import CompressionType
from kafka_edu.record.record import Record, encode_record
from kafka_edu.record.record_batch import HEADER_BYTES, build_batch, check_crc, parse_header

T0 = TopicPartition("t", 0)
BYTES = st.none() | st.binary(max_size=70) | st.integers(3_990, 8_300).map(lambda n: b"x" * n)
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3)


@given(st.integers(-(10**6), 10**10), st.integers(0, 10_000), BYTES, BYTES, HEADERS)
def test_the_largest_size_of_a_record_is_never_too_small(
    stamp: int,
    offset: int,
    key: bytes | None,
    value: bytes | None,
    headers: list[tuple[str, bytes | None]],
) -> None:
    encoded = encode_record(stamp, offset, key, value, headers)
    assert len(encoded) + HEADER_BYTES <= largest_size(key, value, headers)


def test_a_closed_batch_is_the_batch_of_the_record_module() -> None:
    records = [Record(n, 100 + n * 7 % 5, b"k", b"v" * n, ()) for n in range(20)]
    for codec in CompressionType:
        batch = ProducerBatch(1, T0, 10_000, 0, 0)
        for record in records:
            batch.try_append(record.timestamp, record.key, record.value, record.headers)
        batch.close(codec)
        assert batch.data == build_batch(records, compression=codec)
        batch.set_producer_state(7, 2, 30)
        assert batch.data is not None
        header = parse_header(batch.data)
        check_crc(batch.data, header)
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 30)


def test_the_outcome_comes_once() -> None:
    batch = ProducerBatch(1, T0, 10_000, 0, 0)
    batch.try_append(5, None, b"v", ())
    calls: list[tuple[RecordMetadata | None, KafkaException | None]] = []
    batch.thunks.append(Thunk(lambda m, e: calls.append((m, e)), 0, 5, -1, 1))
    bugs: list[Exception] = []
    assert batch.finish(Outcome(9, 77, None), bugs.append)
    assert not batch.finish(Outcome(10, -1, None), bugs.append)
    assert calls == [(RecordMetadata("t", 0, 9, 77, -1, 1), None)]
    assert bugs == []
