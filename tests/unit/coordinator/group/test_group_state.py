"""The states of a group."""

from kafka_edu.common.errors import Errors
from kafka_edu.coordinator.group.group_state import GroupState
from kafka_edu.trace.events.group import (
    GroupStateChanged,
    RebalanceStarted,
)
from tests.defaults import GROUP_DEFAULTS
from tests.unit.coordinator.group.group_world import GROUP, World


def test_a_group_that_nobody_stays_in_becomes_empty() -> None:
    world = World(GROUP_DEFAULTS._replace(group_initial_rebalance_delay_ms=3_000))
    world.join("a")
    assert world.leave(next(iter(world.group.members))) is Errors.NONE
    world.advance(3_000)
    assert (world.group.state, world.group.generation_id) == (GroupState.EMPTY, 1)
    assert world.log.load()[GROUP].value is not None


def test_every_change_of_state_emits_an_event_with_its_cause() -> None:
    world = World()
    world.stable("a")
    changes = [
        event.after
        for event in world.events(GroupStateChanged)
        if isinstance(event, GroupStateChanged)
    ]
    assert changes == ["PreparingRebalance", "CompletingRebalance", "Stable"]
    by_number = {envelope.seq: envelope for envelope in world.ring.events}
    started = next(
        envelope for envelope in world.ring.events if isinstance(envelope.event, RebalanceStarted)
    )
    assert by_number[started.cause].name == "MemberJoined"
