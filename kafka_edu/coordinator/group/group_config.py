"""The settings of the group coordinator, with Kafka's names.

(Kafka: GroupConfig, OffsetConfig.scala.) There are no defaults here; only
`server.kafka_config_keys` has defaults.
"""

from typing import NamedTuple

from kafka_edu.record.compression import CompressionType


class GroupConfig(NamedTuple):
    """Settings of membership. Times in ms; each field's docstring names its key."""

    min_session_timeout_ms: int
    """group.min.session.timeout.ms"""
    max_session_timeout_ms: int
    """group.max.session.timeout.ms"""
    max_size: int
    """group.max.size"""
    initial_rebalance_delay_ms: int
    """group.initial.rebalance.delay.ms"""


class OffsetConfig(NamedTuple):
    """Settings of committed offsets and their topic. Times in ms, sizes in bytes."""

    max_metadata_size: int
    """offset.metadata.max.bytes; as in Kafka, it counts characters."""
    load_buffer_size: int
    """offsets.load.buffer.size"""
    retention_ms: int
    """offsets.retention.minutes"""
    retention_check_interval_ms: int
    """offsets.retention.check.interval.ms"""
    compression: CompressionType
    """offsets.topic.compression.codec"""
    commit_timeout_ms: int
    """offsets.commit.timeout.ms"""
    commit_required_acks: int
    """offsets.commit.required.acks"""
    inter_broker_protocol: tuple[int, int]
    """inter.broker.protocol.version

    It decides in which version records are written, so that the oldest broker can read them.
    """
