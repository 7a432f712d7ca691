"""Events about the operations that wait in a purgatory (spec D1, D3; the Purgatory screen). Times
are in ms of the timer's clock.
"""

from typing import Final, NamedTuple

from kafka_edu.trace.event import Kind, Level, event

WAIT_SUB_BITS: Final = 5
"""Waiting times are counted in buckets. Between each time and its double there are 2^5 = 32
buckets. So the error of a median is at most 2 %.
"""


class ReplicaProgress(NamedTuple):
    """A leader's knowledge of one follower's progress. Events have this value as a field.

    Times are monotonic ms on the leader, like the timer's clock. -1 means: not yet in this leader's
    epoch.
    """

    broker: int
    log_end_offset: int
    """The follower has stored all records below this offset. -1 until the follower's first
    fetch.
    """
    last_fetch_ms: int
    caught_up_ms: int
    """When the follower last had all of the leader's records."""


class Requirement(NamedTuple):
    """One condition that an operation still waits for, in numbers (spec D3). It answers the
    question "why is the operation still waiting?". Events have this value as a field.

    Example of a produce with acks=all: `subject` is `web-0`, `needs` is `high watermark`,
    `at_least` is 4, `have` is 2, and `holders` is (("broker 0", 4), ("broker 1", 4), ("broker 2",
    2)). For a fetch, `needs` is `bytes`, `at_least` is fetch.min.bytes, `have` is the number of
    bytes that are there now, and `holders` are the partitions with their bytes.
    """

    subject: str
    needs: str
    at_least: int
    have: int
    holders: tuple[tuple[str, int], ...] = ()
    """The brokers or partitions that the condition is about, and how much each has. They show which
    one is behind.
    """
    replicas: tuple[ReplicaProgress, ...] = ()
    """The progress of the followers in the ISR, if the operation waits for these followers."""
    isr_check_ms: int = 0
    """When the leader will next remove lagging followers from the ISR. 0 if that is unknown."""
    max_lag_ms: int = 0
    """The broker's replica.lag.time.max.ms. The leader checks its followers twice in this time."""
    min_isr: int = 0
    """The topic's min.insync.replicas. With fewer replicas in the ISR, a produce ends with an
    error.
    """


class PurgatoryState(NamedTuple):
    """A purgatory at one moment. `watched` is Kafka's metric PurgatorySize, and `delayed` is
    NumDelayedOperations. Events have this value as a field.
    """

    purgatory: str
    watched: int
    """The number of entries in the lists of all keys. An operation has one entry for each of its
    keys. The entries count until they are purged.
    """
    delayed: int
    """The number of operations in the timer."""
    keys: int
    completed_at_once: int
    completed_by_event: int
    completed_by_timeout: int
    completed_forced: int


class WaitingOperation(NamedTuple):
    """One waiting operation, and what it waits for. Events have this value as a field."""

    purgatory: str
    operation: int
    label: str
    keys: tuple[str, ...]
    age_ms: int
    deadline_ms: int
    why: tuple[Requirement, ...]
    client: str = ""
    """The client id of the request that waits. Empty if the operation does not belong to a single
    request.
    """
    correlation_id: int = -1


class EndedBy(NamedTuple):
    """How many operations ended because of one cause, and how long they had waited. Events have
    this value as a field.
    """

    cause: str
    """The cause in words, for example `HW moved: broker 2 fetched`, `time-out` or `not leader any
    more`.
    """
    waits: tuple[int, ...]
    """Only in older recordings, which have no `counts`: the number of operations by waiting time.
    Entry 0 counts waits below 1 ms, and entry n counts waits from 2^(n-1) ms to below 2^n ms.
    """
    counts: tuple[tuple[int, int], ...] = ()
    """Pairs (bucket, number of operations) since the broker started. There are 32 buckets between
    each waiting time and its double (`common.log_histogram.bucket_at`). So a wait of 500 ms counts
    in the bucket from 496 to 503 ms. Only operations that ended while somebody watched are counted.
    """


class OperationsEnded(NamedTuple):
    """How the operations of one purgatory have ended, by cause. Events have this value as a
    field.
    """

    purgatory: str
    ended: tuple[EndedBy, ...]


@event(level=Level.HOPS)
class OperationWatched(NamedTuple):
    """Hop: an operation cannot be completed yet, and waits under its keys. Next: OperationCompleted
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
    """Hop: an operation was completed. This happens only once. The response that follows has this
    event as its cause.
    """

    purgatory: str
    operation: int
    label: str
    by: str
    """How the operation was completed: `at once`, `event`, `time-out` or `forced`."""
    key: str
    """The key whose event completed the operation. Empty if no key's event completed it."""
    waited_ms: int
    cause: str = ""
    """The cause in words, for example `HW moved: broker 2 fetched`, `time-out` or `not leader any
    more`.
    """
    client: str = ""
    """The client id of the request that waited. Empty if the operation does not belong to a single
    request.
    """
    correlation_id: int = -1


@event(level=Level.HOPS)
class PurgatoryPurged(NamedTuple):
    """Operations were completed under one key. The purgatory removed them from the lists of their
    other keys.
    """

    purgatory: str
    purged: int
    watched: int


@event(kind=Kind.GAUGE, thing=("purgatory",))
class PurgatorySampled(NamedTuple):
    """A sample of a purgatory's counts."""

    state: PurgatoryState


@event(kind=Kind.GAUGE, thing=("purgatory", "operation"))
class WaitingOperationSampled(NamedTuple):
    """A sample of one waiting operation. At most fifty operations of a purgatory are sampled, those
    that have waited longest.
    """

    waiting: WaitingOperation


@event(kind=Kind.SNAPSHOT)
class PurgatorySnapshot(NamedTuple):
    """A purgatory's counts, sent to a new subscriber."""

    state: PurgatoryState


@event(kind=Kind.SNAPSHOT)
class WaitingOperationSnapshot(NamedTuple):
    """One waiting operation, sent to a new subscriber."""

    waiting: WaitingOperation


@event(kind=Kind.GAUGE, thing=("purgatory",))
class OperationsEndedSampled(NamedTuple):
    """How the operations of a purgatory have ended, with counts for each cause. Sent only when a
    count has changed.
    """

    state: OperationsEnded


@event(kind=Kind.SNAPSHOT)
class OperationsEndedSnapshot(NamedTuple):
    """How the operations of a purgatory have ended, by cause, sent to a new subscriber."""

    state: OperationsEnded
