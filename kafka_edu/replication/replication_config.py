"""The settings of replication, under Kafka's names.

There are no defaults here: they stand in `server.kafka_config_keys` alone.
"""

from typing import NamedTuple


class ReplicationConfig(NamedTuple):
    """Values of server.properties; each field's docstring names its key. Times in ms, sizes in
    bytes.
    """

    broker_id: int
    """broker.id"""
    replica_lag_time_max_ms: int
    """replica.lag.time.max.ms: a follower that has not caught up for longer leaves the ISR. It is
    looked at every half of this.
    """
    replica_fetch_wait_max_ms: int
    """replica.fetch.wait.max.ms: how long the leader may hold a follower's fetch that finds nothing
    new.
    """
    replica_fetch_min_bytes: int
    """replica.fetch.min.bytes"""
    replica_fetch_max_bytes: int
    """replica.fetch.max.bytes: for one partition; a larger first batch is still sent."""
    replica_fetch_response_max_bytes: int
    """replica.fetch.response.max.bytes"""
    replica_fetch_backoff_ms: int
    """replica.fetch.backoff.ms"""
    replica_socket_timeout_ms: int
    """replica.socket.timeout.ms"""
    replica_high_watermark_checkpoint_interval_ms: int
    """replica.high.watermark.checkpoint.interval.ms"""
    num_replica_fetchers: int
    """num.replica.fetchers: fetchers towards each leader."""
    num_replica_alter_log_dirs_threads: int
    """num.replica.alter.log.dirs.threads: replicas that move between log dirs at a time."""
    alter_log_dirs_replication_quota_window_num: int
    """alter.log.dirs.replication.quota.window.num"""
    alter_log_dirs_replication_quota_window_size_seconds: int
    """alter.log.dirs.replication.quota.window.size.seconds"""
    inter_broker_listener_name: str
    """inter.broker.listener.name: the listener of the leader that fetchers connect to."""
    inter_broker_protocol_version: tuple[int, int]
    """inter.broker.protocol.version, as (major, minor): which versions of Fetch and
    OffsetForLeaderEpoch a fetcher speaks.
    """
    max_incremental_fetch_session_cache_slots: int
    """max.incremental.fetch.session.cache.slots"""
    fetch_purgatory_purge_interval_requests: int
    """fetch.purgatory.purge.interval.requests"""
    delete_records_purgatory_purge_interval_requests: int
    """delete.records.purgatory.purge.interval.requests"""
    producer_purgatory_purge_interval_requests: int
    """producer.purgatory.purge.interval.requests"""
