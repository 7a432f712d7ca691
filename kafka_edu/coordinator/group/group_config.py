"""The settings of the group coordinator, under Kafka's names and with Kafka 2.0's defaults (Kafka:
GroupConfig, OffsetConfig.scala).
"""

from typing import NamedTuple

from kafka_edu.record.compression import CompressionType


class GroupConfig(NamedTuple):
    """Of membership. Times in ms; each field's docstring names its key."""

    min_session_timeout_ms: int = 6_000
    """group.min.session.timeout.ms"""
    max_session_timeout_ms: int = 300_000
    """group.max.session.timeout.ms"""
    max_size: int = 2**31 - 1
    """group.max.size"""
    initial_rebalance_delay_ms: int = 3_000
    """group.initial.rebalance.delay.ms"""


class OffsetConfig(NamedTuple):
    """Of committed offsets and their topic."""

    max_metadata_size: int = 4_096
    """offset.metadata.max.bytes; counted in characters, as Kafka does."""
    load_buffer_size: int = 5 * 1024 * 1024
    """offsets.load.buffer.size"""
    retention_ms: int = 7 * 24 * 3_600_000
    """offsets.retention.minutes"""
    retention_check_interval_ms: int = 600_000
    """offsets.retention.check.interval.ms"""
    compression: CompressionType = CompressionType.NONE
    """offsets.topic.compression.codec"""
    commit_timeout_ms: int = 5_000
    """offsets.commit.timeout.ms"""
    commit_required_acks: int = -1
    """offsets.commit.required.acks"""
    inter_broker_protocol: tuple[int, int] = (2, 8)
    """inter.broker.protocol.version: in which versions records are written, so that the oldest
    broker of the cluster can read them.
    """
