"""The operations that wait while a group rebalances."""

from kafka_edu.common.errors import Errors
from kafka_edu.coordinator.group.group_state import GroupState
from kafka_edu.trace.events.group import (
    MemberFailed,
)
from tests.defaults import GROUP_DEFAULTS
from tests.unit.coordinator.group.group_world import World
from tests.unit.coordinator.group.test_group_coordinator import reasons


def test_each_newcomer_prolongs_the_initial_delay_up_to_the_rebalance_time_out() -> None:
    world = World(GROUP_DEFAULTS._replace(group_initial_rebalance_delay_ms=3_000))
    first = world.join("a", rebalance_ms=10_000)
    world.advance(2_000)
    world.join("b", rebalance_ms=10_000)
    world.advance(2_000)
    world.join("c", rebalance_ms=10_000)
    world.advance(4_999)
    assert first.waits, "3 s, for b another 3 s, for c another 3 s"
    world.advance(1)
    assert first.now.generation_id == 1
    endless = World(GROUP_DEFAULTS._replace(group_initial_rebalance_delay_ms=3_000))
    first = endless.join("a", rebalance_ms=10_000)
    for i in range(9):
        endless.advance(1_000)
        endless.join(f"b{i}", rebalance_ms=10_000)
    assert first.waits
    endless.advance(1_000)
    assert not first.waits, "the rebalance time-out bounds it"


def test_a_member_that_does_not_join_again_within_the_rebalance_time_out_is_removed() -> None:
    world = World()
    world.stable("a", "b")
    newcomer = world.join("c", rebalance_ms=5_000)
    rejoined = world.join("a", rebalance_ms=5_000)
    for _ in range(59):
        world.advance(1_000)
        world.heartbeat("b", generation=2)
    assert newcomer.waits, "b promised to come within 60 s"
    world.advance(1_000)
    assert {member.member_id for member in rejoined.now.members} == {
        world.members["a"],
        world.members["c"],
    }
    failed = world.events(MemberFailed)[-1]
    assert isinstance(failed, MemberFailed)
    assert failed.reason == "it did not join again within the rebalance time-out"
    assert not newcomer.waits


def test_a_member_that_does_not_sync_within_the_rebalance_time_out_is_removed() -> None:
    world = World()
    world.join("a", rebalance_ms=5_000)
    world.advance(2_500)
    assert world.heartbeat("a") is Errors.NONE
    world.advance(2_499)
    assert world.heartbeat("a") is Errors.NONE
    world.advance(1)
    assert world.heartbeat("a") is Errors.UNKNOWN_MEMBER_ID
    assert world.group.state is GroupState.EMPTY
    assert reasons(world)[-1] == "members did not ask for their assignment"
