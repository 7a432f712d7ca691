"""Events of our own consumer: its subscription, its positions, and its membership in a group."""

from typing import NamedTuple

from kafka_edu.trace.event import Level, event


@event()
class ConsumerSubscribed(NamedTuple):
    """The program changed what the consumer reads: topics, which the group divides, or partitions
    that it chose itself. With a pattern, the topics are those that match it so far, and another
    event follows when they change. All are empty after unsubscribe().
    """

    client: str
    topics: tuple[str, ...]
    partitions: tuple[str, ...]
    pattern: str


@event()
class ConsumerAssigned(NamedTuple):
    """The consumer has these partitions from now on, as its group or the program decided."""

    client: str
    partitions: tuple[str, ...]


@event(joins=("topic", "partition"))
class FetchStateChanged(NamedTuple):
    """The state of one partition within a consumer changed (Kafka: SubscriptionState.FetchStates).
    The offset is the position, or -1 if there is none.
    """

    client: str
    topic: str
    partition: int
    before: str
    after: str
    offset: int
    reason: str


@event(joins=("topic", "partition"))
class PartitionPaused(NamedTuple):
    """The program paused a partition. The consumer keeps it, but fetches nothing from it."""

    client: str
    topic: str
    partition: int


@event(joins=("topic", "partition"))
class PartitionResumed(NamedTuple):
    """The program resumed a paused partition."""

    client: str
    topic: str
    partition: int


@event(level=Level.HOPS, joins=("topic", "partition"))
class PositionAdvanced(NamedTuple):
    """poll() returned records of a partition. The position is behind them now."""

    client: str
    topic: str
    partition: int
    before: int
    after: int
    records: int
    """The number of records. Fewer than the offsets between if some are skipped: markers, aborted
    transactions, and what compaction removed.
    """


@event(level=Level.HOPS, joins=("topic", "partition"))
class RecordsFetched(NamedTuple):
    """A broker answered a fetch with records. They wait in the consumer until poll() returns
    them.
    """

    client: str
    broker_id: int
    topic: str
    partition: int
    offset: int
    """The offset that the fetch asked for."""
    bytes: int
    high_watermark: int


@event(joins=("group",))
class GroupCoordinatorChanged(NamedTuple):
    """The consumer learned which broker coordinates its group, or lost it. Then `broker_id` is
    -1.
    """

    client: str
    group: str
    broker_id: int
    reason: str


@event(joins=("group", "generation"))
class MembershipChanged(NamedTuple):
    """The state of a consumer's membership in its group changed."""

    client: str
    group: str
    before: str
    after: str
    member_id: str
    """Empty as long as the coordinator has given none."""
    generation: int
    reason: str


@event(joins=("group", "generation"))
class ConsumerLedAssignment(NamedTuple):
    """The consumer leads its group, and has assigned the partitions to the members."""

    client: str
    group: str
    generation: int
    assignor: str
    members: tuple[tuple[str, tuple[str, ...]], ...]
    """Pairs of a member and its partitions."""


@event(joins=("group",))
class ConsumerCommitted(NamedTuple):
    """A consumer's commit was answered. The error is empty if the offsets are stored."""

    client: str
    group: str
    offsets: tuple[tuple[str, int], ...]
    """Pairs of a partition and its offset."""
    error: str
