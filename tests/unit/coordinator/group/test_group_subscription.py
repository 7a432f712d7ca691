"""The subscription of a consumer is read from its own bytes."""

from kafka_edu.trace.events.group import (
    GroupAssigned,
)
from tests.unit.coordinator.group.group_world import World


def test_an_unreadable_assignment_has_no_partitions() -> None:
    world = World()
    world.join("a")
    world.sync("a", {"a": b"\0\0\0\0\0\x07x"})
    (assigned,) = world.events(GroupAssigned)
    assert isinstance(assigned, GroupAssigned)
    assert assigned.partitions == ((world.members["a"], ()),)
