"""A time below -1 never becomes the latest time of a batch: Kafka begins with -1 and looks for a
larger one (LogValidator of 2.8.2).
"""

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_validator import WALK_LIMIT, validate
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.legacy import build_message_set
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import (
    build_batch,
    check_crc,
    iter_headers,
    parse_header,
    read_records,
)
from tests.unit.log.test_log import NOW, batch, damaged, open_log

CONFIG = LogConfig.parse({})


def latest(*timestamps: int, compression: CompressionType = CompressionType.NONE) -> int:
    """Return MaxTimestamp of the batch as it is stored."""
    batch = build_batch(
        [Record(i, timestamp, None, b"v") for i, timestamp in enumerate(timestamps)],
        compression=compression,
    )
    valid = validate(batch, TopicPartition("t", 0), CONFIG, 1_600_000_000_000)
    assert valid is not None
    stored = bytes(valid.head) + bytes(valid.rest)
    ((_, header),) = list(iter_headers(stored))
    check_crc(stored, header)
    assert header.max_timestamp == valid.max_timestamp
    return header.max_timestamp


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.GZIP])
@pytest.mark.parametrize("records", [1, WALK_LIMIT + 1])
def test_a_batch_with_negative_times_only_has_none(
    records: int, compression: CompressionType
) -> None:
    assert latest(*[-5] * records, compression=compression) == -1
    assert latest(*[-5] * records, 7, compression=compression) == 7
    assert latest(*[-1] * records, compression=compression) == -1


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP])
def test_old_messages_become_one_v2_batch(magic: int, codec: CompressionType) -> None:
    log = open_log()
    sent = build_message_set([Record(i, NOW, b"k", b"v%d" % i) for i in range(3)], magic, codec)
    assert log.append_as_leader(sent, 0, NOW).last_offset == 2
    stored = part_bytes(log.read(0, 1 << 20).records)
    ((_, header),) = iter_headers(stored)
    assert header.compression is codec
    check_crc(stored, header)
    assert [(r.offset, r.timestamp, r.value) for r in read_records(stored)] == [
        (i, NOW if magic else -1, b"v%d" % i) for i in range(3)
    ]


def test_nothing_to_append_is_no_error_to_old_producers() -> None:
    log = open_log()
    for sent in (b"", b"x" * 10, build_message_set([Record(0, 0, None, b"v")], 1)[:-1]):
        info = log.append_as_leader(sent, 0, NOW)
        assert (info.first_offset, info.last_offset) == (-1, -1)
    assert log.log_end_offset == 0


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (damaged(70, ">B", 77, fix_crc=False), Errors.CORRUPT_MESSAGE),
        (damaged(16, ">b", 5), Errors.CORRUPT_MESSAGE),
        (damaged(16, ">b", -1), Errors.CORRUPT_MESSAGE),
        (damaged(8, ">i", 10), Errors.CORRUPT_MESSAGE),
        (damaged(8, ">i", 40), Errors.CORRUPT_MESSAGE),
        (damaged(0, ">q", 7), Errors.INVALID_RECORD),
        (damaged(57, ">i", 3), Errors.INVALID_RECORD),
        (damaged(57, ">i", 0), Errors.INVALID_RECORD),
        (damaged(23, ">i", -1), Errors.INVALID_RECORD),
        (damaged(23, ">i", 5), Errors.INVALID_RECORD),
        (damaged(21, ">h", 0x20), Errors.INVALID_RECORD),
        (damaged(21, ">h", 0x08), Errors.INVALID_TIMESTAMP),
        (damaged(21, ">h", 0x05), Errors.UNKNOWN_SERVER_ERROR),
        (damaged(21, ">h", 0x01), Errors.UNKNOWN_SERVER_ERROR),
        (batch() + batch(), Errors.INVALID_RECORD),
        (batch(size=2_000_000), Errors.MESSAGE_TOO_LARGE),
    ],
)
def test_bad_batches_are_refused_as_kafka_refuses_them(sent: bytes, error: Errors) -> None:
    log = open_log()
    with pytest.raises(KafkaException) as refused:
        log.append_as_leader(sent, 0, NOW)
    assert refused.value.error is error
    assert log.log_end_offset == 0
    assert log.size == 0


def test_what_kafka_does_not_check_is_taken() -> None:
    log = open_log()
    for sent in (
        damaged(35, ">q", 5),
        damaged(27, ">q", -5),
        damaged(21, ">h", 0x4000),
        batch(2, producer_id=9, base_sequence=0),
    ):
        log.append_as_leader(sent, 0, NOW)
    log.append_as_leader(batch() + batch()[:-1], 0, NOW)
    assert log.log_end_offset == 9


def test_a_compacted_topic_wants_keys() -> None:
    log = open_log(cleanup_policy="compact")
    log.append_as_leader(batch(2), 0, NOW)
    with pytest.raises(KafkaException) as refused:
        log.append_as_leader(
            build_batch([Record(i, NOW, b"k" if i % 50 else None, b"v") for i in range(100)]),
            0,
            NOW,
        )
    assert refused.value.error is Errors.INVALID_RECORD
    assert [e.batch_index for e in refused.value.record_errors] == [0, 50]  # type: ignore[attr-defined]


def test_times_too_far_from_the_broker_s_are_refused() -> None:
    log = open_log(message_timestamp_difference_max_ms="1000")
    log.append_as_leader(batch(1, NOW - 1000), 0, NOW)
    early = Record(0, NOW - 1001, b"k", b"v")
    with pytest.raises(KafkaException) as refused:
        log.append_as_leader(build_batch([early, early._replace(offset=1, timestamp=-5)]), 0, NOW)
    assert refused.value.error is Errors.INVALID_TIMESTAMP
    assert refused.value.record_errors == tuple(  # type: ignore[attr-defined]
        (
            index,
            f"Timestamp {time} of message with offset {index} is out of range. The timestamp should"
            f" be within [{NOW - 1000}, {NOW + 1000}]",
        )
        for index, time in ((0, NOW - 1001), (1, -5))
    )


def test_a_topic_s_own_codec_is_what_lies_on_disk() -> None:
    log = open_log(compression_type="gzip")
    log.append_as_leader(
        batch(
            50, compression=CompressionType.LZ4, producer_id=3, producer_epoch=0, base_sequence=0
        ),
        0,
        NOW,
    )
    stored = part_bytes(log.read(0, 1 << 20).records)
    header = parse_header(stored)
    assert header.compression is CompressionType.GZIP
    assert header.producer_id == 3
    check_crc(stored, header)
    assert len(read_records(stored)) == 50
