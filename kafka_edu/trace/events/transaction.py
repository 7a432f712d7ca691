"""Events of transactions: in a log, where read_committed readers stop and what they leave out; at
the coordinator, each step of a transaction (spec X2).
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


@event()
class LastStableOffsetMoved(NamedTuple):
    """The end for read_committed readers moved. Told when a transaction holds it back or has let it
    go; else, as the HW's shadow, at level `hops`.
    """

    topic: str
    partition: int
    from_offset: int
    to_offset: int
    high_watermark: int


@event()
class AbortedTransactionIndexed(NamedTuple):
    """An abort marker was written: read_committed readers leave out the producer's records from
    `first_offset` to the marker.
    """

    topic: str
    partition: int
    producer_id: int
    first_offset: int
    last_offset: int
    """The marker's."""
    last_stable_offset: int
    """Behind the marker, once it is replicated."""


@event()
class TransactionStateChanged(NamedTuple):
    """A transaction's new state is in `__transaction_state`, replicated, and in its coordinator's
    memory.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    before: str
    after: str
    partitions: tuple[str, ...]
    """The partitions it has written to so far, as the coordinator knows."""
    coordinator_epoch: int


@event(kind=Kind.SNAPSHOT)
class TransactionSnapshot(NamedTuple):
    """A transactional id as its coordinator knows it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    pending_state: str
    """The state on its way into the log; empty if none is."""
    partitions: tuple[str, ...]
    coordinator_epoch: int


@event()
class TransactionsLoaded(NamedTuple):
    """This broker leads a partition of `__transaction_state`, has read it, and coordinates its
    transactional ids.
    """

    partition: int
    coordinator_epoch: int
    transactional_ids: int
    took_ms: int


@event()
class TransactionsUnloaded(NamedTuple):
    """This broker does not lead that partition any more, and has forgotten its transactional
    ids.
    """

    partition: int
    coordinator_epoch: int
    transactional_ids: int


@event()
class TransactionalIdExpired(NamedTuple):
    """Nothing was heard of it for transactional.id.expiration.ms: its record is a tombstone."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


@event()
class TransactionTimedOut(NamedTuple):
    """It was open for longer than its producer had asked for: the producer is fenced, the
    transaction aborted.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    """The fenced one."""
    open_ms: int
    timeout_ms: int


@event()
class ProducerFenced(NamedTuple):
    """A producer was refused: another process has initialised with its transactional id since, or
    the coordinator has aborted its transaction.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    current_epoch: int
    asked: str
    """Which request it was."""


@event()
class TransactionResumed(NamedTuple):
    """A new coordinator found the transaction decided but not complete, and has its markers written
    again.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    partitions: tuple[str, ...]
    coordinator_epoch: int


@event()
class TransactionMarkersSent(NamedTuple):
    """Markers left for the leader of their partitions; told with `broker` this broker's own id when
    it leads them itself.
    """

    broker: int
    transactional_ids: tuple[str, ...]
    partitions: int


@event()
class TransactionMarkerAnswered(NamedTuple):
    """The result of one marker in one partition. Anything but NONE is sent again, unless the
    coordinator itself was fenced.
    """

    transactional_id: str
    topic: str
    partition: int
    broker: int
    error: str
