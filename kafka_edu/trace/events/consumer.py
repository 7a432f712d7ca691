"""Events of our own consumer: its subscription, its positions, and its membership in a group."""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event
from kafka_edu.trace.events.producer import ClientLink


@event()
class ConsumerSubscribed(NamedTuple):
    """The program changed what the consumer reads: topics (then the group divides their
    partitions), or partitions that the program chose itself. With a pattern, the topics are those
    that match it so far, and another event follows when they change. After unsubscribe() all fields
    except `client` are empty.
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
    """poll() returned records of a partition. The position is now the offset after them."""

    client: str
    topic: str
    partition: int
    before: int
    after: int
    records: int
    """The number of records. It is smaller than the number of offsets if some are skipped: markers,
    aborted transactions, and records that compaction removed.
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
    """The requested offset of the fetch."""
    bytes: int
    high_watermark: int


@event(joins=("group",))
class GroupCoordinatorChanged(NamedTuple):
    """The consumer learned which broker coordinates its group. If the consumer lost its
    coordinator, `broker_id` is -1.
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
    """The member's id. Empty until the coordinator has given one."""
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


class ConsumedPartition(NamedTuple):
    """One partition of a consumer at one moment. Events have this value as a field."""

    topic: str
    partition: int
    leader: int
    """The leader as the consumer knows it. -1 if it knows none."""
    state: str
    """The fetch state, such as `Fetching` (Kafka: SubscriptionState.FetchStates)."""
    paused: bool
    position: int
    """The offset of the next record that poll() returns. -1 if there is none yet."""
    committed: int
    """The last offset that this consumer committed, or read as committed. -1 if it knows none."""
    high_watermark: int
    """The high watermark that came with the last fetch. -1 if none came yet."""


class ConsumerDescription(NamedTuple):
    """One of our consumers at one moment. Events have this value as a field."""

    client: str
    group: str
    """The group's id. Empty if the consumer has no group."""
    state: str
    """The state of the membership. It is also `Unjoined` if the consumer does not use group
    management.
    """
    member_id: str
    generation: int
    assignor: str
    coordinator: int
    """The coordinator's broker id. -1 if it is unknown."""
    session_timeout_ms: int
    session_left_ms: int
    """In how many ms the session ends if no heartbeat is answered. -1 if there is no session."""
    heartbeat_interval_ms: int
    heartbeat_waits: bool
    """Whether a heartbeat was sent and has no answer yet."""
    max_poll_interval_ms: int
    polled_ms_ago: int
    """How long ago poll() was called last, in ms. -1 if it never was."""
    auto_commit_ms: int
    """auto.commit.interval.ms. 0 if the consumer does not commit by itself."""
    records: int
    """How many records poll() has returned."""
    buffered: int
    """How many fetched pieces of partitions wait for poll()."""
    partitions: tuple[ConsumedPartition, ...]
    """The partitions that the consumer has."""
    links: tuple[ClientLink, ...]
    """Its connections. The coordinator has a connection of its own: see `coordinator_link`."""
    coordinator_link: tuple[ClientLink, ...]
    """The connection to the coordinator, or none."""


@event(kind=Kind.GAUGE, thing=("client",))
class ConsumerSampled(NamedTuple):
    """A sample of one of our consumers."""

    consumer: ConsumerDescription


@event(kind=Kind.SNAPSHOT)
class ConsumerSnapshot(NamedTuple):
    """One of our consumers, sent to a new subscriber."""

    consumer: ConsumerDescription
