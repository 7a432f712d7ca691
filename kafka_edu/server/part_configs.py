"""What of the broker's configuration concerns replication, and what the controller (values handed
in, so that neither knows server.properties).
"""

from kafka_edu.controller.active_controller import ControllerConfig
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.server.kafka_config import KafkaConfig


def replication_config(config: KafkaConfig, broker_id: int) -> ReplicationConfig:
    """The settings of replication."""
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
    """The settings of the controller."""
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
