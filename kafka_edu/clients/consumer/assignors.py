"""Divide the partitions of a group among its members (Kafka: ConsumerPartitionAssignor.java).

An assignor is a pure function. It gets the number of partitions of each topic and the subscription
of each member, and returns each member's partitions. Only the group's leader calls it.

    range         topic by topic, each member gets a contiguous block. With 3 members and 7
                  partitions the blocks are 0-2, 3-4 and 5-6. The first member gets more of *each*
                  topic, so with many topics the blocks are unequal.
    roundrobin    all partitions of all topics are given out one by one, to each member in turn.
    sticky        as equal as roundrobin, but members keep what they have (see sticky_assignor).
    cooperative-sticky
                  the same, but a partition that moves stays without a member until its old member
                  has given it up.

Members are in the order of their group.instance.id if they have one, and then of their member id.
So static members keep their partitions when they restart (KIP-345).
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition

NO_GENERATION = -1


class MemberSubscription(NamedTuple):
    """One member's topics and former partitions (Kafka: ConsumerPartitionAssignor.Subscription)."""

    topics: tuple[str, ...]
    group_instance_id: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    """The partitions that the member had in `generation`. Only sticky and cooperative-sticky read
    them.
    """
    generation: int = NO_GENERATION


Assignment = dict[str, list[TopicPartition]]
"""Member id → its partitions. It contains every member, also members without partitions."""


class RebalanceProtocol(IntEnum):
    """When members give up partitions (Kafka: ConsumerPartitionAssignor.RebalanceProtocol)."""

    EAGER = 0
    """Each member gives up all its partitions before it joins."""
    COOPERATIVE = 1
    """A member keeps its partitions at first. It gives up those that it does not get again
    (KIP-429).
    """


_EAGER: Final = frozenset({RebalanceProtocol.EAGER})
#: assignor → the protocols that it supports.
SUPPORTED_PROTOCOLS: Final[Mapping[str, frozenset[RebalanceProtocol]]] = {
    "range": _EAGER,
    "roundrobin": _EAGER,
    "sticky": _EAGER,
    "cooperative-sticky": frozenset(RebalanceProtocol),
}


def common_protocol(assignors: Iterable[str]) -> RebalanceProtocol:
    """Return the highest protocol that all of these assignors support."""
    return max(frozenset.intersection(*(SUPPORTED_PROTOCOLS[name] for name in assignors)))


def sorted_members(subscriptions: Mapping[str, MemberSubscription]) -> list[str]:
    """Return the member ids: static members first, by their instance id. O(n log n)."""

    def key(member: str) -> tuple[bool, str, str]:
        instance = subscriptions[member].group_instance_id
        return instance is None, instance or "", member

    return sorted(subscriptions, key=key)


def range_assign(
    partitions_per_topic: Mapping[str, int], subscriptions: Mapping[str, MemberSubscription]
) -> Assignment:
    """Give each member a contiguous block of each topic (Kafka: RangeAssignor.java).

    If the partitions cannot be divided equally, the first members get one more partition than the
    others. O(partitions + topics · members).
    """
    assignment: Assignment = {member: [] for member in subscriptions}
    members = sorted_members(subscriptions)
    for topic in sorted(partitions_per_topic):
        takers = [member for member in members if topic in subscriptions[member].topics]
        if not takers:
            continue
        share, more = divmod(partitions_per_topic[topic], len(takers))
        at = 0
        for place, member in enumerate(takers):
            end = at + share + (place < more)
            assignment[member] += [TopicPartition(topic, number) for number in range(at, end)]
            at = end
    return assignment


def round_robin_assign(
    partitions_per_topic: Mapping[str, int], subscriptions: Mapping[str, MemberSubscription]
) -> Assignment:
    """Give the partitions to the members in turn, one each (Kafka: RoundRobinAssignor.java).

    A member that does not subscribe to the topic is skipped. O(partitions · members) at worst.
    """
    assignment: Assignment = {member: [] for member in subscriptions}
    members = sorted_members(subscriptions)
    wanted = {topic for each in subscriptions.values() for topic in each.topics}
    turn = 0
    for topic in sorted(wanted & set(partitions_per_topic)):
        for number in range(partitions_per_topic[topic]):
            while topic not in subscriptions[members[turn % len(members)]].topics:
                turn += 1
            assignment[members[turn % len(members)]].append(TopicPartition(topic, number))
            turn += 1
    return assignment


def by_topic(partitions: Sequence[TopicPartition]) -> dict[str, list[int]]:
    """Return topic → its partitions, in the given order. O(n)."""
    found: dict[str, list[int]] = {}
    for topic, partition in partitions:
        found.setdefault(topic, []).append(partition)
    return found
