"""The part of a broker's configuration that concerns transactions.

(Kafka: TransactionConfig in TransactionStateManager.scala.)
"""

from typing import NamedTuple


def marker_version(inter_broker_protocol: tuple[int, int]) -> int:
    """Return the version of WriteTxnMarkers for this inter.broker.protocol.version."""
    return 1 if inter_broker_protocol >= (2, 8) else 0


class TransactionConfig(NamedTuple):
    """The settings of the transaction coordinator. Times in ms."""

    transactional_id_expiration_ms: int
    """transactional.id.expiration.ms: an id that was not used for this time is forgotten."""
    transaction_max_timeout_ms: int
    """transaction.max.timeout.ms: the longest time-out that a producer may request."""
    load_buffer_size: int
    """transaction.state.log.load.buffer.size: bytes read at a time while a partition is loaded."""
    abort_timed_out_interval_ms: int
    """transaction.abort.timed.out.transaction.cleanup.interval.ms"""
    remove_expired_interval_ms: int
    """transaction.remove.expired.transaction.cleanup.interval.ms"""
    request_timeout_ms: int
    """request.timeout.ms, for markers and tombstones."""
    inter_broker_listener_name: str
    write_txn_markers_version: int
    """The version of WriteTxnMarkers between brokers: 1 since inter.broker.protocol.version 2.8."""
