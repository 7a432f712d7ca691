"""The parts of a producer that decide, and which setting each of them gets.

The producer and the tests of these parts build them here. They need no socket and no clock.
"""

import random
from typing import NamedTuple

from kafka_edu.clients.client_connections import ClientConnections, ConnectionsConfig
from kafka_edu.clients.metadata import Metadata
from kafka_edu.clients.producer.producer_config import ProducerConfig
from kafka_edu.clients.producer.record_accumulator import BufferPool, RecordAccumulator
from kafka_edu.clients.producer.sender import Sender
from kafka_edu.clients.producer.transaction_manager import TransactionManager
from kafka_edu.trace.tracer import Tracer


class ProducerCore(NamedTuple):
    """The parts of one producer that decide."""

    metadata: Metadata
    accumulator: RecordAccumulator
    connections: ClientConnections
    transaction_manager: TransactionManager | None
    """None without idempotence."""
    sender: Sender


def build_core(
    config: ProducerConfig, chance: random.Random, trace: Tracer | None = None
) -> ProducerCore:
    """Return the parts of a producer with these settings."""
    metadata = Metadata(
        config.bootstrap_servers,
        retry_backoff_ms=config.retry_backoff_ms,
        max_age_ms=config.metadata_max_age_ms,
        max_idle_ms=config.metadata_max_idle_ms,
    )
    accumulator = RecordAccumulator(
        config.client_id,
        batch_size=config.batch_size,
        linger_ms=config.linger_ms,
        retry_backoff_ms=config.retry_backoff_ms,
        compression=config.compression,
        pool=BufferPool(config.buffer_memory),
        trace=trace,
    )
    connections = ClientConnections(
        ConnectionsConfig(
            config.client_id,
            request_timeout_ms=config.request_timeout_ms,
            reconnect_backoff_ms=config.reconnect_backoff_ms,
            reconnect_backoff_max_ms=config.reconnect_backoff_max_ms,
            connections_max_idle_ms=config.connections_max_idle_ms,
            socket_connection_setup_timeout_ms=config.connection_setup_timeout_ms,
            max_in_flight_requests_per_connection=config.max_in_flight,
        ),
        metadata,
        chance,
        trace,
    )
    transaction_manager = TransactionManager(config.client_id, trace) if config.idempotent else None
    sender = Sender(config, metadata, accumulator, connections, transaction_manager, trace)
    return ProducerCore(metadata, accumulator, connections, transaction_manager, sender)
