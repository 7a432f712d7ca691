"""The settings that each part of the broker needs, taken from its configuration.

A part gets its values in a small tuple, so it need not know server.properties. The tuples have no
defaults: each default stands in one place, the table of keys (`kafka_config_keys`).
"""

from kafka_edu.controller.active_controller import ControllerConfig
from kafka_edu.coordinator.group.group_config import GroupConfig, OffsetConfig
from kafka_edu.coordinator.transaction.transaction_marker_channel_manager import marker_version
from kafka_edu.coordinator.transaction.transaction_state_manager import TransactionConfig
from kafka_edu.network.socket_server import NetworkConfig
from kafka_edu.record.compression import CompressionType
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.server.kafka_config import KafkaConfig


def network_config(config: KafkaConfig) -> NetworkConfig:
    """Return the settings of the network layer."""
    return NetworkConfig(
        num_network_threads=config.num_network_threads,
        max_request_size=config.socket_request_max_bytes,
        max_idle_ms=config.connections_max_idle_ms,
        connection_limits=config.connection_limits,
        queued_max_requests=config.queued_max_requests,
        queued_max_request_bytes=config.queued_max_request_bytes,
        max_pipelined_requests=config.max_pipelined_requests,
    )


def replication_config(config: KafkaConfig, broker_id: int) -> ReplicationConfig:
    """Return the settings of replication."""
    return ReplicationConfig(
        broker_id=broker_id,
        replica_lag_time_max_ms=config.replica_lag_time_max_ms,
        replica_fetch_wait_max_ms=config.replica_fetch_wait_max_ms,
        replica_fetch_min_bytes=config.replica_fetch_min_bytes,
        replica_fetch_max_bytes=config.replica_fetch_max_bytes,
        replica_fetch_response_max_bytes=config.replica_fetch_response_max_bytes,
        replica_fetch_backoff_ms=config.replica_fetch_backoff_ms,
        replica_socket_timeout_ms=config.replica_socket_timeout_ms,
        replica_high_watermark_checkpoint_interval_ms=config.replica_high_watermark_checkpoint_interval_ms,
        num_replica_fetchers=config.num_replica_fetchers,
        inter_broker_listener_name=config.inter_broker_listener_name,
        inter_broker_protocol_version=config.inter_broker_protocol_version,
        max_incremental_fetch_session_cache_slots=config.max_incremental_fetch_session_cache_slots,
        delete_records_purgatory_purge_interval_requests=config.delete_records_purgatory_purge_interval_requests,
        fetch_purgatory_purge_interval_requests=config.fetch_purgatory_purge_interval_requests,
        producer_purgatory_purge_interval_requests=config.producer_purgatory_purge_interval_requests,
    )


def controller_config(config: KafkaConfig) -> ControllerConfig:
    """Return the settings of the controller."""
    return ControllerConfig(
        inter_broker_listener_name=config.inter_broker_listener_name,
        control_plane_listener_name=config.control_plane_listener_name,
        unclean_leader_election_enable=config.unclean_leader_election_enable,
        delete_topic_enable=config.delete_topic_enable,
        auto_leader_rebalance_enable=config.auto_leader_rebalance_enable,
        leader_imbalance_check_interval_seconds=config.leader_imbalance_check_interval_seconds,
        leader_imbalance_per_broker_percentage=config.leader_imbalance_per_broker_percentage,
        socket_timeout_ms=config.controller_socket_timeout_ms,
    )


def group_config(config: KafkaConfig) -> GroupConfig:
    """Return the settings of group membership."""
    values = config.values
    return GroupConfig(
        min_session_timeout_ms=values.get_int("group.min.session.timeout.ms"),
        max_session_timeout_ms=values.get_int("group.max.session.timeout.ms"),
        max_size=values.get_int("group.max.size"),
        initial_rebalance_delay_ms=values.get_int("group.initial.rebalance.delay.ms"),
    )


def offset_config(config: KafkaConfig) -> OffsetConfig:
    """Return the settings of committed offsets."""
    values = config.values
    return OffsetConfig(
        max_metadata_size=values.get_int("offset.metadata.max.bytes"),
        load_buffer_size=values.get_int("offsets.load.buffer.size"),
        retention_ms=values.get_int("offsets.retention.minutes") * 60_000,
        retention_check_interval_ms=values.get_int("offsets.retention.check.interval.ms"),
        compression=CompressionType(values.get_int("offsets.topic.compression.codec")),
        commit_timeout_ms=values.get_int("offsets.commit.timeout.ms"),
        commit_required_acks=values.get_int("offsets.commit.required.acks"),
        inter_broker_protocol=config.inter_broker_protocol_version,
    )


def transaction_config(config: KafkaConfig) -> TransactionConfig:
    """Return the settings of the transaction coordinator."""
    get_int = config.values.get_int
    return TransactionConfig(
        transactional_id_expiration_ms=get_int("transactional.id.expiration.ms"),
        transaction_max_timeout_ms=get_int("transaction.max.timeout.ms"),
        load_buffer_size=get_int("transaction.state.log.load.buffer.size"),
        abort_timed_out_interval_ms=get_int(
            "transaction.abort.timed.out.transaction.cleanup.interval.ms"
        ),
        remove_expired_interval_ms=get_int(
            "transaction.remove.expired.transaction.cleanup.interval.ms"
        ),
        request_timeout_ms=config.request_timeout_ms,
        inter_broker_listener_name=config.inter_broker_listener_name,
        write_txn_markers_version=marker_version(config.inter_broker_protocol_version),
    )
