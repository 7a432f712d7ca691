"""The values in which the coordinator's events show members, assignments and subscriptions."""

from kafka_edu.coordinator.group.group_metadata import MAX_EVENT_ASSIGNMENT_BYTES
from kafka_edu.coordinator.group.group_metadata_manager import SAMPLE_EVERY_MS
from kafka_edu.protocol.messages.consumer_protocol import (
    AssignedTopicPartitions,
    ConsumerProtocolAssignment,
)
from kafka_edu.trace.events.group import (
    GroupAssigned,
    GroupMembers,
    GroupMembersSampled,
    GroupMembersSnapshot,
    MemberJoined,
    MemberUpdated,
)
from tests.unit.coordinator.group.group_world import World, subscription


def assignment(topic: str, *partitions: int) -> bytes:
    return b"\0\0" + ConsumerProtocolAssignment(
        assigned_partitions=[AssignedTopicPartitions(topic=topic, partitions=list(partitions))]
    ).encode(0)


def sample(world: World) -> GroupMembers:
    world.advance(SAMPLE_EVERY_MS)
    (event,) = [e.event for e in world.trace.gauges() if isinstance(e.event, GroupMembersSampled)]
    return event.state


def test_an_assignment_is_told_in_partitions_unless_it_is_long() -> None:
    world = World()
    world.join("a")
    world.sync("a", {"a": assignment("t", 0, 2)})
    (assigned,) = world.events(GroupAssigned)
    assert isinstance(assigned, GroupAssigned)
    assert assigned.partitions == ((world.members["a"], (("t", (0, 2)),)),)
    world.join("a")
    world.sync("a", {"a": assignment("t", *range(MAX_EVENT_ASSIGNMENT_BYTES // 4))})
    assert world.events(GroupAssigned)[-1][-1] == ()
    (member,) = sample(world).members
    assert member.partitions == (("t", tuple(range(MAX_EVENT_ASSIGNMENT_BYTES // 4))),)


def test_a_changed_subscription_is_told_and_the_same_one_is_not() -> None:
    world = World()
    world.join("a", protocols={"range": subscription("t")})
    (joined,) = world.events(MemberJoined)
    assert isinstance(joined, MemberJoined)
    assert joined.topics == ("t",)
    world.sync("a", {})
    world.join("a", protocols={"range": subscription("t")})
    world.sync("a", {})
    world.join("a", protocols={"range": subscription("t", "u")})
    same, changed = world.events(MemberUpdated)
    assert isinstance(same, MemberUpdated)
    assert isinstance(changed, MemberUpdated)
    assert (same.topics_before, same.topics) == ((), ())
    assert (changed.topics_before, changed.topics) == (("t",), ("t", "u"))


def test_a_sample_shows_who_waits_and_when_each_was_heard_last() -> None:
    world = World()
    world.stable("a", "b")
    world.advance(2_000)
    world.heartbeat("a")
    world.advance(500)
    state = sample(world)
    heard = {member.member: member.heard_ms_ago for member in state.members}
    assert heard == {world.members["a"]: 1_000, world.members["b"]: 3_000}
    assert (state.group.state, state.in_state_ms) == ("Stable", 3_000)
    world.join("a")
    state = sample(world)
    waits = {member.member: member.waits for member in state.members}
    assert waits == {world.members["a"]: "JoinGroup", world.members["b"]: ""}
    assert state.rebalance_timeout_ms == 60_000
    world.join("b")
    state = sample(world)
    assert set(state.unsynced) == {world.members["a"], world.members["b"]}
    world.join("c", require_id=True)
    assert sample(world).pending == (world.members["c"],)
    assert any(
        isinstance(e.event, GroupMembersSnapshot) and e.event.state.pending
        for e in world.trace.snapshot()
    )
