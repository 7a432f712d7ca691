"""Events of the group coordinator: members, rebalances with their reasons, committed offsets, and
the groups that this broker coordinates (spec O1, O2).

A group belongs to one partition of `__consumer_offsets`. The broker that leads this partition emits
the group's events.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event


@event(joins=("group", "generation"))
class GroupStateChanged(NamedTuple):
    """A consumer group changed from one state to another."""

    group: str
    generation: int
    before: str
    after: str
    members: int


@event(joins=("group", "generation"))
class RebalanceStarted(NamedTuple):
    """A rebalance of a group has begun. The event's cause is the event of the member that triggered
    the rebalance.
    """

    group: str
    generation: int
    """The generation that ends with this rebalance."""
    reason: str
    member: str
    """The id of the member that triggered the rebalance, with its instance id if it has one. Empty
    if no single member triggered it.
    """


@event(joins=("group", "generation"))
class RebalanceCompleted(NamedTuple):
    """All members have joined, and a new generation begins. Its leader must now assign the
    partitions. If there are no members, the group is empty.
    """

    group: str
    generation: int
    protocol: str
    """The name of the assignor that most members voted for."""
    leader: str
    members: tuple[str, ...]


class MemberPartitions(NamedTuple):
    """The partitions that one member of a group gets. Events have this value as a field."""

    member: str
    partitions: tuple[tuple[str, tuple[int, ...]], ...]
    """Pairs of a topic and its partition numbers."""


@event(joins=("group", "generation"))
class GroupAssigned(NamedTuple):
    """The group leader's assignment is in the log, and the coordinator sends it to the members."""

    group: str
    generation: int
    leader: str
    assignments: tuple[tuple[str, int], ...]
    """Pairs of a member id and the size of the member's assignment in bytes. Only the members can
    decode these bytes.
    """
    partitions: tuple[MemberPartitions, ...] = ()
    """The decoded assignments of the members that are consumers. It is empty if they take more than
    16 KiB together. GroupMembersSampled also shows them, but only while somebody watches.
    """


@event(joins=("group",))
class MemberIdGiven(NamedTuple):
    """The coordinator gave a new member its id. The member must join again with this id
    (KIP-394).
    """

    group: str
    member: str
    client_id: str
    client_host: str


@event(joins=("group",))
class MemberJoined(NamedTuple):
    """A new member has joined the group."""

    group: str
    member: str
    instance: str
    """The instance id of a static member (KIP-345). Empty for other members."""
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[str, ...]
    members: int
    """The number of members of the group now."""
    topics: tuple[str, ...] = ()
    """The topics to which the new member subscribes, if it is a consumer."""


@event(joins=("group",))
class MemberUpdated(NamedTuple):
    """A member has joined again. Its topics or other data may have changed."""

    group: str
    member: str
    instance: str
    state: str
    """The state of the group when the member joined again."""
    topics_before: tuple[str, ...] = ()
    """The topics to which the member subscribed before. Filled only if they have changed."""
    topics: tuple[str, ...] = ()
    """The topics to which the member subscribes now. Filled only if they have changed."""


@event(joins=("group",))
class MemberLeft(NamedTuple):
    """A member left the group with a LeaveGroup request."""

    group: str
    member: str
    instance: str
    members: int


@event(joins=("group",))
class MemberFailed(NamedTuple):
    """The coordinator removed a member. The member sent no heartbeat, did not join again, or did
    not request its assignment in time.
    """

    group: str
    member: str
    instance: str
    reason: str
    members: int


@event(joins=("group",))
class StaticMemberReplaced(NamedTuple):
    """A static member came back and got a new member id. A process that still uses the old id is
    fenced (KIP-345).
    """

    group: str
    instance: str
    before: str
    member: str


@event(joins=("group",))
class MemberFenced(NamedTuple):
    """The coordinator refused a request with FENCED_INSTANCE_ID, because the instance id in it now
    belongs to another member id.
    """

    group: str
    instance: str
    member: str
    operation: str
    """The kind of request, for example `heartbeat`."""


@event(level=Level.HOPS, joins=("group",))
class OffsetsCommitted(NamedTuple):
    """Committed offsets were written to the log of `__consumer_offsets`. They are valid from now
    on. Offsets of a transaction become valid when the transaction commits.
    """

    group: str
    generation: int
    member: str
    offsets: tuple[tuple[str, int, int], ...]
    """Each entry is (topic, partition, offset)."""
    producer_id: int
    """The producer id of the transaction that committed the offsets, or -1 without a
    transaction.
    """


@event(joins=("group", "producer_id"))
class TransactionalOffsetsCompleted(NamedTuple):
    """A transaction ended. The offsets that were committed in it are valid from now on, or are
    dropped.
    """

    group: str
    producer_id: int
    committed: bool
    offsets: tuple[tuple[str, int, int], ...]


@event(joins=("group",))
class OffsetsRemoved(NamedTuple):
    """Committed offsets of a group were removed. Tombstones for them were written to the log."""

    group: str
    reason: str
    """`expired`, `deleted` or `the topic is deleted`."""
    partitions: tuple[tuple[str, int], ...]


@event()
class GroupsLoading(NamedTuple):
    """This broker has become leader of a partition of `__consumer_offsets`, and reads the
    partition's groups. Until it has finished, requests for these groups get
    COORDINATOR_LOAD_IN_PROGRESS.
    """

    partition: int
    leader_epoch: int


@event()
class GroupsLoaded(NamedTuple):
    """This broker has read the partition of `__consumer_offsets`. It now coordinates the
    partition's groups.
    """

    partition: int
    leader_epoch: int
    groups: int
    offsets: int
    took_ms: int


class GroupDescription(NamedTuple):
    """The state and the members of a group at one moment. Events have this value as a field."""

    group: str
    partition: int
    state: str
    generation: int
    protocol_type: str
    protocol: str
    leader: str
    members: tuple[tuple[str, str, str, str], ...]
    """Each entry is (member id, instance id or "", client id, client host)."""
    pending_members: int
    offsets: int


@event(joins=("group", "generation"))
class GroupLoaded(NamedTuple):
    """This broker has read a group from the log, and coordinates it from now on. Each member must
    send a heartbeat within its session time-out.
    """

    group: GroupDescription


@event()
class GroupsUnloaded(NamedTuple):
    """Another broker leads the partition of `__consumer_offsets` now. This broker has dropped the
    partition's groups, and their waiting requests got NOT_COORDINATOR.
    """

    partition: int
    groups: int
    offsets: int


@event(kind=Kind.SNAPSHOT)
class GroupSnapshot(NamedTuple):
    """The state of a group, sent to a new subscriber."""

    group: GroupDescription


class MemberState(NamedTuple):
    """One member of a group at one moment. Events have this value as a field."""

    member: str
    instance: str
    client_id: str
    client_host: str
    session_timeout_ms: int
    heard_ms_ago: int
    """How many ms ago the coordinator last heard from the member. At `session_timeout_ms` the
    member is removed, unless a request of the member waits at the coordinator.
    """
    waits: str
    """The member's request that waits for an answer: `JoinGroup`, `SyncGroup` or empty."""
    topics: tuple[str, ...]
    partitions: tuple[tuple[str, tuple[int, ...]], ...]
    """If the member is a consumer, its assignment: pairs of a topic and its partition numbers."""


class GroupMembers(NamedTuple):
    """A group at one moment: all its members, those that the coordinator waits for, and the
    committed offsets. Events have this value as a field.
    """

    group: GroupDescription
    in_state_ms: int
    """How many ms ago the group entered its current state."""
    rebalance_timeout_ms: int
    """How many ms a rebalance waits for its members. It is the longest rebalance time-out of all
    members.
    """
    members: tuple[MemberState, ...]
    pending: tuple[str, ...]
    """The ids that the coordinator has given to new members that have not joined yet."""
    unsynced: tuple[str, ...]
    """The members of the new generation that have not requested their assignment yet."""
    offsets: tuple[tuple[str, int, int], ...]
    """The committed offsets, each as (topic, partition, offset). At most one thousand are
    listed.
    """


@event(kind=Kind.GAUGE, thing=("group",))
class GroupMembersSampled(NamedTuple):
    """A sample of a group, taken twice a second. At most fifty groups are sampled: rebalancing
    groups first, then groups with members.
    """

    state: GroupMembers


@event(kind=Kind.SNAPSHOT)
class GroupMembersSnapshot(NamedTuple):
    """The members and offsets of a group, sent to a new subscriber."""

    state: GroupMembers
