"""The settings of the group coordinator are those of server.properties."""

import pytest

from kafka_edu.coordinator.group.group_config import GroupConfig, OffsetConfig
from kafka_edu.record.compression import CompressionType
from kafka_edu.server.config.kafka_config import default_config
from kafka_edu.server.config.part_configs import group_config, offset_config


def test_the_defaults_are_kafkas() -> None:
    groups = group_config(default_config())
    assert isinstance(groups, GroupConfig)
    assert groups.group_min_session_timeout_ms == 6_000
    assert groups.group_initial_rebalance_delay_ms == 3_000
    offsets = offset_config(default_config())
    assert isinstance(offsets, OffsetConfig)
    assert offsets.offset_metadata_max_bytes == 4096
    assert offsets.offsets_retention_ms == 7 * 24 * 3_600_000
    assert offsets.offsets_commit_required_acks == -1


@pytest.mark.parametrize(
    ("number", "codec"), [("0", CompressionType.NONE), ("3", CompressionType.LZ4)]
)
def test_minutes_become_ms_and_a_number_becomes_its_codec(
    number: str, codec: CompressionType
) -> None:
    given = {"offsets.retention.minutes": "5", "offsets.topic.compression.codec": number}
    offsets = offset_config(default_config(given))
    assert offsets.offsets_retention_ms == 300_000
    assert offsets.compression is codec
