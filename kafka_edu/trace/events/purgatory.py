"""Events about the operations that wait in a purgatory (spec D1, D3; the Purgatory screen).
Times are ms of the timer's clock.
"""

from typing import Final, NamedTuple

from kafka_edu.trace.event import Kind, Level, event

WAIT_SUB_BITS: Final = 5
"""Waits are counted in 2^5 = 32 buckets for each doubling, so a median is at most 2 % off."""


class ReplicaProgress(NamedTuple):
    """A follower as its leader knows it. A value within events.

    Times are the leader's monotonic ms, the timer's clock; -1: never in this leader's epoch.
    """

    broker: int
    log_end_offset: int
    """All records below it are stored there; -1 until its first fetch."""
    last_fetch_ms: int
    caught_up_ms: int
    """When it last had all of the leader's records."""


class Requirement(NamedTuple):
    """One thing that an operation still waits for, so that "why is it still waiting?" has an answer
    in numbers (spec D3). A value within events.

    A produce with acks=all: subject `web-0`, needs `high watermark`, at_least 4, have 2, holders
    (("broker 0", 4), ("broker 1", 4), ("broker 2", 2)). A fetch: needs `bytes`, at_least
    fetch.min.bytes, have what is there now, holders the partitions with their bytes.
    """

    subject: str
    needs: str
    at_least: int
    have: int
    holders: tuple[tuple[str, int], ...] = ()
    """The holders and how much each has, so that the one that is behind stands out."""
    replicas: tuple[ReplicaProgress, ...] = ()
    """The followers in the ISR, if the operation waits for them."""
    isr_check_ms: int = 0
    """When the leader next removes lagging followers from the ISR; 0: not known."""
    max_lag_ms: int = 0
    """replica.lag.time.max.ms. The leader checks twice in this time."""
    min_isr: int = 0
    """min.insync.replicas: with fewer replicas in the ISR, a produce ends with an error."""


class PurgatoryState(NamedTuple):
    """A purgatory at one moment. Kafka's metrics: PurgatorySize is `watched`, NumDelayedOperations
    is `delayed`.
    """

    purgatory: str
    watched: int
    """Operations in the lists of all keys. An operation counts once under each of its keys, and
    until it is purged.
    """
    delayed: int
    """Operations in the timer."""
    keys: int
    completed_at_once: int
    completed_by_event: int
    completed_by_timeout: int
    completed_forced: int


class WaitingOperation(NamedTuple):
    """One operation that waits, and what it waits for."""

    purgatory: str
    operation: int
    label: str
    keys: tuple[str, ...]
    age_ms: int
    deadline_ms: int
    why: tuple[Requirement, ...]
    client: str = ""
    """The client whose request waits; empty if no single request waits."""
    correlation_id: int = -1


class EndedBy(NamedTuple):
    """How many operations one cause has ended, and how long they had waited. A value within
    events.
    """

    cause: str
    """In words: `HW moved: broker 2 fetched`, `time-out`, `not leader any more`."""
    waits: tuple[int, ...]
    """In older recordings, counts by powers of two: [0] waited less than 1 ms, [n] from 2^(n-1) to
    below 2^n ms. Empty since there is `counts`.
    """
    counts: tuple[tuple[int, int], ...] = ()
    """(bucket, operations) since the broker started. A doubling has 32 buckets
    (`common.log_histogram.bucket_at`), so a wait of 500 ms counts from 496 to 503. Only operations
    that ended while somebody looked are counted.
    """


class OperationsEnded(NamedTuple):
    """The causes that ended the operations of one purgatory."""

    purgatory: str
    ended: tuple[EndedBy, ...]


@event(level=Level.HOPS)
class OperationWatched(NamedTuple):
    """Hop: an operation cannot be completed yet and waits under its keys. Next: OperationCompleted
    with the same purgatory and operation.
    """

    purgatory: str
    operation: int
    label: str
    keys: tuple[str, ...]
    deadline_ms: int
    why: tuple[Requirement, ...]
    client: str = ""
    correlation_id: int = -1


@event(level=Level.HOPS)
class OperationCompleted(NamedTuple):
    """Hop: an operation has completed, which happens once. Its response follows, and names this
    event as its cause.
    """

    purgatory: str
    operation: int
    label: str
    by: str
    """`at once`, `event`, `time-out` or `forced`."""
    key: str
    """The key whose event completed it, or empty."""
    waited_ms: int
    cause: str = ""
    """The cause, in words: `HW moved: broker 2 fetched`, `time-out`, `not leader any more`."""
    client: str = ""
    """The client whose request waited; empty if no single request waited."""
    correlation_id: int = -1


@event(level=Level.HOPS)
class PurgatoryPurged(NamedTuple):
    """Operations that were completed under one key were taken out of the lists of their other
    keys.
    """

    purgatory: str
    purged: int
    watched: int


@event(kind=Kind.GAUGE, thing=("purgatory",))
class PurgatorySampled(NamedTuple):
    """A sample of a purgatory."""

    state: PurgatoryState


@event(kind=Kind.GAUGE, thing=("purgatory", "operation"))
class WaitingOperationSampled(NamedTuple):
    """A sample of one operation that waits: the longest waiting first, at most fifty of a
    purgatory.
    """

    waiting: WaitingOperation


@event(kind=Kind.SNAPSHOT)
class PurgatorySnapshot(NamedTuple):
    """A purgatory, sent to a new subscriber."""

    state: PurgatoryState


@event(kind=Kind.SNAPSHOT)
class WaitingOperationSnapshot(NamedTuple):
    """One operation that waits, sent to a new subscriber."""

    waiting: WaitingOperation


@event(kind=Kind.GAUGE, thing=("purgatory",))
class OperationsEndedSampled(NamedTuple):
    """The causes that ended the operations of a purgatory, with counts. Sent only when a count
    has changed.
    """

    state: OperationsEnded


@event(kind=Kind.SNAPSHOT)
class OperationsEndedSnapshot(NamedTuple):
    """The causes that ended the operations of a purgatory, sent to a new subscriber."""

    state: OperationsEnded
