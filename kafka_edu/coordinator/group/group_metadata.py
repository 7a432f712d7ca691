"""One group: its members, its generation, its protocol and its offsets.

(Kafka: GroupMetadata.scala; book 001, 002 §6.) This module only keeps the data of a group;
GroupCoordinator decides when the data change. Each kind of change has one method, which also emits
the event of that change.

- generation: a number that grows by one in each rebalance. A member with another generation has
  missed a rebalance (ILLEGAL_GENERATION).
- leader: the member that makes the assignment for all members, usually the first one. The
  coordinator does not need to understand the assignment.
- protocol: an assignor that all members support, chosen by vote. Each member votes for the assignor
  that it prefers. For example, A prefers range, B and C prefer sticky, and all support both. Then
  sticky is chosen, with 2 of 3 votes.
- pending members: clients that received a member id and have not joined with it yet (KIP-394). A
  rebalance waits for them too.
- static members: a table of instance id → member id (KIP-345).

Always true: `num_awaiting_join` is the number of members whose JoinGroup waits; the leader is a
member; each static member is in `members`. GroupMetadataManager owns the groups.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_offsets import GroupOffsets
from kafka_edu.coordinator.group.group_state import VALID_PREVIOUS_STATES, GroupState
from kafka_edu.coordinator.group.group_subscription import (
    partitions_of,
    subscribed_topics,
    topics_of,
)
from kafka_edu.coordinator.group.member_metadata import (
    JoinCallback,
    JoinGroupMember,
    JoinGroupResult,
    MemberMetadata,
    Protocol,
    SyncCallback,
    SyncGroupResult,
)
from kafka_edu.trace.events.group import (
    GroupAssigned,
    GroupDescription,
    GroupMembers,
    GroupStateChanged,
    MemberFenced,
    MemberIdGiven,
    MemberJoined,
    MemberPartitions,
    MemberState,
    MemberUpdated,
    RebalanceCompleted,
    StaticMemberReplaced,
)
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.zk_data import random_uuid

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
NO_MEMBER_ID: Final = ""
MAX_EVENT_ASSIGNMENT_BYTES: Final = 16 * 1024
"""GroupAssigned lists partitions only if all assignments together have at most these bytes."""
MAX_TOLD_OFFSETS: Final = 1000


class GroupMetadata:
    """A group. Its `members` are in the order in which they joined."""

    def __init__(
        self, group_id: str, state: GroupState, now_ms: int, trace: Tracer | None = None
    ) -> None:
        self.group_id = group_id
        self.state = state
        self.current_state_timestamp: int | None = now_ms
        """The wall time in ms when the group entered its state; None if an old record lacks it.

        The group's offsets expire some time after this moment (KIP-211).
        """
        self.protocol_type: str | None = None
        """The members' protocol type, such as "consumer".

        None if no member ever joined, so that the group only commits offsets.
        """
        self.protocol_name: str | None = None
        self.generation_id = 0
        self.leader_id: str | None = None
        self.members: dict[str, MemberMetadata] = {}
        self.pending_members: dict[str, None] = {}
        self.pending_sync_members: dict[str, None] = {}
        """The members of the new generation that have not sent SyncGroup yet."""
        self.new_member_added = False
        """Whether a member joined during the first rebalance, which then waits longer."""
        self.subscribed_topics: frozenset[str] | None = None
        """The topics to which at least one member of a consumer group subscribes.

        None if this is not a consumer group, or if a subscription cannot be read.
        """
        self.offsets = GroupOffsets()
        self.num_awaiting_join = 0
        self._static_members: dict[str, str] = {}
        self._supported: Counter[str] = Counter()
        self._trace = trace

    def transition_to(self, state: GroupState, now_ms: int) -> None:
        """Enter the next state. Raises RuntimeError if the table does not allow this transition."""
        if self.state not in VALID_PREVIOUS_STATES[state]:
            raise RuntimeError(f"group {self.group_id} cannot go from {self.state} to {state}")
        before, self.state = self.state, state
        self.current_state_timestamp = now_ms
        if self._trace:
            self._trace(
                GroupStateChanged(
                    group=self.group_id,
                    generation=self.generation_id,
                    before=before,
                    after=state,
                    members=len(self.members),
                )
            )

    @property
    def can_rebalance(self) -> bool:
        return self.state in VALID_PREVIOUS_STATES[GroupState.PREPARING_REBALANCE]

    def has(self, member_id: str) -> bool:
        return member_id in self.members

    def is_leader(self, member_id: str) -> bool:
        return self.leader_id == member_id

    def static_member_id(self, group_instance_id: str | None) -> str | None:
        """Return the member id that now belongs to the instance id; None if no member has this
        instance id.
        """
        return None if group_instance_id is None else self._static_members.get(group_instance_id)

    def is_static_member_fenced(
        self, member_id: str, group_instance_id: str | None, operation: str
    ) -> bool:
        """Return whether the instance id now belongs to a member other than `member_id`.

        An instance id that belongs to no member does not fence any member.
        """
        current = self.static_member_id(group_instance_id)
        if current is None or current == member_id:
            return False
        if self._trace:
            self._trace(
                MemberFenced(
                    group=self.group_id,
                    instance=group_instance_id or "",
                    member=member_id,
                    operation=operation,
                )
            )
        return True

    def generate_member_id(
        self, client_id: str, group_instance_id: str | None, random: Random
    ) -> str:
        """Return a new member id: `<client id>-<uuid>`.

        For a static member it is `<instance id>-<uuid>`.
        """
        return (
            f"{client_id if group_instance_id is None else group_instance_id}-{random_uuid(random)}"
        )

    def add_pending_member(self, member_id: str, client_id: str, client_host: str) -> None:
        """Record a member id that a client just received; the group waits until this client
        joins.
        """
        self.pending_members[member_id] = None
        if self._trace:
            self._trace(
                MemberIdGiven(
                    group=self.group_id,
                    member=member_id,
                    client_id=client_id,
                    client_host=client_host,
                )
            )

    def add(self, member: MemberMetadata, respond: JoinCallback | None = None) -> int:
        """Add a member. The first member becomes the leader. If `respond` is given, the member's
        JoinGroup waits for its response.

        Returns the number of the trace event, or 0 without a trace.
        """
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self._enter(member)
        self.pending_members.pop(member.member_id, None)
        self._await_join(member, respond)
        if not self._trace:
            return 0
        return self._trace(
            MemberJoined(
                group=self.group_id,
                member=member.member_id,
                instance=member.group_instance_id or "",
                client_id=member.client_id,
                client_host=member.client_host,
                session_timeout_ms=member.session_timeout_ms,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                protocols=tuple(protocol.name for protocol in member.supported_protocols),
                members=len(self.members),
                topics=self.topics_of(member.supported_protocols),
            )
        )

    def _enter(self, member: MemberMetadata) -> None:
        self.members[member.member_id] = member
        self._supported.update(member.protocol_names())
        if member.group_instance_id is not None:
            self._static_members[member.group_instance_id] = member.member_id

    def restore(
        self,
        members: Iterable[MemberMetadata],
        generation_id: int,
        protocol_type: str | None,
        protocol_name: str | None,
        leader_id: str | None,
    ) -> None:
        """Set the members and values that were read from the log, without emitting events."""
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader_id = leader_id
        for member in members:
            self._enter(member)
        self.subscribed_topics = self.compute_subscribed_topics()

    def update(
        self, member: MemberMetadata, protocols: tuple[Protocol, ...], respond: JoinCallback | None
    ) -> int:
        """Record that a member joins again with these protocols; its JoinGroup waits.

        Returns the number of the trace event, or 0 without a trace.
        """
        self._supported.subtract(member.protocol_names())
        before, member.supported_protocols = member.supported_protocols, protocols
        self._supported.update(member.protocol_names())
        self._await_join(member, respond)
        if not self._trace:
            return 0
        topics_before: tuple[str, ...] = ()
        topics: tuple[str, ...] = ()
        if protocols != before:
            topics_before, topics = self.topics_of(before), self.topics_of(protocols)
        if set(topics_before) == set(topics):
            topics_before = topics = ()
        return self._trace(
            MemberUpdated(
                group=self.group_id,
                member=member.member_id,
                instance=member.group_instance_id or "",
                state=self.state,
                topics_before=topics_before,
                topics=topics,
            )
        )

    def remove(self, member_id: str) -> MemberMetadata | None:
        """Remove a member and return it; None if the member was unknown. The caller emits the
        event.

        If the removed member was the leader, the next member becomes the leader.
        """
        member = self.members.pop(member_id, None)
        if member is None:
            return None
        self._supported.subtract(member.protocol_names())
        if member.awaiting_join is not None:
            self.num_awaiting_join -= 1
        if (
            member.group_instance_id is not None
            and self._static_members.get(member.group_instance_id) == member_id
        ):
            del self._static_members[member.group_instance_id]
        self.pending_sync_members.pop(member_id, None)
        if self.is_leader(member_id):
            self.leader_id = next(iter(self.members), None)
        return member

    def replace_static_member(
        self, group_instance_id: str, old_member_id: str, new_member_id: str
    ) -> MemberMetadata:
        """Give a static member its new member id (KIP-345), and return the member.

        Requests that wait under the old id are answered with FENCED_INSTANCE_ID.
        """
        member = self.members.pop(old_member_id)
        fenced = JoinGroupResult(Errors.FENCED_INSTANCE_ID, old_member_id)
        self.answer_join(member, fenced)
        self.answer_sync(member, SyncGroupResult(Errors.FENCED_INSTANCE_ID))
        member.member_id = new_member_id
        self.members[new_member_id] = member
        self._static_members[group_instance_id] = new_member_id
        if old_member_id in self.pending_sync_members:
            del self.pending_sync_members[old_member_id]
            self.pending_sync_members[new_member_id] = None
        if self.is_leader(old_member_id):
            self.leader_id = new_member_id
        if self._trace:
            self._trace(
                StaticMemberReplaced(
                    group=self.group_id,
                    instance=group_instance_id,
                    before=old_member_id,
                    member=new_member_id,
                )
            )
        return member

    def _await_join(self, member: MemberMetadata, respond: JoinCallback | None) -> None:
        self.num_awaiting_join += (respond is not None) - (member.awaiting_join is not None)
        member.awaiting_join = respond

    def answer_join(self, member: MemberMetadata, result: JoinGroupResult) -> bool:
        """Send the response to the member's waiting JoinGroup; return whether one waited."""
        respond = member.awaiting_join
        if respond is None:
            return False
        self._await_join(member, None)
        respond(result)
        return True

    def await_sync(self, member: MemberMetadata, respond: SyncCallback) -> None:
        """Record that the member's SyncGroup waits for the SyncGroup of the leader.

        If an earlier SyncGroup of the member still waits, its response is no longer sent.
        """
        member.awaiting_sync = respond

    def answer_sync(self, member: MemberMetadata, result: SyncGroupResult) -> bool:
        """Send the response to the member's waiting SyncGroup; return whether one waited."""
        respond = member.awaiting_sync
        if respond is None:
            return False
        member.awaiting_sync = None
        respond(result)
        return True

    @property
    def has_all_members_joined(self) -> bool:
        return len(self.members) == self.num_awaiting_join and not self.pending_members

    @property
    def not_yet_rejoined(self) -> list[MemberMetadata]:
        return [member for member in self.members.values() if member.awaiting_join is None]

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance time-out of all members, in ms."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def supports_protocols(self, protocol_type: str, names: Collection[str]) -> bool:
        """Return whether a member with these protocols may join the group.

        The member must have the group's protocol type, and at least one protocol that all members
        support.
        """
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and bool(names)
        return self.protocol_type == protocol_type and any(
            self._supported[name] == len(self.members) for name in names
        )

    def select_protocol(self) -> str:
        """Return the protocol that the members choose by vote; the group must have a member.

        Each member votes for the protocol that it prefers among the protocols that all members
        support. The protocol with the most votes wins. If two protocols have the same number of
        votes, the one that got its first vote earlier wins.
        """
        count = len(self.members)
        candidates = frozenset(
            name for name, supporters in self._supported.items() if supporters == count
        )
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader has joined again; if it has not, another member replaces it.

        Returns False if no member has joined again.
        """
        leader = self.members.get(self.leader_id) if self.leader_id is not None else None
        if leader is not None and leader.awaiting_join is not None:
            return True
        joined = next(
            (
                member_id
                for member_id, member in self.members.items()
                if member.awaiting_join is not None
            ),
            None,
        )
        if joined is None:
            return False
        self.leader_id = joined
        return True

    def init_next_generation(self, now_ms: int) -> None:
        """Begin the next generation with the members that joined. If none joined, become Empty."""
        self.generation_id += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.subscribed_topics = self.compute_subscribed_topics()
        self.pending_sync_members.clear()
        self.transition_to(
            GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY, now_ms
        )
        if self._trace:
            self._trace(
                RebalanceCompleted(
                    group=self.group_id,
                    generation=self.generation_id,
                    protocol=self.protocol_name or "",
                    leader=self.leader_id or "",
                    members=tuple(self.members),
                )
            )

    def compute_subscribed_topics(self) -> frozenset[str] | None:
        """Return the topics to which any member subscribes; None if they are unknown."""
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        return subscribed_topics(
            member.metadata(self.protocol_name) for member in self.members.values()
        )

    def topics_of(self, protocols: Sequence[Protocol]) -> tuple[str, ...]:
        """Return the topics that a member subscribes to, for events; empty if they are unknown."""
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE or not protocols:
            return ()
        return topics_of(protocols[0].metadata) or ()

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether a member is subscribed to the topic.

        Also True if it is not known to which topics the members are subscribed.
        """
        return self.subscribed_topics is None or topic in self.subscribed_topics

    def current_members(self) -> list[JoinGroupMember]:
        """Return the members in the form that the leader gets in its JoinGroup response."""
        name = self.protocol_name
        assert name is not None
        return [
            JoinGroupMember(m.member_id, m.group_instance_id, m.metadata(name))
            for m in self.members.values()
        ]

    def assign(self, assignments: Mapping[str, bytes]) -> None:
        """Record the assignment of each member, after it was written to the log."""
        for member_id, member in self.members.items():
            member.assignment = assignments.get(member_id, b"")
        if self._trace:
            sizes = tuple(
                (member_id, len(member.assignment)) for member_id, member in self.members.items()
            )
            self._trace(
                GroupAssigned(
                    group=self.group_id,
                    generation=self.generation_id,
                    leader=self.leader_id or "",
                    assignments=sizes,
                    partitions=self._event_partitions(sum(size for _, size in sizes)),
                )
            )

    def _event_partitions(self, size: int) -> tuple[MemberPartitions, ...]:
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE or size > MAX_EVENT_ASSIGNMENT_BYTES:
            return ()
        return tuple(
            MemberPartitions(member_id, partitions_of(member.assignment))
            for member_id, member in self.members.items()
        )

    def forget_assignments(self) -> None:
        """Clear all members' assignments, because this rebalance will not be completed."""
        for member in self.members.values():
            member.assignment = b""

    def expired_offsets(self, now_ms: int, retention_ms: int) -> list[TopicPartition]:
        """Return the partitions whose offsets have expired (KIP-211).

        An empty group keeps its offsets for the retention time. A stable group loses the expired
        offsets of topics that no member reads.
        """
        if self.protocol_type is None:
            return self.offsets.expired(now_ms, retention_ms, since_ms=None)
        if self.state is GroupState.EMPTY:
            return self.offsets.expired(now_ms, retention_ms, since_ms=self.current_state_timestamp)
        if (
            self.state is GroupState.STABLE
            and self.protocol_type == CONSUMER_PROTOCOL_TYPE
            and self.subscribed_topics is not None
        ):
            return self.offsets.expired(
                now_ms, retention_ms, since_ms=None, subscribed=self.subscribed_topics
            )
        return []

    def description(self, partition: int) -> GroupDescription:
        """Return a summary of the group as a value for events.

        `partition` is the group's partition of `__consumer_offsets`.
        """
        members = tuple(
            (m.member_id, m.group_instance_id or "", m.client_id, m.client_host)
            for m in self.members.values()
        )
        return GroupDescription(
            group=self.group_id,
            partition=partition,
            state=self.state,
            generation=self.generation_id,
            protocol_type=self.protocol_type or "",
            protocol=self.protocol_name or "",
            leader=self.leader_id or "",
            members=members,
            pending_members=len(self.pending_members),
            offsets=len(self.offsets.committed),
        )

    def members_state(self, partition: int, now_ms: int, wall_ms: int) -> GroupMembers:
        """Return the group with its members and offsets as a value for events.

        `now_ms` is the monotonic time, `wall_ms` the wall time. O(members + partitions + offsets).
        """
        is_consumer = self.protocol_type == CONSUMER_PROTOCOL_TYPE
        entered_ms = self.current_state_timestamp
        return GroupMembers(
            group=self.description(partition),
            in_state_ms=0 if entered_ms is None else max(wall_ms - entered_ms, 0),
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            members=tuple(
                MemberState(
                    member=m.member_id,
                    instance=m.group_instance_id or "",
                    client_id=m.client_id,
                    client_host=m.client_host,
                    session_timeout_ms=m.session_timeout_ms,
                    heard_ms_ago=max(now_ms - m.heard_ms, 0),
                    waits="JoinGroup"
                    if m.awaiting_join
                    else "SyncGroup"
                    if m.awaiting_sync
                    else "",
                    topics=self.topics_of(m.supported_protocols),
                    partitions=partitions_of(m.assignment) if is_consumer else (),
                )
                for m in self.members.values()
            ),
            pending=tuple(self.pending_members),
            unsynced=tuple(self.pending_sync_members),
            offsets=tuple(
                (tp.topic, tp.partition, commit.value.offset)
                for tp, commit in islice(self.offsets.committed.items(), MAX_TOLD_OFFSETS)
            ),
        )
