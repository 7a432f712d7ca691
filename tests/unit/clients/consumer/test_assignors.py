"""For 1,000 recorded groups, our assignors return the same assignments as Kafka 2.8.2's classes, or
equally good ones.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from struct import iter_unpack

import pytest

from kafka_edu.clients.consumer.assignors import (
    Assignment,
    MemberSubscription,
    RebalanceProtocol,
    common_protocol,
    range_assign,
    round_robin_assign,
)
from kafka_edu.clients.consumer.sticky_assignor import cooperative_sticky_assign, sticky_assign
from kafka_edu.common.topic_partition import TopicPartition
from tests.golden.assignors.groups import (
    COUNT,
    DIGEST_BYTES,
    Group,
    balance,
    digest,
    groups,
    moved,
    printed,
)

Assign = Callable[[Mapping[str, int], Mapping[str, MemberSubscription]], Assignment]
GOLDEN = Path(__file__).parents[3] / "golden" / "assignors"


@pytest.mark.parametrize(
    ("name", "assign"), [("range", range_assign), ("roundrobin", round_robin_assign)]
)
def test_assignments_are_those_of_java(name: str, assign: Assign) -> None:
    recorded = (GOLDEN / f"{name}-2.8.2.bin").read_bytes()
    assert len(recorded) == COUNT * DIGEST_BYTES
    for number, group in enumerate(groups()):
        wanted = recorded[number * DIGEST_BYTES :][:DIGEST_BYTES]
        assert digest(printed(assign(group.topics, group.members))) == wanted, group


def test_sticky_is_as_balanced_as_java_and_moves_no_more_partitions() -> None:
    """If all members of a group subscribe to the same topics, the balance and the number of moved
    partitions are equal to Kafka's.

    Otherwise Kafka's numbers depend on the order of Java's hash maps. In this case our assignment
    is never less balanced, and in total it does not move more partitions.
    """
    recorded = list(iter_unpack(">HI", (GOLDEN / "sticky-2.8.2.bin").read_bytes()))
    ours = theirs = alike = 0
    for group, (moves, difference) in zip(groups(), recorded, strict=True):
        assignment = sticky_assign(group.topics, group.members)
        assert_whole(group, assignment)
        if len({frozenset(each.topics) for each in group.members.values()}) == 1:
            assert (moved(group, assignment), balance(assignment)) == (moves, difference), group
            alike += 1
        else:
            assert balance(assignment) <= difference, group
            ours += moved(group, assignment)
            theirs += moves
    assert alike > 500  # the other groups have different subscriptions
    assert 1_000 < ours <= theirs


def test_cooperative_sticky_withholds_as_many_partitions_as_java() -> None:
    """This is compared for the groups whose members all subscribe to the same topics. In these
    groups, the second rebalance assigns all partitions.
    """
    recorded = list(iter_unpack(">H", (GOLDEN / "cooperative-sticky-2.8.2.bin").read_bytes()))
    alike = withheld = 0
    for group, (assigned,) in zip(groups(), recorded, strict=True):
        if len({frozenset(each.topics) for each in group.members.values()}) > 1:
            continue
        alike += 1
        first = cooperative_sticky_assign(group.topics, group.members)
        assert sum(map(len, first.values())) == assigned, group
        withheld += sum(group.topics.values()) - assigned
        second = cooperative_sticky_assign(group.topics, _owning(group, first, 5))
        assert_whole(group, second)
        for member, partitions in first.items():
            assert set(partitions) <= set(second[member])
    assert alike > 500
    assert withheld > 500


def _owning(group: Group, assignment: Assignment, generation: int) -> dict[str, MemberSubscription]:
    return {
        member: each._replace(owned=tuple(assignment[member]), generation=generation)
        for member, each in group.members.items()
    }


def test_cooperative_sticky_assigns_everything_in_the_end() -> None:
    """If the members' subscriptions differ, more than two rebalances may be needed to improve the
    balance. After four more rebalances, all partitions are assigned.
    """
    for group in groups():
        assignment = cooperative_sticky_assign(group.topics, group.members)
        for generation in range(5, 9):
            members = _owning(group, assignment, generation)
            assignment = cooperative_sticky_assign(group.topics, members)
            for member, partitions in assignment.items():
                for other, each in members.items():
                    assert other == member or not set(partitions) & set(each.owned)
        assert_whole(group, assignment)


def test_cooperative_sticky_gives_nobody_what_another_member_still_has() -> None:
    """Also not what a member has that missed a rebalance."""
    t = [TopicPartition("t", n) for n in range(4)]
    members = {
        "late": MemberSubscription(("t",), None, (t[2], t[3]), 3),
        "a": MemberSubscription(("t",), None, (t[0], t[1]), 4),
        "new": MemberSubscription(("t",)),
    }
    assert sticky_assign({"t": 4}, members)["new"] == [t[3]]
    assert cooperative_sticky_assign({"t": 4}, members) == {"late": [t[2]], "a": t[:2], "new": []}


def test_the_rebalance_protocol_is_the_highest_that_all_assignors_support() -> None:
    assert common_protocol(["cooperative-sticky"]) is RebalanceProtocol.COOPERATIVE
    for others in (["range"], ["sticky"], ["range", "roundrobin"]):
        assert common_protocol(others) is RebalanceProtocol.EAGER
        assert common_protocol(["cooperative-sticky", *others]) is RebalanceProtocol.EAGER


def assert_whole(group: Group, assignment: Assignment) -> None:
    """Check that each partition of each subscribed topic is assigned to exactly one member, which
    has subscribed to the topic.
    """
    assert assignment.keys() == group.members.keys()
    given = [tp for tps in assignment.values() for tp in tps]
    wanted = {topic for each in group.members.values() for topic in each.topics}
    everything = {TopicPartition(topic, n) for topic in wanted for n in range(group.topics[topic])}
    assert len(given) == len(everything)
    assert set(given) == everything
    for member, tps in assignment.items():
        assert {tp.topic for tp in tps} <= set(group.members[member].topics)


def test_range_gives_the_first_members_one_more() -> None:
    members = {name: MemberSubscription(("t",)) for name in ("c", "a", "b")}
    assignment = range_assign({"t": 7}, members)
    assert {m: [tp.partition for tp in tps] for m, tps in assignment.items()} == {
        "a": [0, 1, 2],
        "b": [3, 4],
        "c": [5, 6],
    }


def test_static_members_come_first_by_their_instance_id() -> None:
    members = {
        "a": MemberSubscription(("t",)),
        "z": MemberSubscription(("t",), "1"),
        "y": MemberSubscription(("t",), "2"),
    }
    for assign in (range_assign, round_robin_assign):
        assignment = assign({"t": 3}, members)
        assert [assignment[m][0].partition for m in ("z", "y", "a")] == [0, 1, 2]


def test_a_topic_that_does_not_exist_gives_nobody_anything() -> None:
    members = {"a": MemberSubscription(("gone",)), "b": MemberSubscription(("gone", "t"))}
    for assign in (range_assign, round_robin_assign, sticky_assign):
        assert assign({"t": 1}, members) == {"a": [], "b": [TopicPartition("t", 0)]}


def test_sticky_believes_the_newest_generation() -> None:
    """A member that missed a rebalance reports partitions that now belong to other members."""
    t = [TopicPartition("t", n) for n in range(4)]
    members = {
        "late": MemberSubscription(("t",), None, tuple(t), 3),
        "a": MemberSubscription(("t",), None, (t[0], t[1]), 4),
    }
    assert sticky_assign({"t": 4}, members) == {"late": [t[2], t[3]], "a": [t[0], t[1]]}


@pytest.mark.parametrize("topics", [("t", "u"), ("t",)])
def test_sticky_believes_the_newest_generation_when_subscriptions_differ(
    topics: tuple[str, ...],
) -> None:
    t = [TopicPartition("t", n) for n in range(4)]
    members = {
        "late": MemberSubscription(topics, None, tuple(t), 3),
        "a": MemberSubscription(("t",), None, (t[0], t[1]), 4),
    }
    assignment = sticky_assign({"t": 4}, members)
    assert {member: set(tps) for member, tps in assignment.items()} == {
        "late": {t[2], t[3]},
        "a": {t[0], t[1]},
    }
