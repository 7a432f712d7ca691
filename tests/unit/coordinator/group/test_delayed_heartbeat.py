"""The wait for a member's next sign of life."""

from kafka_edu.common.errors import Errors
from tests.unit.coordinator.group.group_world import World, subscription


def test_a_waiting_member_needs_no_heartbeat_but_a_new_one_has_five_minutes() -> None:
    world = World()
    world.stable("a", "b")
    for member in world.group.members.values():
        member.rebalance_timeout_ms = 900_000
    rejoined = world.join("b", protocols={"range": subscription("other")})
    new = world.join("c", rebalance_ms=900_000)
    for _ in range(299):
        world.advance(1_000)
        assert world.heartbeat("a") is Errors.REBALANCE_IN_PROGRESS
    assert rejoined.waits
    assert new.waits
    world.advance(1_000)
    assert new.now.error is Errors.UNKNOWN_MEMBER_ID
    assert rejoined.waits


def test_heartbeats_are_expected_again_when_the_assignment_is_given() -> None:
    world = World()
    world.join("a")
    world.log.hold = True
    waiting = world.sync("a", {"a": b"1"})
    world.advance(30_000)
    assert waiting.waits
    world.log.release()
    assert waiting.now.assignment == b"1"
    world.advance(9_999)
    assert world.group.has(world.members["a"])
    world.advance(1)
    assert not world.group.members
