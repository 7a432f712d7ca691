"""The settings of the group coordinator, with Kafka's names.

(Kafka: GroupConfig, OffsetConfig.scala.) The defaults are not in this module but in
`server.kafka_config_keys`.
"""

from typing import NamedTuple

from kafka_edu.record.compression import CompressionType


class GroupConfig(NamedTuple):
    """The settings for the members of groups. Times are in ms; each field has its key's name."""

    group_min_session_timeout_ms: int
    group_max_session_timeout_ms: int
    group_max_size: int
    group_initial_rebalance_delay_ms: int


class OffsetConfig(NamedTuple):
    """The settings for committed offsets and their topic. Times are in ms, sizes in bytes."""

    offset_metadata_max_bytes: int
    """The maximum length of a commit's metadata; in characters, as in Kafka."""
    offsets_load_buffer_size: int
    offsets_retention_ms: int
    """The time in ms after which unused offsets expire (offsets.retention.minutes)."""
    offsets_retention_check_interval_ms: int
    compression: CompressionType
    """The compression of the batches in the topic (offsets.topic.compression.codec)."""
    offsets_commit_timeout_ms: int
    offsets_commit_required_acks: int
    inter_broker_protocol_version: tuple[int, int]
    """Decides the version of written records, so that the oldest broker can read them."""
