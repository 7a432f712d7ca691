"""The origin of a batch decides what the leader checks."""

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_validator import RecordValidationError, validate
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch

NOW = 1_600_000_000_000
PARTITION = TopicPartition("t", 0)
CONFIG = LogConfig.parse({})
CONTROL = build_batch([Record(0, NOW, b"k", b"v")], is_control=True)
#: A producer's batch without a sequence number, as a transaction's marker has it.
UNNUMBERED = build_batch([Record(0, NOW, b"k", b"v")], producer_id=9, producer_epoch=0)


@pytest.mark.parametrize(
    ("batch", "why"),
    [(CONTROL, "not allowed to write control records"), (UNNUMBERED, "Invalid sequence number -1")],
)
def test_what_a_coordinator_may_write_is_refused_from_a_client(batch: bytes, why: str) -> None:
    with pytest.raises(RecordValidationError, match=why) as refused:
        validate(batch, PARTITION, CONFIG, NOW, AppendOrigin.CLIENT)
    assert refused.value.error is Errors.INVALID_RECORD
    assert validate(batch, PARTITION, CONFIG, NOW, AppendOrigin.COORDINATOR) is not None
