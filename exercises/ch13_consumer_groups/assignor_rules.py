"""The rules of chapter 13's assignors: each partition of a subscribed topic has one member.

The right blocks of 13-1 are those of the course's own range assignor.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_edu.clients.consumer.assignors import MemberSubscription, range_assign

Block = tuple[str, str, int, int]
"""A member, a topic, the first of its partitions, and their number."""


class Member(NamedTuple):
    """A member of a group, as a learner's range assignor gets it."""

    name: str
    instance: str | None
    topics: tuple[str, ...]


def right_blocks(topics: Mapping[str, int], members: Sequence[Member]) -> set[Block]:
    """Return the blocks of the range assignor."""
    subscriptions = {one.name: MemberSubscription(one.topics, one.instance) for one in members}
    blocks = set()
    for member, partitions in range_assign(topics, subscriptions).items():
        for topic in {one.topic for one in partitions}:
            numbers = [one.partition for one in partitions if one.topic == topic]
            blocks.add((member, topic, numbers[0], len(numbers)))
    return blocks


def first_fault(
    topics: Mapping[str, int],
    readers: Mapping[str, Iterable[str]],
    given: Iterable[tuple[str, str, int]],
) -> str:
    """Return a sentence about the first wrong partition: it has no member, two, or a member that
    does not read its topic. The sentence is empty if no partition is wrong.

    `readers` has the topics of each member, and `given` the rows (member, topic, partition).
    """
    owner: dict[tuple[str, int], str] = {}
    for member, topic, partition in given:
        if member not in readers:
            return f"there is no member {member!r}"
        if topic not in topics or not 0 <= partition < topics[topic]:
            return f"there is no partition {topic}-{partition}"
        if topic not in readers[member]:
            return f"{member} does not read {topic}"
        if (topic, partition) in owner:
            return f"{topic}-{partition} has two members: {owner[topic, partition]} and {member}"
        owner[topic, partition] = member
    read = {topic for wanted in readers.values() for topic in wanted}
    for topic, count in topics.items():
        for partition in range(count):
            if topic in read and (topic, partition) not in owner:
                return f"nobody has {topic}-{partition}"
    return ""


class Owner(NamedTuple):
    """A member of a group, as a learner's sticky assignor gets it."""

    name: str
    owned: tuple[tuple[str, int], ...] = ()
    """The partitions that it had in `generation`."""
    generation: int = -1
    """The last generation in which it was; -1 for a new member."""


def kept_claims(topics: Mapping[str, int], members: Sequence[Owner]) -> dict[str, set[object]]:
    """Return the partitions that each member had in the newest generation and that still exist."""
    newest = max(one.generation for one in members)
    return {
        one.name: {
            (topic, number)
            for topic, number in one.owned
            if one.generation == newest and number < topics.get(topic, 0)
        }
        for one in members
    }


def most_kept(topics: Mapping[str, int], members: Sequence[Owner]) -> int:
    """Return how many partitions can stay at most if the shares differ by at most one partition."""
    share, more = divmod(sum(topics.values()), len(members))
    had = [len(claims) for claims in kept_claims(topics, members).values()]
    return sum(min(count, share) for count in had) + min(more, sum(n > share for n in had))
