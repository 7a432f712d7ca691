"""A group: its members, and the protocol that they agree on."""

from kafka_edu.common.errors import Errors
from tests.defaults import GROUP_DEFAULTS
from tests.unit.coordinator.group.group_world import World


def test_the_protocol_that_most_members_like_best_is_chosen() -> None:
    world = World(GROUP_DEFAULTS._replace(group_initial_rebalance_delay_ms=1_000))
    x, y, z = b"x", b"y", b"z"
    answers = [
        world.join("a", protocols={"range": x, "sticky": y}),
        world.join("b", protocols={"sticky": y, "range": x}),
        world.join("c", protocols={"own": z, "sticky": y, "range": x}),
    ]
    world.advance(5_000)
    assert {answer.now.protocol_name for answer in answers} == {"sticky"}, (
        "two of three like it better than range; own is known to one"
    )
    assert [member.metadata for member in answers[0].now.members] == [y, y, y]


def test_a_member_with_another_protocol_or_type_is_refused() -> None:
    world = World()
    world.stable("a")
    assert world.join("b", protocols={"own": b""}).now.error is Errors.INCONSISTENT_GROUP_PROTOCOL
    assert world.join("b", kind="connect").now.error is Errors.INCONSISTENT_GROUP_PROTOCOL
    assert world.join("b", protocols={}).now.error is Errors.INCONSISTENT_GROUP_PROTOCOL
    assert len(world.group.members) == 1
