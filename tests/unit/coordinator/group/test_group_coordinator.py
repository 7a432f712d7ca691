"""Time-outs, static members, pending members, sizes, and the meaning of the log's errors."""

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.coordinator.group.group_state import GroupState
from kafka_edu.trace.events.group import (
    MemberFenced,
    RebalanceStarted,
    StaticMemberReplaced,
)
from tests.defaults import GROUP_DEFAULTS
from tests.unit.coordinator.group.group_world import GROUP, World


def reasons(world: World) -> list[str]:
    return [
        event.reason
        for event in world.events(RebalanceStarted)
        if isinstance(event, RebalanceStarted)
    ]


def test_a_new_member_gets_its_id_and_the_rebalance_waits_for_it() -> None:
    world = World()
    world.stable("a")
    pending = world.join("b", require_id=True)
    assert pending.now.error is Errors.MEMBER_ID_REQUIRED
    assert world.group.state is GroupState.STABLE, "nobody is disturbed yet"
    leader = world.join("a")
    assert leader.waits, "for the pending one too"
    joined = world.join("b", require_id=True)
    assert len(leader.now.members) == 2
    assert joined.now.member_id == pending.now.member_id


def test_a_pending_member_that_does_not_come_is_not_waited_for() -> None:
    world = World()
    world.stable("a")
    world.join("b", require_id=True, session_ms=6_000)
    leader = world.join("a")
    world.advance(5_999)
    assert leader.waits
    world.advance(1)
    assert len(leader.now.members) == 1
    assert world.join("b").now.error is Errors.UNKNOWN_MEMBER_ID


def test_a_pending_member_can_leave() -> None:
    world = World()
    world.stable("a")
    world.join("b", require_id=True)
    leader = world.join("a")
    assert world.leave("b") is Errors.NONE
    assert len(leader.now.members) == 1


def static_group() -> World:
    world = World()
    world.join("a", instance="ia")
    world.sync("a", {"a": b"1"})
    assert world.group.state is GroupState.STABLE
    return world


def test_a_static_member_comes_back_without_a_rebalance_and_its_old_id_is_fenced() -> None:
    world = static_group()
    old = world.members["a"]
    back = world.join("a", instance="ia", new=True)
    assert (back.now.error, back.now.generation_id, back.now.leader_id, back.now.members) == (
        Errors.NONE,
        1,
        old,
        (),
    )
    assert world.group.leader_id == world.members["a"] != old
    assert world.sync("a", instance="ia").now.assignment == b"1"
    assert world.heartbeat(old, instance="ia") is Errors.FENCED_INSTANCE_ID
    assert world.heartbeat(old) is Errors.UNKNOWN_MEMBER_ID
    assert len(world.events(StaticMemberReplaced)) == len(world.events(MemberFenced)) == 1
    loaded = world.log.load()[GROUP].value
    assert loaded is not None
    assert [member.member_id for member in loaded.members] == [world.members["a"]]


def test_its_new_id_counts_only_when_it_is_in_the_log() -> None:
    world = static_group()
    old = world.members["a"]
    world.log.error = Errors.NOT_ENOUGH_REPLICAS
    back = world.join("a", instance="ia", new=True)
    assert (back.now.error, back.now.member_id) == (Errors.COORDINATOR_NOT_AVAILABLE, "")
    assert world.group.static_member_id("ia") == old
    assert world.heartbeat(old, instance="ia") is Errors.NONE


def test_a_static_member_that_wants_another_protocol_makes_the_group_gather() -> None:
    world = World()
    world.join("a", instance="ia", protocols={"range": b"", "sticky": b""})
    world.sync("a", {"a": b"1"})
    back = world.join("a", instance="ia", new=True, protocols={"sticky": b""})
    assert (back.now.generation_id, back.now.protocol_name) == (2, "sticky")


def test_requests_that_wait_under_the_old_id_are_fenced_at_once() -> None:
    world = World()
    world.stable("b")
    first = world.join("a", instance="ia")
    assert first.waits
    second = world.join("a", instance="ia", new=True)
    assert first.now.error is Errors.FENCED_INSTANCE_ID
    world.join("b")
    assert second.now.generation_id == 2


def test_static_members_are_not_put_out_by_a_rebalance_but_by_their_session() -> None:
    world = static_group()
    world.join("b", instance="ib")
    leader = world.join("a", instance="ia")
    assert len(leader.now.members) == 2
    world.sync("a", {"a": b"1", "b": b"2"})
    world.sync("b", instance="ib")
    world.join("c", rebalance_ms=5_000)
    world.advance(9_999)
    assert len(world.group.members) == 3
    world.advance(1)
    assert not world.group.has(world.members["a"])


def test_a_static_member_leaves_by_its_instance_id_alone() -> None:
    world = static_group()
    assert world.leave("", "nobody") is Errors.UNKNOWN_MEMBER_ID
    assert world.leave("", "ia") is Errors.NONE
    assert not world.group.members


def test_a_full_group_accepts_no_new_member_and_keeps_its_members() -> None:
    world = World(GROUP_DEFAULTS._replace(group_initial_rebalance_delay_ms=0, group_max_size=2))
    world.stable("a", "b")
    refused = world.join("c")
    assert (refused.now.error, refused.now.member_id) == (Errors.GROUP_MAX_SIZE_REACHED, "")
    world.join("a")
    assert world.join("b").now.error is Errors.NONE


@pytest.mark.parametrize("session_ms", [5_999, 300_001])
def test_the_session_time_out_has_limits(session_ms: int) -> None:
    assert World().join("a", session_ms=session_ms).now.error is Errors.INVALID_SESSION_TIMEOUT


@pytest.mark.parametrize(
    ("of_log", "told"),
    [
        (Errors.NOT_ENOUGH_REPLICAS, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_COORDINATOR),
        (Errors.REQUEST_TIMED_OUT, Errors.REBALANCE_IN_PROGRESS),
        (Errors.MESSAGE_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_assignment_that_cannot_be_stored_is_void_and_the_group_gathers_again(
    of_log: Errors, told: Errors
) -> None:
    world = World()
    world.join("a")
    world.log.error = of_log
    assert world.sync("a", {"a": b"1"}).now.error is told
    assert world.group.state is GroupState.PREPARING_REBALANCE
    world.log.error = Errors.NONE
    assert world.join("a").now.generation_id == 2


def test_an_assignment_that_is_overtaken_by_a_rebalance_is_void() -> None:
    world = World()
    world.join("a")
    world.log.hold = True
    waiting = world.sync("a", {"a": b"1"})
    world.join("b")
    assert waiting.now.error is Errors.REBALANCE_IN_PROGRESS
    world.log.release()
    assert world.group.state is GroupState.PREPARING_REBALANCE


def test_waiting_members_are_answered_when_the_group_goes_to_another_broker() -> None:
    world = World()
    world.stable("a")
    joining = world.join("b")
    for group in world.manager.unload(0):
        world.coordinator.on_group_unloaded(group)
    assert joining.now.error is Errors.NOT_COORDINATOR
    assert world.coordinator.handle_list_groups(())[1] == []
    assert world.join("a").now.error is Errors.NOT_COORDINATOR
    assert (world.heartbeats.num_delayed, world.rebalances.num_delayed) == (0, 0)


def test_while_a_group_is_loaded_heartbeats_are_answered_without_a_check() -> None:
    world = World()
    world.stable("a")
    world.manager.unload(0)
    world.manager.begin_loading(0, 7)
    assert world.heartbeat("a", generation=9) is Errors.NONE
    assert world.join("a").now.error is Errors.COORDINATOR_LOAD_IN_PROGRESS
    assert world.sync("a", generation=1).now.error is Errors.REBALANCE_IN_PROGRESS
    assert world.coordinator.handle_list_groups(())[0] is Errors.COORDINATOR_LOAD_IN_PROGRESS
