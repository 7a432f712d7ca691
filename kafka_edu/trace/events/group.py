"""Events of the group coordinator: members, rebalances with their reasons, offsets, and which
groups are here (spec O1, O2).

A group belongs to one partition of `__consumer_offsets`; the events of the broker that leads it are
the group's.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event


@event(joins=("group", "generation"))
class GroupStateChanged(NamedTuple):
    """A group went from one state to another."""

    group: str
    generation: int
    before: str
    after: str
    members: int


@event(joins=("group", "generation"))
class RebalanceStarted(NamedTuple):
    """A rebalance began. Its cause is the event of the member that triggered it."""

    group: str
    generation: int
    """The one that ends."""
    reason: str
    member: str
    """Who caused it: a member's id, with its instance id if it has one; empty if it was no single
    member.
    """


@event(joins=("group", "generation"))
class RebalanceCompleted(NamedTuple):
    """All have joined: a new generation begins, and its leader is to assign. Without members the
    group is empty.
    """

    group: str
    generation: int
    protocol: str
    """The assignor that most members voted for."""
    leader: str
    members: tuple[str, ...]


class MemberPartitions(NamedTuple):
    """The partitions of one member. A value within events."""

    member: str
    partitions: tuple[tuple[str, tuple[int, ...]], ...]
    """(topic, partitions)"""


@event(joins=("group", "generation"))
class GroupAssigned(NamedTuple):
    """The leader's assignment is in the log, and goes to the members."""

    group: str
    generation: int
    leader: str
    assignments: tuple[tuple[str, int], ...]
    """Member id → bytes of its assignment, which only the members understand."""
    partitions: tuple[MemberPartitions, ...] = ()
    """The decoded bytes, for members that are consumers. Left out when they are more than 16 KiB
    in all: then GroupMembersSampled shows the assignment, while somebody looks.
    """


@event(joins=("group",))
class MemberIdGiven(NamedTuple):
    """A new member got its id and must join again with it (KIP-394)."""

    group: str
    member: str
    client_id: str
    client_host: str


@event(joins=("group",))
class MemberJoined(NamedTuple):
    """A new member is in the group."""

    group: str
    member: str
    instance: str
    """The static member's own id, or empty (KIP-345)."""
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[str, ...]
    members: int
    """The number of members now."""
    topics: tuple[str, ...] = ()
    """The topics that a consumer subscribes to."""


@event(joins=("group",))
class MemberUpdated(NamedTuple):
    """A member joins again, maybe with something else to say of itself."""

    group: str
    member: str
    instance: str
    state: str
    """The group's, when it came."""
    topics_before: tuple[str, ...] = ()
    """The topics that a consumer subscribed to before; filled only if they are others now."""
    topics: tuple[str, ...] = ()
    """The topics that it subscribes to now; filled only if they changed."""


@event(joins=("group",))
class MemberLeft(NamedTuple):
    """A member said that it leaves."""

    group: str
    member: str
    instance: str
    members: int


@event(joins=("group",))
class MemberFailed(NamedTuple):
    """A member was removed: it sent no heartbeat, did not join again, or did not ask for its
    assignment in time.
    """

    group: str
    member: str
    instance: str
    reason: str
    members: int


@event(joins=("group",))
class StaticMemberReplaced(NamedTuple):
    """A static member came back under a new member id; who still uses the old one is fenced
    (KIP-345).
    """

    group: str
    instance: str
    before: str
    member: str


@event(joins=("group",))
class MemberFenced(NamedTuple):
    """A request under an instance id that belongs to another member now was refused with
    FENCED_INSTANCE_ID.
    """

    group: str
    instance: str
    member: str
    operation: str
    """The request, as in `heartbeat`."""


@event(level=Level.HOPS, joins=("group",))
class OffsetsCommitted(NamedTuple):
    """Offsets are in the log of `__consumer_offsets` and count from now on; those of a transaction
    when it commits.
    """

    group: str
    generation: int
    member: str
    offsets: tuple[tuple[str, int, int], ...]
    """(topic, partition, offset)"""
    producer_id: int
    """Whose transaction it is; -1: none."""


@event(joins=("group", "producer_id"))
class TransactionalOffsetsCompleted(NamedTuple):
    """A transaction ended: the offsets that it had committed count from now on, or are dropped."""

    group: str
    producer_id: int
    committed: bool
    offsets: tuple[tuple[str, int, int], ...]


@event(joins=("group",))
class OffsetsRemoved(NamedTuple):
    """Committed offsets are gone; tombstones for them are in the log."""

    group: str
    reason: str
    """expired, deleted, the topic is deleted"""
    partitions: tuple[tuple[str, int], ...]


@event()
class GroupsLoading(NamedTuple):
    """This broker leads a partition of `__consumer_offsets` now and reads it; its groups answer
    COORDINATOR_LOAD_IN_PROGRESS meanwhile.
    """

    partition: int
    leader_epoch: int


@event()
class GroupsLoaded(NamedTuple):
    """The partition is read: this broker coordinates its groups."""

    partition: int
    leader_epoch: int
    groups: int
    offsets: int
    took_ms: int


class GroupDescription(NamedTuple):
    """A whole group at one moment."""

    group: str
    partition: int
    state: str
    generation: int
    protocol_type: str
    protocol: str
    leader: str
    members: tuple[tuple[str, str, str, str], ...]
    """(member id, instance id or empty, client id, client host)"""
    pending_members: int
    offsets: int


@event(joins=("group", "generation"))
class GroupLoaded(NamedTuple):
    """This broker read a group from the log and coordinates it from now on. Each member must send a
    heartbeat within its session time-out.
    """

    group: GroupDescription


@event()
class GroupsUnloaded(NamedTuple):
    """Another broker leads the partition: its groups are forgotten here, waiting requests
    get NOT_COORDINATOR.
    """

    partition: int
    groups: int
    offsets: int


@event(kind=Kind.SNAPSHOT)
class GroupSnapshot(NamedTuple):
    """A group, sent to a new subscriber."""

    group: GroupDescription


class MemberState(NamedTuple):
    """One member at one moment. A value within events."""

    member: str
    instance: str
    client_id: str
    client_host: str
    session_timeout_ms: int
    heard_ms_ago: int
    """Since its last sign of life. The session ends at `session_timeout_ms`, unless a request of
    the member waits here.
    """
    waits: str
    """The request of the member that waits for its answer: JoinGroup, SyncGroup or empty."""
    topics: tuple[str, ...]
    partitions: tuple[tuple[str, tuple[int, ...]], ...]
    """Its assignment, as (topic, partitions), if it is a consumer."""


class GroupMembers(NamedTuple):
    """The members of a group at one moment, for whom it waits, and its offsets."""

    group: GroupDescription
    in_state_ms: int
    """Since the group entered its state."""
    rebalance_timeout_ms: int
    """That of the slowest member: a rebalance waits for so long."""
    members: tuple[MemberState, ...]
    pending: tuple[str, ...]
    """Member ids that were given and did not join yet."""
    unsynced: tuple[str, ...]
    """Members of the new generation that did not ask for their assignment yet."""
    offsets: tuple[tuple[str, int, int], ...]
    """Committed offsets: (topic, partition, offset); at most a thousand."""


@event(kind=Kind.GAUGE, thing=("group",))
class GroupMembersSampled(NamedTuple):
    """A sample of a group, twice a second. Of at most fifty groups: first those that rebalance,
    then those with members.
    """

    state: GroupMembers


@event(kind=Kind.SNAPSHOT)
class GroupMembersSnapshot(NamedTuple):
    """The members of a group, sent to a new subscriber."""

    state: GroupMembers
