"""Take the settings that each part of the broker needs from the broker's configuration.

Each part gets its values in a small tuple, so the part does not depend on server.properties. A
setting is declared once, with type, default and meaning, in the table of keys
(`kafka_config_keys`). A tuple has a field for each setting that the part needs. The field's name is
the key with `_` for `.`, and the value is found by this name. Only values that come from more than
one key are computed in this module, or in a property of `KafkaConfig`.
"""

from collections.abc import Callable
from inspect import signature
from typing import TypeVar

from kafka_edu.controller.active_controller import ControllerConfig
from kafka_edu.coordinator.group.group_config import GroupConfig, OffsetConfig
from kafka_edu.coordinator.transaction.transaction_marker_channel_manager import marker_version
from kafka_edu.coordinator.transaction.transaction_state_manager import TransactionConfig
from kafka_edu.log.cleaner.log_cleaner import CleanerConfig
from kafka_edu.network.socket_server import NetworkConfig
from kafka_edu.record.compression import CompressionType
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.server.config.kafka_config import KafkaConfig, key_of

Part = TypeVar("Part")


def network_config(config: KafkaConfig) -> NetworkConfig:
    return _part(NetworkConfig, config)


def replication_config(config: KafkaConfig, broker_id: int) -> ReplicationConfig:
    threads = config.values["num.replica.alter.log.dirs.threads"]
    return _part(
        ReplicationConfig,
        config,
        broker_id=broker_id,
        num_replica_alter_log_dirs_threads=len(config.log_dirs) if threads is None else threads,
    )


def cleaner_config(config: KafkaConfig) -> CleanerConfig:
    return _part(CleanerConfig, config)


def controller_config(config: KafkaConfig) -> ControllerConfig:
    return _part(ControllerConfig, config)


def group_config(config: KafkaConfig) -> GroupConfig:
    return _part(GroupConfig, config)


def offset_config(config: KafkaConfig) -> OffsetConfig:
    get_int = config.values.get_int
    return _part(
        OffsetConfig,
        config,
        offsets_retention_ms=get_int("offsets.retention.minutes") * 60_000,
        compression=CompressionType(get_int("offsets.topic.compression.codec")),
    )


def transaction_config(config: KafkaConfig) -> TransactionConfig:
    version = marker_version(config.inter_broker_protocol_version)
    return _part(TransactionConfig, config, write_txn_markers_version=version)


def _part(shape: Callable[..., Part], config: KafkaConfig, **derived: object) -> Part:
    """Return a tuple of the type `shape`. A field has its value in `derived`. If there is none, it
    has its value in `config`. Raises AssertionError if a field is neither a key nor a property of
    KafkaConfig.
    """
    values = {
        field: getattr(config, field) if hasattr(config, field) else config.values[key_of(field)]
        for field in signature(shape).parameters
        if field not in derived
    }
    return shape(**values, **derived)
