"""Events of transactions: in a log, how far readers with read_committed can read and which records
they skip; at the coordinator, each step of a transaction (spec X2).
"""

from typing import Final, NamedTuple

from kafka_edu.trace.event import Kind, event

BY_ANOTHER: Final = "InitProducerId of another"
"""`ProducerFenced.asked` if nothing was refused yet: another producer has initialised."""


class UnstableTransaction(NamedTuple):
    """A transaction that holds back the last stable offset of a partition's log. Events have this
    value as a field.
    """

    producer_id: int
    producer_epoch: int
    """The epoch of the transaction's first batch."""
    first_offset: int
    since_ms: int
    """When this broker wrote the transaction's first batch, in ms since 1970. -1 if that is not
    known: the broker has started since then.
    """
    marker_offset: int = -1
    """The offset of the marker that ends the transaction. -1 if the transaction is open. With a
    marker, the transaction holds the offset back until the marker is replicated.
    """


@event()
class TransactionOpened(NamedTuple):
    """The first batch of a transaction was written to a log. The last stable offset cannot pass
    `first_offset` until the transaction has a marker in this log. The event has level `state` if
    this broker leads the partition, and level `hops` if it follows.
    """

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    first_offset: int


@event()
class BatchFenced(NamedTuple):
    """The leader of a partition refused a batch, because the producer's epoch is over. The error in
    the response is INVALID_PRODUCER_EPOCH.
    """

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    """The epoch in the batch."""
    current_epoch: int
    """The latest epoch of this producer id in the log."""
    base_sequence: int


@event()
class LastStableOffsetMoved(NamedTuple):
    """The last stable offset moved. Readers with read_committed get records below it. The event has
    level `state` if an open transaction holds the offset back, or has just ended. If the offset
    only follows the HW, the event has level `hops`.
    """

    topic: str
    partition: int
    from_offset: int
    to_offset: int
    high_watermark: int


@event()
class AbortedTransactionIndexed(NamedTuple):
    """An abort marker was written to a log. Readers with read_committed skip the producer's records
    from `first_offset` up to the marker.
    """

    topic: str
    partition: int
    producer_id: int
    first_offset: int
    last_offset: int
    """The offset of the abort marker."""
    last_stable_offset: int
    """The last stable offset after the marker has been replicated."""


@event()
class TransactionStateChanged(NamedTuple):
    """A transaction has a new state. It is written to `__transaction_state` and replicated, and the
    coordinator uses it.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    before: str
    after: str
    partitions: tuple[str, ...]
    """The partitions to which the transaction has written so far, as the coordinator knows."""
    coordinator_epoch: int
    log_partition: int = -1
    """The partition of `__transaction_state` to which the transactional id belongs. Its leader is
    the coordinator.
    """
    started_ms: int = -1
    """When the transaction began, in ms since 1970. -1 if none has begun since the producer
    initialised.
    """
    timeout_ms: int = -1
    """The producer's transaction.timeout.ms."""


@event(kind=Kind.SNAPSHOT)
class TransactionSnapshot(NamedTuple):
    """The coordinator's knowledge of a transactional id, sent to a new subscriber."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    pending_state: str
    """The state that is just being written to the log. Empty if no state is."""
    partitions: tuple[str, ...]
    coordinator_epoch: int
    log_partition: int = -1
    started_ms: int = -1
    timeout_ms: int = -1
    """The producer's transaction.timeout.ms."""
    updated_ms: int = -1
    """When the current state was written, in ms since 1970."""


@event(kind=Kind.SNAPSHOT)
class TransactionMarkersSnapshot(NamedTuple):
    """The partitions of a decided transaction that still need its marker, sent to a new
    subscriber.
    """

    transactional_id: str
    waits_for: tuple[str, ...]
    coordinator_epoch: int


@event(joins=("connection_id",))
class TransactionalIdInitialised(NamedTuple):
    """A producer has initialised with a transactional id. From now on, other producers with this
    transactional id and a lower epoch are fenced.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    """The producer's transaction.timeout.ms."""
    client_id: str
    connection_id: str


@event()
class TransactionsLoaded(NamedTuple):
    """This broker has become leader of a partition of `__transaction_state` and has read it. It now
    coordinates the partition's transactional ids.
    """

    partition: int
    coordinator_epoch: int
    transactional_ids: int
    took_ms: int


@event()
class TransactionsUnloaded(NamedTuple):
    """This broker no longer leads a partition of `__transaction_state`, and has dropped the
    partition's transactional ids.
    """

    partition: int
    coordinator_epoch: int
    transactional_ids: int


@event()
class TransactionalIdExpired(NamedTuple):
    """A transactional id was not used for transactional.id.expiration.ms. The coordinator has
    removed it by writing a tombstone.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


@event()
class TransactionTimedOut(NamedTuple):
    """A transaction was open for longer than its producer's time-out. The coordinator fenced the
    producer and aborts the transaction.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    """The epoch of the fenced producer."""
    open_ms: int
    timeout_ms: int


@event(joins=("connection_id",))
class ProducerFenced(NamedTuple):
    """A producer's request was refused. Either another process has initialised with the same
    transactional id, or the coordinator has aborted the producer's transaction.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    current_epoch: int
    asked: str
    """The kind of request that was refused. `InitProducerId of another` means that nothing was
    refused yet: another producer has initialised while the transaction of this one was open.
    """
    client_id: str = ""
    """The client that sent the request: the fenced producer, or the other one."""
    connection_id: str = ""


@event()
class TransactionResumed(NamedTuple):
    """A new coordinator found a transaction that was decided but not complete. It lets the
    transaction's markers be written again.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    partitions: tuple[str, ...]
    coordinator_epoch: int


@event()
class TransactionMarkersSent(NamedTuple):
    """The coordinator sent transaction markers to the leader of some partitions. If this broker
    leads the partitions itself, `broker` is its own id.
    """

    broker: int
    transactional_ids: tuple[str, ...]
    partitions: int


@event()
class TransactionMarkerAnswered(NamedTuple):
    """The result of writing one marker in one partition. If it is not NONE, the marker is sent
    again, unless the coordinator itself was fenced.
    """

    transactional_id: str
    topic: str
    partition: int
    broker: int
    error: str
