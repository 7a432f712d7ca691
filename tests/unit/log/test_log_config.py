import pytest

from kafka_edu.common.config_def import ConfigException
from kafka_edu.log.log_config import TOPIC_CONFIG, LogConfig
from kafka_edu.record.compression import CompressionType


def test_kafka_2_0_s_defaults() -> None:
    config = LogConfig.parse()
    assert (config.segment_bytes, config.segment_ms, config.segment_index_bytes) == (
        1073741824,
        604800000,
        10485760,
    )
    assert (config.retention_bytes, config.retention_ms, config.file_delete_delay_ms) == (
        -1,
        604800000,
        60000,
    )
    assert (config.max_message_bytes, config.index_interval_bytes, config.min_insync_replicas) == (
        1000012,
        4096,
        1,
    )
    assert (config.delete, config.compact, config.compression, config.log_append_time) == (
        True,
        False,
        None,
        False,
    )


def test_a_topic_s_values_stand_above_the_broker_s() -> None:
    broker = LogConfig.parse({"segment.bytes": "1000", "retention.ms": 5})
    topic = broker.with_overrides(
        {"segment.bytes": "2000", "cleanup.policy": "compact,delete", "compression.type": "zstd"}
    )
    assert (topic.segment_bytes, topic.retention_ms, topic.compact, topic.delete) == (
        2000,
        5,
        True,
        True,
    )
    assert topic.compression is CompressionType.ZSTD
    assert broker.segment_bytes == 1000
    assert broker.with_overrides({}) is broker


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("segment.bytes", "13"),
        ("cleanup.policy", "shred"),
        ("compression.type", "none"),
        ("message.timestamp.type", "Now"),
        ("min.insync.replicas", "0"),
        ("max.compaction.lag.ms", "0"),
        ("segment.byte", "1"),
        ("retention.ms", "-2"),
    ],
)
def test_wrong_values_and_unknown_keys_are_named(key: str, value: str) -> None:
    with pytest.raises(ConfigException, match=key) as refused:
        LogConfig.parse({key: value})
    assert refused.value.key == key


def test_the_compaction_lags_must_not_cross() -> None:
    with pytest.raises(ConfigException, match=r"max\.compaction\.lag\.ms"):
        LogConfig.parse({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"})


def test_every_key_says_what_it_is_for() -> None:
    assert all(key.doc for key in TOPIC_CONFIG)
