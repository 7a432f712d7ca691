"""Times below -1 do not count for a batch's latest time: Kafka begins with -1 and looks for a
larger one (LogValidator of 2.8.2).
"""

import pytest

from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_validator import WALK_LIMIT, validate
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch, check_crc, iter_headers

CONFIG = LogConfig.parse({})


def latest(*timestamps: int, compression: CompressionType = CompressionType.NONE) -> int:
    """Return MaxTimestamp of the batch as it is stored."""
    batch = build_batch(
        [Record(i, timestamp, None, b"v") for i, timestamp in enumerate(timestamps)],
        compression=compression,
    )
    valid = validate(batch, CONFIG, 1_600_000_000_000)
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
