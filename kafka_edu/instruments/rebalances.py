"""Explain why a group rebalanced, and for which members it waited.

The coordinator's event RebalanceStarted tells when a rebalance began, and why. Its cause is the
event of the member that made the rebalance necessary. After that the group waits for its members to
join again, and then for the leader's assignment. A `Rebalance` collects all of this: when each
member joined, which members never joined, and which partitions moved. The Groups screen and
`kafka-edu why-rebalance` read the same objects.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.common.words import duration, joined
from kafka_edu.instruments.link_events import LinkLost
from kafka_edu.instruments.sentences import member_name
from kafka_edu.trace.event import Envelope, Event
from kafka_edu.trace.events.group import (
    GroupAssigned,
    GroupDescription,
    GroupLoaded,
    GroupMembers,
    GroupMembersSampled,
    GroupMembersSnapshot,
    GroupSnapshot,
    GroupStateChanged,
    GroupsUnloaded,
    MemberFailed,
    MemberIdGiven,
    MemberJoined,
    MemberLeft,
    MemberPartitions,
    MemberState,
    MemberUpdated,
    OffsetsCommitted,
    RebalanceCompleted,
    RebalanceStarted,
    StaticMemberReplaced,
)
from kafka_edu.trace.events.replication import BecameLeader, PartitionOffsets, PartitionSnapshot
from kafka_edu.trace.events.supervisor import ProcessEnded

KEPT_GROUPS: Final = 500
KEPT_REBALANCES: Final = 20
KEPT_STEPS: Final = 40
KEPT_FACTS: Final = 2_000
KEPT_PARTITIONS: Final = 20_000
KEPT_NAMES: Final = 500
SHORT_MS: Final = 20
"""If all members joined within this time (ms), the group did not have to wait for a member."""

PREPARING: Final = "PreparingRebalance"
COMPLETING: Final = "CompletingRebalance"
STABLE: Final = "Stable"
EMPTY: Final = "Empty"
DEAD: Final = "Dead"

Partition = tuple[str, int]

#: The events that this reducer reads. The dashboard's help (key `?`) explains them.
GROUP_EVENTS: Final[tuple[type[Event], ...]] = (
    GroupSnapshot,
    GroupLoaded,
    GroupsUnloaded,
    GroupStateChanged,
    RebalanceStarted,
    RebalanceCompleted,
    GroupAssigned,
)
MEMBER_EVENTS: Final[tuple[type[Event], ...]] = (
    GroupMembersSnapshot,
    GroupMembersSampled,
    MemberIdGiven,
    MemberJoined,
    MemberUpdated,
    MemberLeft,
    MemberFailed,
    StaticMemberReplaced,
)
OFFSET_EVENTS: Final[tuple[type[Event], ...]] = (
    OffsetsCommitted,
    PartitionSnapshot,
    PartitionOffsets,
    BecameLeader,
)


class Trigger(StrEnum):
    """The act of a member that triggered a rebalance."""

    JOINED = "joined"
    LEFT = "left"
    SILENT = "fell silent"
    CHANGED = "changed its subscription"
    REJOINED = "joined again"
    OTHER = "other"


class Step(NamedTuple):
    """A state that the group entered, or a change of its coordinator (`note`)."""

    state: str
    at_us: int
    wall_ms: int
    note: str = ""


class Failure(NamedTuple):
    """The removal of a member from the group."""

    member: str
    reason: str
    at_us: int


class Move(NamedTuple):
    """A partition that moved to another member. An empty member id means no member."""

    partition: Partition
    before: str
    after: str


class Rebalance:
    """One rebalance, from its cause to its assignment."""

    def __init__(self, envelope: Envelope, event: RebalanceStarted, from_empty: bool) -> None:
        self.envelope = envelope
        self.started_us = envelope.mono_us
        self.started_wall_ms = envelope.wall_ms
        self.generation_before = event.generation
        self.reason = event.reason
        """The reason in the coordinator's own words."""
        self.member = event.member
        """The id of the member that caused the rebalance, or several ids, or empty."""
        self.trigger = Trigger.OTHER
        self.cause: Event | None = None
        """The member's own fact that caused the rebalance. None if it was not seen."""
        self.from_empty = from_empty
        """Whether the group was empty before. The first rebalance then waits for more members."""
        self.expected: list[str] = []
        """The ids of the members that had to join again."""
        self.arrived_us: dict[str, int] = {}
        self.newcomers: list[str] = []
        """The ids of the members that joined in the rebalance, the one that caused it included."""
        self.failures: list[Failure] = []
        self.left: list[str] = []
        self.gathered_us: int | None = None
        self.generation: int | None = None
        self.leader = ""
        self.protocol = ""
        self.members: tuple[str, ...] = ()
        self.assigned_us: int | None = None
        self.ended_us: int | None = None
        self.superseded = False
        """Whether another rebalance began before this one had its assignment."""
        self.before: dict[str, frozenset[Partition]] = {}
        self.after: dict[str, frozenset[Partition]] | None = None
        """The partitions of each member after the rebalance. None if not known yet."""

    @property
    def is_over(self) -> bool:
        return self.ended_us is not None

    def took_ms(self, now_us: int) -> float:
        return ((self.ended_us if self.ended_us is not None else now_us) - self.started_us) / 1000

    def gathering_ms(self, now_us: int) -> float:
        """Return how long (ms) the group waits, or has waited, for its members to join."""
        until = self.gathered_us if self.gathered_us is not None else self.ended_us or now_us
        return (until - self.started_us) / 1000

    def assigning_ms(self, now_us: int) -> float | None:
        """Return how long (ms) the group has waited for the leader's assignment.

        Return None if the group still waits for members to join.
        """
        if self.gathered_us is None:
            return None
        return ((self.ended_us if self.ended_us is not None else now_us) - self.gathered_us) / 1000

    def last_to_come(self) -> str:
        """Return the id of the member that joined last: all other members waited for it. "" if
        unknown.
        """
        came = {member: at for member, at in self.arrived_us.items() if member in self.expected}
        return max(came, key=lambda member: came[member], default="")

    def missing(self) -> list[str]:
        """Return the ids of the members that have not joined again yet."""
        gone = {failure.member for failure in self.failures} | set(self.left)
        return [m for m in self.expected if m not in self.arrived_us and m not in gone]

    def moves(self) -> list[Move]:
        """Return the partitions that moved from one member to another. O(partitions)."""
        if self.after is None:
            return []
        had = {tp: member for member, tps in self.before.items() for tp in tps}
        has = {tp: member for member, tps in self.after.items() for tp in tps}
        return [
            Move(tp, had.get(tp, ""), has.get(tp, ""))
            for tp in sorted({*had, *has})
            if had.get(tp) != has.get(tp)
        ]


class GroupStory:
    """One group: its current state and its last rebalances."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.coordinator = -1
        self.coordinator_lost = False
        self.offsets_partition = -1
        """The partition of __consumer_offsets that holds the group's offsets. -1 if unknown."""
        self.state = ""
        self.state_since_us = 0
        self.generation = 0
        self.protocol_type = ""
        self.protocol = ""
        self.leader = ""
        self.members: list[str] = []
        self.pending: list[str] = []
        self.sampled: dict[str, MemberState] = {}
        self.sampled_us = 0
        self.rebalance_timeout_ms = 0
        self.unsynced: tuple[str, ...] = ()
        self.assignment: dict[str, frozenset[Partition]] = {}
        self.offsets: dict[Partition, int] = {}
        self.way: deque[Step] = deque(maxlen=KEPT_STEPS)
        self.rebalances: deque[Rebalance] = deque(maxlen=KEPT_REBALANCES)
        self.rebalances_seen = 0
        self.changed_us = 0
        self._names: OrderedDict[str, tuple[str, str]] = OrderedDict()
        """Each member id, and its instance id and client id."""
        self._shared: set[str] = set()
        """The client ids that several members used at the same time."""

    @property
    def current(self) -> Rebalance | None:
        """Return the rebalance that is going on now, or None."""
        last = self.rebalances[-1] if self.rebalances else None
        return last if last is not None and not last.is_over else None

    def learn(self, member: str, instance: str, client_id: str) -> None:
        """Remember the names of a member: its instance id and client id."""
        if member not in self._names:
            while len(self._names) >= KEPT_NAMES:
                self._names.popitem(last=False)
            here = [self._names.get(each, ("", ""))[1] for each in self.members if each != member]
            if client_id and client_id in here:
                self._shared.add(client_id)
        self._names[member] = (instance, client_id)

    def name(self, member: str) -> str:
        """Return a short name for a member: its instance id, or its client id.

        A client id that several members share gets an addition that distinguishes the members.
        """
        instance, client = self._names.get(member, ("", ""))
        if instance:
            return instance
        if not client:
            head, _, tail = member.partition(" (")
            return head if tail else member_name(member)
        if client in self._shared:
            return f"{client}-{member.removeprefix(client).lstrip('-')[:4]}"
        return client

    def names(self, members: Iterable[str]) -> str:
        return joined([self.name(member) for member in members])

    def client(self, member: str) -> str:
        return self._names.get(member, ("", ""))[1]

    def waits_for(self) -> list[str]:
        """Return the members that must still join, or the leader that must send the assignment."""
        if self.state == PREPARING:
            rebalance = self.current
            missing = rebalance.missing() if rebalance is not None else []
            if rebalance is None:  # it began before we looked
                missing = [m for m, state in self.sampled.items() if state.waits != "JoinGroup"]
            return missing + [member for member in self.pending if member not in missing]
        if self.state == COMPLETING and self.leader:
            return [self.leader]
        return []

    def was_here_before(self, member: str, before_us: int) -> bool:
        """Return whether this member has come back, after a failure before `before_us`.

        It has come back if a member with the same client id, but with another member id, failed.
        """
        client = self.client(member)
        return bool(client) and any(
            failure.member != member and self.client(failure.member) == client
            for rebalance in self.rebalances
            for failure in rebalance.failures
            if failure.at_us < before_us
        )


class PartitionEnd(NamedTuple):
    """The last known end of a partition's log on its leader. -1 if no sample has reported it."""

    leader: int
    hw: int
    leo: int


class Rebalances:
    """All groups of a cluster, and their rebalances. Only `apply` changes them.

    The memory is bounded.
    """

    READS: Final = frozenset(
        {*GROUP_EVENTS, *MEMBER_EVENTS, *OFFSET_EVENTS, LinkLost, ProcessEnded}
    )
    """The types of event that change this view."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupStory] = {}
        self.ends: dict[Partition, PartitionEnd] = {}
        """The ends of the partitions with the latest events, at most KEPT_PARTITIONS."""
        self.now_us = 0
        self._facts: OrderedDict[tuple[object, int], Event] = OrderedDict()

    def lag(self, group: GroupStory, partition: Partition) -> int | None:
        """Return the group's lag on a partition, in records, or None if it is not known."""
        end, committed = self.ends.get(partition), group.offsets.get(partition)
        if end is None or end.hw < 0 or committed is None:
            return None
        return max(end.hw - committed, 0)

    def advance(self, now_us: int) -> None:
        """Set the current time (µs). It never goes back."""
        self.now_us = max(self.now_us, now_us)

    def apply(self, envelope: Envelope) -> None:
        """Process one event."""
        self.now_us = max(self.now_us, envelope.mono_us)
        broker = envelope.broker
        match envelope.event:
            case ProcessEnded(child=child) if child.broker is not None:
                self._lost(child.broker)
            case LinkLost() if broker is not None:
                self._lost(broker)
            case PartitionSnapshot() as e:
                if e.leader == broker or (e.topic, e.partition) not in self.ends:
                    end = PartitionEnd(e.leader, e.progress.hw, e.progress.leo)
                    self._end(e.topic, e.partition, end)
            case BecameLeader() as e if broker is not None:
                before = self.ends.get((e.topic, e.partition), PartitionEnd(broker, -1, -1))
                self._end(e.topic, e.partition, before._replace(leader=broker))
            case PartitionOffsets() as e:
                known = self.ends.get((e.topic, e.partition))
                if known is not None and known.leader == broker:
                    self.ends[e.topic, e.partition] = known._replace(
                        hw=e.progress.hw, leo=e.progress.leo
                    )
            case GroupsUnloaded(partition=partition) if broker is not None:
                self._unloaded(broker, partition)
            case _ if broker is not None:
                self._of_group(envelope, broker)
            case _:
                pass

    def _end(self, topic: str, partition: int, end: PartitionEnd) -> None:
        """Remember the end of a partition's log. The oldest entries are dropped for new ones."""
        if (topic, partition) not in self.ends and len(self.ends) >= KEPT_PARTITIONS:
            del self.ends[next(iter(self.ends))]
        self.ends[topic, partition] = end

    def _lost(self, broker: int) -> None:
        for story in self.groups.values():
            if story.coordinator == broker:
                story.coordinator_lost = True

    def _unloaded(self, broker: int, partition: int) -> None:
        for story in self.groups.values():
            if story.offsets_partition == partition and story.coordinator == broker:
                story.coordinator_lost = True

    def _story(self, group: str) -> GroupStory:
        story = self.groups.get(group)
        if story is None:
            if len(self.groups) >= KEPT_GROUPS:
                oldest = min(
                    self.groups.values(), key=lambda each: (each.state != DEAD, each.changed_us)
                )
                del self.groups[oldest.group]
            story = self.groups[group] = GroupStory(group)
        return story

    def _of_group(self, envelope: Envelope, broker: int) -> None:
        match envelope.event:
            case GroupSnapshot(group=described):
                self._described(self._story(described.group), described, envelope, broker)
            case GroupLoaded(group=described):
                story = self._story(described.group)
                moved = story.coordinator not in (-1, broker) or story.coordinator_lost
                self._described(story, described, envelope, broker)
                if moved:
                    story.way.append(
                        Step(
                            described.state,
                            envelope.mono_us,
                            envelope.wall_ms,
                            f"broker {broker} coordinates it now",
                        )
                    )
            case GroupMembersSnapshot(state=state) | GroupMembersSampled(state=state):
                self._sampled(state, envelope, broker)
            case GroupStateChanged() as e:
                self._entered(self._story(e.group), e, envelope, broker)
            case RebalanceStarted() as e:
                self._started(self._story(e.group), e, envelope, broker)
            case RebalanceCompleted() as e:
                self._gathered(self._story(e.group), e, envelope)
            case GroupAssigned() as e:
                self._assigned(self._story(e.group), e, envelope)
            case OffsetsCommitted(producer_id=-1) as e:
                offsets = self._story(e.group).offsets
                offsets.update({(topic, p): offset for topic, p, offset in e.offsets})
            case MemberIdGiven() | MemberJoined() | MemberUpdated() as e:
                self._fact(envelope)
                self._came(self._story(e.group), e, envelope)
            case MemberLeft() | MemberFailed() as e:
                self._fact(envelope)
                self._went(self._story(e.group), e, envelope)
            case StaticMemberReplaced() as e:
                story = self._story(e.group)
                story.learn(e.member, e.instance, story.client(e.before))
                story.members = [e.member if m == e.before else m for m in story.members]
                story.assignment[e.member] = story.assignment.pop(e.before, frozenset())
                for rebalance in story.rebalances:
                    rebalance.expected = [
                        e.member if m == e.before else m for m in rebalance.expected
                    ]
            case _:
                pass

    def _fact(self, envelope: Envelope) -> None:
        """Remember an event about a member, because a later rebalance may name this event as its
        cause.
        """
        self._facts[envelope.source, envelope.seq] = envelope.event
        if len(self._facts) > KEPT_FACTS:
            self._facts.popitem(last=False)

    def _here(self, story: GroupStory, envelope: Envelope, broker: int) -> None:
        story.coordinator, story.coordinator_lost = broker, False
        story.changed_us = envelope.mono_us

    def _described(
        self, story: GroupStory, described: GroupDescription, envelope: Envelope, broker: int
    ) -> None:
        self._here(story, envelope, broker)
        story.offsets_partition = described.partition
        story.generation = described.generation
        story.protocol_type, story.protocol, story.leader = (
            described.protocol_type,
            described.protocol,
            described.leader,
        )
        if story.state != described.state:
            self._step(story, described.state, envelope)
        story.members = [member for member, *_ in described.members]
        for member, instance, client_id, _ in described.members:
            story.learn(member, instance, client_id)

    def _step(self, story: GroupStory, state: str, envelope: Envelope, since_us: int = 0) -> None:
        story.state = state
        story.state_since_us = since_us or envelope.mono_us
        story.way.append(Step(state, story.state_since_us, envelope.wall_ms))

    def _sampled(self, state: GroupMembers, envelope: Envelope, broker: int) -> None:
        story = self._story(state.group.group)
        since_us = envelope.mono_us - state.in_state_ms * 1000
        first = not story.state
        self._described(story, state.group, envelope, broker)
        if first:
            story.state_since_us = since_us
            story.way[-1] = story.way[-1]._replace(at_us=since_us)
        for member in state.members:
            story.learn(member.member, member.instance, member.client_id)
        story.sampled = {member.member: member for member in state.members}
        story.sampled_us = envelope.mono_us
        story.rebalance_timeout_ms = state.rebalance_timeout_ms
        story.pending, story.unsynced = list(state.pending), state.unsynced
        story.offsets = {(topic, p): offset for topic, p, offset in state.offsets}
        if state.group.state == STABLE:
            story.assignment = _by_member(
                MemberPartitions(member.member, member.partitions) for member in state.members
            )
            last = story.rebalances[-1] if story.rebalances else None
            if last is not None and last.after is None and last.generation == story.generation:
                last.after = dict(story.assignment)

    def _entered(
        self, story: GroupStory, event: GroupStateChanged, envelope: Envelope, broker: int
    ) -> None:
        if event.after == DEAD and story.coordinator not in (-1, broker):
            return  # the old coordinator drops the group, the new one keeps it
        self._here(story, envelope, broker)
        story.generation = event.generation
        if not story.way:
            story.way.append(Step(event.before, 0, 0))
        self._step(story, event.after, envelope)
        rebalance = story.current
        if rebalance is not None and event.after in (STABLE, EMPTY, DEAD):
            rebalance.ended_us = envelope.mono_us
        if event.after in (EMPTY, DEAD):
            story.members, story.assignment, story.sampled = [], {}, {}

    def _started(
        self, story: GroupStory, event: RebalanceStarted, envelope: Envelope, broker: int
    ) -> None:
        self._here(story, envelope, broker)
        before = story.current
        if before is not None:
            before.superseded, before.ended_us = True, envelope.mono_us
        rebalance = Rebalance(envelope, event, story.state == EMPTY or event.generation == 0)
        rebalance.before = dict(
            before.before if before is not None and before.after is None else story.assignment
        )
        rebalance.cause = cause = self._facts.get((envelope.source, envelope.cause))
        rebalance.trigger = _trigger(event.reason, cause)
        cause_member = str(getattr(cause, "member", "")) if cause is not None else ""
        rebalance.member = cause_member or event.member
        if isinstance(cause, MemberJoined):
            rebalance.newcomers.append(cause.member)
            rebalance.arrived_us[cause.member] = envelope.mono_us
        elif isinstance(cause, MemberUpdated):
            rebalance.arrived_us[cause.member] = envelope.mono_us
        elif isinstance(cause, MemberFailed):
            rebalance.failures.append(Failure(cause.member, cause.reason, envelope.mono_us))
        elif isinstance(cause, MemberLeft):
            rebalance.left.append(cause.member)
        rebalance.expected = [m for m in story.members if m not in rebalance.newcomers]
        story.rebalances.append(rebalance)
        story.rebalances_seen += 1

    def _came(
        self,
        story: GroupStory,
        event: MemberIdGiven | MemberJoined | MemberUpdated,
        envelope: Envelope,
    ) -> None:
        story.changed_us = envelope.mono_us
        if isinstance(event, MemberIdGiven):
            story.learn(event.member, "", event.client_id)
            if event.member not in story.pending:
                story.pending.append(event.member)
            return
        rebalance = story.current
        if isinstance(event, MemberJoined):
            story.learn(event.member, event.instance, event.client_id)
            if event.member in story.pending:
                story.pending.remove(event.member)
            if event.member not in story.members:
                story.members.append(event.member)
            if rebalance is not None and rebalance.gathered_us is None:
                rebalance.newcomers.append(event.member)
        if rebalance is not None and rebalance.gathered_us is None:
            rebalance.arrived_us.setdefault(event.member, envelope.mono_us)

    def _went(
        self, story: GroupStory, event: MemberLeft | MemberFailed, envelope: Envelope
    ) -> None:
        story.changed_us = envelope.mono_us
        if event.member in story.members:
            story.members.remove(event.member)
        if event.member in story.pending:
            story.pending.remove(event.member)
        rebalance = story.current
        if rebalance is None or rebalance.gathered_us is not None:
            return  # a rebalance follows that names this event as its cause
        if isinstance(event, MemberFailed):
            rebalance.failures.append(Failure(event.member, event.reason, envelope.mono_us))
        else:
            rebalance.left.append(event.member)

    def _gathered(self, story: GroupStory, event: RebalanceCompleted, envelope: Envelope) -> None:
        story.generation, story.protocol, story.leader = (
            event.generation,
            event.protocol,
            event.leader,
        )
        story.members = list(event.members)
        rebalance = story.rebalances[-1] if story.rebalances else None
        if rebalance is not None and rebalance.generation is None:
            rebalance.gathered_us = envelope.mono_us
            rebalance.generation, rebalance.leader = event.generation, event.leader
            rebalance.protocol, rebalance.members = event.protocol, event.members
            if not event.members:
                rebalance.after = {}

    def _assigned(self, story: GroupStory, event: GroupAssigned, envelope: Envelope) -> None:
        if event.partitions:
            story.assignment = _by_member(event.partitions)
        rebalance = story.rebalances[-1] if story.rebalances else None
        if rebalance is not None and rebalance.generation == event.generation:
            rebalance.assigned_us = envelope.mono_us
            if event.partitions:
                rebalance.after = dict(story.assignment)


def _by_member(described: Iterable[MemberPartitions]) -> dict[str, frozenset[Partition]]:
    return {
        each.member: frozenset((topic, p) for topic, ps in each.partitions for p in ps)
        for each in described
    }


def _trigger(reason: str, cause: Event | None) -> Trigger:
    match cause:
        case MemberJoined():
            return Trigger.JOINED
        case MemberLeft():
            return Trigger.LEFT
        case MemberFailed():
            return Trigger.SILENT
        case MemberUpdated(topics_before=before, topics=topics) if before or topics:
            return Trigger.CHANGED
        case MemberUpdated():
            return Trigger.REJOINED
    words: Mapping[str, Trigger] = {
        "a new member joins": Trigger.JOINED,
        "a member leaves": Trigger.LEFT,
        "a member sent no heartbeat": Trigger.SILENT,
        "members did not ask for their assignment": Trigger.SILENT,
    }
    return words.get(reason, Trigger.OTHER)


def cause_words(story: GroupStory, rebalance: Rebalance) -> str:
    """Return which member caused a rebalance, and how: `reader-3 fell silent: no heartbeat within
    …`.
    """
    who = story.name(rebalance.member) if rebalance.member else ""
    match rebalance.cause:
        case MemberFailed(reason=reason):
            return f"{who} fell silent: {reason}"
        case MemberLeft():
            return f"{who} left"
        case MemberJoined():
            if story.was_here_before(rebalance.member, rebalance.started_us):
                return f"{who} is back: it joined under a new member id"
            return f"{who} joined"
        case MemberUpdated(topics_before=before, topics=topics) if before or topics:
            return f"{who} changed its subscription: {_topics_change(before, topics)}"
        case _ if rebalance.trigger is Trigger.JOINED:
            return f"{who} joined"
        case _ if rebalance.trigger is Trigger.LEFT:
            return f"{who} left"
        case _ if rebalance.trigger is Trigger.SILENT:
            return f"{who} fell silent"
    return f"{who}: {rebalance.reason}" if who else rebalance.reason


def _topics_change(before: tuple[str, ...], topics: tuple[str, ...]) -> str:
    return ", ".join(
        [f"+ {topic}" for topic in topics if topic not in before]
        + [f"- {topic}" for topic in before if topic not in topics]
    )


def waiting_words(story: GroupStory, rebalance: Rebalance, now_us: int) -> str:
    """Return in words for which members the group waited, and how long. Return "" if the group
    waited for no member.
    """
    gathering = duration(rebalance.gathering_ms(now_us))
    failed = [f.member for f in rebalance.failures if f.at_us > rebalance.started_us]
    if rebalance.gathered_us is None and not rebalance.is_over:
        missing = rebalance.missing()
        pending = [m for m in story.pending if m not in missing]
        if missing or pending:
            return f"waits for {story.names([*missing, *pending])} to join, {gathering} so far"
        if rebalance.from_empty:
            return f"waits for more members, {gathering} so far"
        return f"gathers, {gathering} so far"
    parts = []
    if failed:
        parts.append(f"waited {gathering} for {story.names(failed)}, which never came")
    elif rebalance.from_empty and rebalance.gathering_ms(now_us) >= SHORT_MS:
        parts.append(f"waited {gathering} for more members (group.initial.rebalance.delay.ms)")
    elif rebalance.gathering_ms(now_us) >= SHORT_MS and (last := rebalance.last_to_come()):
        parts.append(f"waited {gathering} for {story.name(last)}, the last to join again")
    assigning = rebalance.assigning_ms(now_us)
    if assigning is not None and rebalance.leader:
        leader = story.name(rebalance.leader)
        if not rebalance.is_over:
            parts.append(
                f"waits for the assignment of the leader {leader}, {duration(assigning)} so far"
            )
        elif assigning >= SHORT_MS:
            parts.append(f"{duration(assigning)} for the assignment of the leader {leader}")
    return ", then ".join(parts)


def outcome_words(story: GroupStory, rebalance: Rebalance) -> str:
    """Return how a rebalance ended: the generation, its members, and the partitions that moved."""
    if rebalance.superseded:
        return "another rebalance began before it was done"
    if rebalance.generation is None:
        return "not done yet"
    if not rebalance.members:
        return f"generation {rebalance.generation}: the group is empty"
    words = f"generation {rebalance.generation}: {story.names(rebalance.members)}"
    if rebalance.after is None:
        return words
    moves = rebalance.moves()
    if not moves:
        return f"{words}; no partition moved"
    return f"{words}; {len(moves)} partition{'s' if len(moves) != 1 else ''} moved"


def partitions_words(partitions: Iterable[Partition]) -> str:
    """Return partitions as text: `web-0,1,2 pay-0`, or `–` if there are none."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    return (
        " ".join(f"{topic}-{','.join(map(str, each))}" for topic, each in by_topic.items()) or "–"
    )


#: Short words for the states of a group, for one line.
STATE_WORDS: Final[Mapping[str, str]] = {PREPARING: "Preparing", COMPLETING: "Completing"}


def way_words(story: GroupStory, now_us: int, steps: int = 7) -> str:
    """Return the group's last `steps` states as text, each with the time it took."""
    shown = list(story.way)[-steps:]
    words = []
    for i, step in enumerate(shown):
        ends = shown[i + 1].at_us if i + 1 < len(shown) else now_us
        took = f" {duration((ends - step.at_us) / 1000)}" if step.at_us else ""
        note = f" ({step.note})" if step.note else ""
        words.append(f"{STATE_WORDS.get(step.state, step.state)}{took}{note}")
    return " → ".join(words)
