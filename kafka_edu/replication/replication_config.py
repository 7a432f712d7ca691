"""The settings of replication, under Kafka's names.

This module has no default values. They are only in `server.kafka_config_keys`.
"""

from typing import NamedTuple


class ReplicationConfig(NamedTuple):
    """Values of server.properties. Each field's docstring names its key. Times are in ms, sizes in
    bytes.
    """

    broker_id: int
    """broker.id: the id of this broker."""
    replica_lag_time_max_ms: int
    """replica.lag.time.max.ms: a follower that has not caught up for longer than this leaves the
    ISR. The check runs every half of this time.
    """
    replica_fetch_wait_max_ms: int
    """replica.fetch.wait.max.ms: the longest time that the leader holds a follower's fetch while
    there are no new records.
    """
    replica_fetch_min_bytes: int
    """replica.fetch.min.bytes: the leader holds a follower's fetch until it has these bytes."""
    replica_fetch_max_bytes: int
    """replica.fetch.max.bytes: the limit for one partition. If its first batch is larger, the batch
    is still sent whole.
    """
    replica_fetch_response_max_bytes: int
    """replica.fetch.response.max.bytes: the limit for all partitions of one fetch response."""
    replica_fetch_backoff_ms: int
    """replica.fetch.backoff.ms: how long a fetcher waits after an error."""
    replica_socket_timeout_ms: int
    """replica.socket.timeout.ms: how long a fetcher waits for a response of the leader."""
    replica_high_watermark_checkpoint_interval_ms: int
    """replica.high.watermark.checkpoint.interval.ms: the time between two HW checkpoints."""
    num_replica_fetchers: int
    """num.replica.fetchers: the number of fetchers for each leader."""
    num_replica_alter_log_dirs_threads: int
    """num.replica.alter.log.dirs.threads: the number of replicas that move between log dirs at the
    same time.
    """
    alter_log_dirs_replication_quota_window_num: int
    """alter.log.dirs.replication.quota.window.num: the number of samples over which the rate of
    moves between log dirs is measured.
    """
    alter_log_dirs_replication_quota_window_size_seconds: int
    """alter.log.dirs.replication.quota.window.size.seconds: the length of one such sample."""
    inter_broker_listener_name: str
    """inter.broker.listener.name: fetchers connect to the leader's listener of this name."""
    inter_broker_protocol_version: tuple[int, int]
    """inter.broker.protocol.version as (major, minor). It decides in which versions a fetcher sends
    Fetch and OffsetForLeaderEpoch.
    """
    replica_selector_class: str | None
    """replica.selector.class: which replicas consumers read from; None: leaders."""
    max_incremental_fetch_session_cache_slots: int
    """max.incremental.fetch.session.cache.slots: the maximum number of fetch sessions."""
    fetch_purgatory_purge_interval_requests: int
    """fetch.purgatory.purge.interval.requests: the fetch purgatory removes completed
    requests from its lists when there are more than this number of them.
    """
    delete_records_purgatory_purge_interval_requests: int
    """delete.records.purgatory.purge.interval.requests: the DeleteRecords purgatory removes
    completed requests from its lists when there are more than this number of them.
    """
    producer_purgatory_purge_interval_requests: int
    """producer.purgatory.purge.interval.requests: the produce purgatory removes completed
    requests from its lists when there are more than this number of them.
    """
    replication_quota_window_num: int
    """replication.quota.window.num: samples over which a throttle's rate is measured."""
    replication_quota_window_size_seconds: int
    """replication.quota.window.size.seconds: length of one such sample."""
