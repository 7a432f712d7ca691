"""The settings of the group coordinator, with Kafka's names.

(Kafka: GroupConfig, OffsetConfig.scala.) There are no defaults here; only
`server.kafka_config_keys` has defaults.
"""

from typing import NamedTuple

from kafka_edu.record.compression import CompressionType


class GroupConfig(NamedTuple):
    """Settings of membership. Times in ms; each field has the name of its key."""

    group_min_session_timeout_ms: int
    group_max_session_timeout_ms: int
    group_max_size: int
    group_initial_rebalance_delay_ms: int


class OffsetConfig(NamedTuple):
    """Settings of committed offsets and their topic. Times in ms, sizes in bytes."""

    offset_metadata_max_bytes: int
    """As in Kafka, it counts characters."""
    offsets_load_buffer_size: int
    offsets_retention_ms: int
    """offsets.retention.minutes"""
    offsets_retention_check_interval_ms: int
    compression: CompressionType
    """offsets.topic.compression.codec"""
    offsets_commit_timeout_ms: int
    offsets_commit_required_acks: int
    inter_broker_protocol_version: tuple[int, int]
    """It decides in which version records are written, so that the oldest broker can read them.
    """
