"""The 1,000 random groups whose assignments are recorded. They are the same each time."""

import random
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import Final, NamedTuple

from kafka_edu.clients.consumer.assignors import (
    Assignment,
    MemberSubscription,
    round_robin_assign,
)
from kafka_edu.common.topic_partition import TopicPartition

COUNT: Final = 1_000
DIGEST_BYTES: Final = 8


class Group(NamedTuple):
    """The number of partitions of each topic, and the members. Before the group changed, the older
    members had partitions (`owned`).
    """

    topics: Mapping[str, int]
    members: Mapping[str, MemberSubscription]

    def line(self) -> str:
        """Return the group in the form that Assignors.java reads."""
        parts = [",".join(f"{topic}:{count}" for topic, count in self.topics.items())]
        for member, each in self.members.items():
            owned = ",".join(f"{tp.topic}:{tp.partition}" for tp in each.owned)
            instance = each.group_instance_id or ""
            parts.append(
                f"{member};{instance};{','.join(each.topics)};{max(each.generation, 0)};{owned}"
            )
        return "|".join(parts)


def _group(chance: random.Random) -> Group:
    names = [f"t{n}" for n in range(chance.randint(1, 5))]
    topics = {name: chance.randint(1, 12) for name in names}
    alike = chance.random() < 0.5

    def member() -> MemberSubscription:
        instance = f"i{chance.randrange(10_000)}" if chance.random() < 0.2 else None
        some = names if alike else chance.sample(names, chance.randint(1, len(names)))
        return MemberSubscription(tuple(some), instance)

    old = {f"m{chance.randrange(10_000):04}": member() for _ in range(chance.randint(1, 7))}
    had = round_robin_assign(topics, old)
    members = {
        name: each._replace(owned=tuple(had[name]), generation=4)
        for name, each in old.items()
        if chance.random() < 0.8
    }
    for _ in range(chance.randint(0 if members else 1, 3)):
        members[f"m{chance.randrange(10_000):04}"] = member()._replace(generation=0)
    for name in names:
        if chance.random() < 0.2:
            topics[name] = chance.randint(topics[name], 16)
    wanted = {topic for each in members.values() for topic in each.topics}
    return Group({name: topics[name] for name in names if name in wanted}, members)


@cache
def groups() -> tuple[Group, ...]:
    chance = random.Random("assignors")
    return tuple(_group(chance) for _ in range(COUNT))


def digest(printed: str) -> bytes:
    """Return the digest of one printed assignment."""
    return sha256(printed.encode()).digest()[:DIGEST_BYTES]


def printed(assignment: Assignment) -> str:
    """Return an assignment in the form that Assignors.java prints."""
    return "".join(
        f"{member}={','.join(sorted(f'{tp.topic}:{tp.partition}' for tp in assignment[member]))};"
        for member in sorted(assignment)
    )


def moved(group: Group, assignment: Assignment) -> int:
    """Return how many partitions were taken from a member and given to another one, although the
    first could have kept them.
    """
    owner = {tp: member for member, tps in assignment.items() for tp in tps}
    return sum(
        owner[tp] != member for member, each in group.members.items() for tp in _kept(group, each)
    )


def _kept(group: Group, member: MemberSubscription) -> list[TopicPartition]:
    return [tp for tp in member.owned if tp.topic in member.topics]


def balance(assignment: Assignment) -> int:
    """Return the sum of the differences between the members' numbers of partitions."""
    counts = [len(tps) for tps in assignment.values()]
    return sum(abs(a - b) for at, a in enumerate(counts) for b in counts[:at])
