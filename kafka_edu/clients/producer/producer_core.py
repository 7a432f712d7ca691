"""The parts of a producer that make decisions, and the settings that each part gets.

`build_core` makes these parts for the producer and for tests. These parts need no socket and no
clock.
"""

import random
from typing import NamedTuple

from kafka_edu.clients.client_connections import ClientConnections, ConnectionsConfig
from kafka_edu.clients.metadata import NEVER, Metadata
from kafka_edu.clients.producer.producer_config import ProducerConfig
from kafka_edu.clients.producer.record_accumulator import BufferPool, RecordAccumulator
from kafka_edu.clients.producer.sender import Sender
from kafka_edu.clients.producer.transaction_manager import TransactionManager
from kafka_edu.clients.producer.transactions import Transactions
from kafka_edu.trace.tracer import Tracer


class ProducerCore(NamedTuple):
    """The parts of one producer that make decisions."""

    metadata: Metadata
    accumulator: RecordAccumulator
    connections: ClientConnections
    transaction_manager: TransactionManager | None
    """None without idempotence."""
    transactions: Transactions | None
    """None without a transactional id."""
    coordinator_connections: ClientConnections
    """The connections to the coordinators of a transactional producer."""
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
    connections_config = ConnectionsConfig(
        config.client_id,
        request_timeout_ms=config.request_timeout_ms,
        reconnect_backoff_ms=config.reconnect_backoff_ms,
        reconnect_backoff_max_ms=config.reconnect_backoff_max_ms,
        connections_max_idle_ms=config.connections_max_idle_ms,
        socket_connection_setup_timeout_ms=config.connection_setup_timeout_ms,
        max_in_flight_requests_per_connection=config.max_in_flight,
    )
    connections = ClientConnections(connections_config, metadata, chance, trace)
    coordinator_addresses = Metadata([], config.retry_backoff_ms, NEVER, NEVER)
    coordinator_connections = ClientConnections(
        connections_config, coordinator_addresses, chance, trace
    )
    manager = (
        TransactionManager(config.client_id, trace, config.transactional_id)
        if config.idempotent
        else None
    )
    transactions = (
        Transactions(
            config, manager, connections, coordinator_addresses, coordinator_connections, trace
        )
        if manager is not None and manager.is_transactional
        else None
    )
    return ProducerCore(
        metadata,
        accumulator,
        connections,
        manager,
        transactions,
        coordinator_connections,
        Sender(config, metadata, accumulator, connections, manager, transactions, trace),
    )
