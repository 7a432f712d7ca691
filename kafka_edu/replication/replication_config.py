"""The settings of replication, under Kafka's names and with Kafka 2.0's defaults."""

from typing import NamedTuple


class ReplicationConfig(NamedTuple):
    """Values of server.properties; each field's docstring names its key. Times in ms, sizes in
    bytes.
    """

    broker_id: int
    """broker.id"""
    replica_lag_time_max_ms: int = 10_000
    """replica.lag.time.max.ms: a follower that has not caught up for longer leaves the ISR. It is
    looked at every half of this.
    """
    replica_fetch_wait_max_ms: int = 500
    """replica.fetch.wait.max.ms: how long the leader may hold a follower's fetch that finds nothing
    new.
    """
    replica_fetch_min_bytes: int = 1
    """replica.fetch.min.bytes"""
    replica_fetch_max_bytes: int = 1 << 20
    """replica.fetch.max.bytes: for one partition; a larger first batch is still sent."""
    replica_fetch_response_max_bytes: int = 10 << 20
    """replica.fetch.response.max.bytes"""
    replica_fetch_backoff_ms: int = 1_000
    """replica.fetch.backoff.ms"""
    replica_socket_timeout_ms: int = 30_000
    """replica.socket.timeout.ms"""
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    """replica.high.watermark.checkpoint.interval.ms"""
    num_replica_fetchers: int = 1
    """num.replica.fetchers: fetchers towards each leader."""
    inter_broker_listener_name: str = "PLAINTEXT"
    """inter.broker.listener.name: the listener of the leader that fetchers connect to."""
    inter_broker_protocol_version: tuple[int, int] = (2, 0)
    """inter.broker.protocol.version, as (major, minor): which versions of Fetch and
    OffsetForLeaderEpoch a fetcher speaks.
    """
    max_incremental_fetch_session_cache_slots: int = 1_000
    """max.incremental.fetch.session.cache.slots"""
    fetch_purgatory_purge_interval_requests: int = 1_000
    """fetch.purgatory.purge.interval.requests"""
    delete_records_purgatory_purge_interval_requests: int = 1
    """delete.records.purgatory.purge.interval.requests"""
    producer_purgatory_purge_interval_requests: int = 1_000
    """producer.purgatory.purge.interval.requests"""
