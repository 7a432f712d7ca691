"""The nine situations of exercise 13-7, and the right answers from our assignors."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Final, NamedTuple

from kafka_edu.clients.consumer.assignors import (
    Assignment,
    MemberSubscription,
    range_assign,
    round_robin_assign,
    sorted_members,
)
from kafka_edu.clients.consumer.sticky_assignor import cooperative_sticky_assign, sticky_assign
from kafka_edu.common.topic_partition import TopicPartition

QUESTIONS: Final = """\
# 13-7: your situations

All members of a group read the same topics. Partitions are counted from 0 on.

{situations}
"""
WEB: Final = "web"
LETTERS: Final = "abcdefghij"
NAMES: Final = (
    *("block", "many_topics", "round_robin", "static", "idle"),
    *("range_leaves", "sticky_leaves", "cooperative", "copies"),
)
"""The names of the questions."""


class Situation(NamedTuple):
    """One question, and its right answer."""

    name: str
    words: str
    answer: int
    why: str


@cache
def situations(seed: int) -> tuple[Situation, ...]:
    """Return the nine situations for this seed."""
    random = Random(f"who gets what/{seed}")
    makers = (
        _block,
        _many_topics,
        _round_robin,
        _static,
        _idle,
        _range_leaves,
        _sticky_leaves,
        _cooperative,
        _copies,
    )
    return tuple(make_one(random) for make_one in makers)


def _plain(names: Iterable[str], *topics: str) -> dict[str, MemberSubscription]:
    """Return members that read these topics, and have nothing yet."""
    return {name: MemberSubscription(topics) for name in names}


def _with(
    before: Mapping[str, Sequence[TopicPartition]], *topics: str
) -> Mapping[str, MemberSubscription]:
    """Return the members as they join again, with their former partitions."""
    return {
        name: MemberSubscription(topics, owned=tuple(has), generation=1)
        for name, has in before.items()
    }


def moved(before: Assignment, after: Assignment) -> int:
    """Return how many partitions have a different member before and afterwards."""
    old = {tp: member for member, has in before.items() for tp in has}
    return sum(old[tp] != member for member, has in after.items() for tp in has)


def _block(random: Random) -> Situation:
    """Return the question about one member's block."""
    count = random.randint(3, 7)
    partitions = count * random.randint(2, 5) + random.randint(1, count - 1)
    place = random.randrange(count)
    has = range_assign({WEB: partitions}, _plain(LETTERS[:count], WEB))[LETTERS[place]]
    share, more = divmod(partitions, count)
    return Situation(
        "block",
        f"range. web has {partitions} partitions, and the members are {_listed(LETTERS[:count])}."
        f" How many partitions has {LETTERS[place]}?",
        len(has),
        f"{partitions} = {count} · {share} + {more}, so the first {more} have {share + 1}",
    )


def _many_topics(random: Random) -> Situation:
    """Return the question about range with many topics."""
    count = random.randint(2, 4)
    topics = {
        f"topic-{n}": count * random.randint(1, 3) + random.randint(1, count - 1) for n in range(5)
    }
    has = range_assign(topics, _plain(LETTERS[:count], *topics))["a"]
    return Situation(
        "many_topics",
        f"range. There are five topics, with {_numbers(topics)} partitions. The members are"
        f" {_listed(LETTERS[:count])}. How many partitions has a?",
        len(has),
        "each topic is divided by itself, and a is the first in each of them",
    )


def _round_robin(random: Random) -> Situation:
    """Return the question about the round robin with many topics."""
    count = random.randint(3, 5)
    topics = {f"topic-{n}": random.randint(2, 7) for n in range(5)}
    place = random.randrange(count)
    has = round_robin_assign(topics, _plain(LETTERS[:count], *topics))[LETTERS[place]]
    return Situation(
        "round_robin",
        f"round robin. There are five topics, with {_numbers(topics)} partitions. The members are"
        f" {_listed(LETTERS[:count])}. How many partitions has {LETTERS[place]}?",
        len(has),
        f"all {sum(topics.values())} partitions are one row, dealt out to {count} members",
    )


def _static(random: Random) -> Situation:
    """Return the question about static members."""
    count = random.randint(4, 7)
    partitions = count * random.randint(2, 4) + random.randint(1, count - 1)
    names = LETTERS[:count]
    one, other = random.sample(range(1, count), 2)
    members = _plain(names, WEB)
    members[names[one]] = MemberSubscription((WEB,), "till-1")
    members[names[other]] = MemberSubscription((WEB,), "till-2")
    asked = random.choice((names[other], names[0]))
    has = range_assign({WEB: partitions}, members)[asked]
    return Situation(
        "static",
        f"range. web has {partitions} partitions, and the members are {_listed(names)}."
        f" {names[one]} has group.instance.id till-1, and {names[other]} has till-2. Which is the"
        f" lowest partition of {asked}?",
        min(tp.partition for tp in has),
        f"the order is {_listed(sorted_members(members))}",
    )


def _idle(random: Random) -> Situation:
    """Return the question about members that get nothing."""
    topics = {"web": random.randint(2, 5), "orders": random.randint(1, 4)}
    most = sum(topics.values())
    count = random.randint(max(topics.values()) + 1, min(most + 2, len(LETTERS)))
    assignment = range_assign(topics, _plain(LETTERS[:count], *topics))
    return Situation(
        "idle",
        f"range. web has {topics['web']} partitions, and orders has {topics['orders']}. The"
        f" members are {_listed(LETTERS[:count])}. How many of them have nothing to do?",
        sum(not has for has in assignment.values()),
        "in each topic the first members get one partition, and these are the same members",
    )


def _leaver(random: Random) -> tuple[int, str, str]:
    """Return a number of partitions, the members' names, and the name of the member that leaves."""
    count = random.randint(3, 5)
    partitions = count * random.randint(3, 5) + random.randint(0, count - 1)
    names = LETTERS[:count]
    return partitions, names, names[random.randrange(count - 1)]


def _range_leaves(random: Random) -> Situation:
    """Return the question about a member that leaves a group with the range assignor."""
    partitions, names, _ = _leaver(random)
    leaver = names[0]
    topics = {WEB: partitions}
    before = range_assign(topics, _plain(names, WEB))
    after = range_assign(topics, _plain(names.replace(leaver, ""), WEB))
    return Situation(
        "range_leaves",
        f"range. web has {partitions} partitions, and the members are {_listed(names)}. Now"
        f" {leaver} leaves. How many partitions move?",
        moved(before, after),
        f"the blocks are then {'; '.join(_blocks(after))}",
    )


def _sticky_leaves(random: Random) -> Situation:
    """Return the question about a member that leaves a group with the sticky assignor."""
    partitions, names, leaver = _leaver(random)
    topics = {WEB: partitions}
    before = sticky_assign(topics, _plain(names, WEB))
    had = before[leaver]
    left = {name: has for name, has in before.items() if name != leaver}
    after = sticky_assign(topics, _with(left, WEB))
    return Situation(
        "sticky_leaves",
        f"sticky. web has {partitions} partitions, and the members are {_listed(names)}. {leaver},"
        f" which has {len(had)} of them, leaves. How many partitions move?",
        moved(before, after),
        f"the others keep what they have, so only what {leaver} had moves",
    )


def _cooperative(random: Random) -> Situation:
    """Return the question about a newcomer in a cooperative group."""
    count = random.randint(2, 4)
    partitions = (count + 1) * random.randint(3, 5) + random.randint(0, count)
    names, newcomer = LETTERS[:count], LETTERS[count]
    topics = {WEB: partitions}
    before = cooperative_sticky_assign(topics, _plain(names, WEB))
    joined = _with({**before, newcomer: []}, WEB)
    first = cooperative_sticky_assign(topics, joined)
    return Situation(
        "cooperative",
        f"cooperative-sticky. web has {partitions} partitions, and the members {_listed(names)}"
        f" have them all. Now {newcomer} joins. How many partitions are read all the time, by the"
        " member that had them before?",
        sum(len(has) for has in first.values()),
        f"{newcomer} gets {partitions - sum(len(has) for has in first.values())}, and only these"
        " are given up",
    )


def _copies(random: Random) -> Situation:
    """Return the question about groups and consumers without a group."""
    sizes = [random.randint(1, 6) for _ in range(random.randint(2, 4))]
    alone = random.randint(1, 3)
    partitions = random.randint(3, 8)
    groups = [range_assign({WEB: partitions}, _plain(LETTERS[:size], WEB)) for size in sizes]
    place = TopicPartition(WEB, random.randrange(partitions))
    readers = sum(place in has for group in groups for has in group.values())
    return Situation(
        "copies",
        f"web has {partitions} partitions. Groups with {_words(sizes)} members read it, and"
        f" {alone} consumers without a group, each of which has chosen all partitions. How many"
        f" times is a record of {place} read in all?",
        readers + alone,
        "in each group one member reads it, and each consumer without a group too",
    )


def _blocks(assignment: Assignment) -> list[str]:
    return [
        f"{member} {min(has).partition} to {max(has).partition}"
        for member, has in assignment.items()
    ]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _numbers(topics: Mapping[str, int]) -> str:
    return _words(list(topics.values()))


def _words(numbers: Sequence[int]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}"


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    texts = [
        f"## {number}. `{one.name}`\n\n{one.words}"
        for number, one in enumerate(situations(seed), 1)
    ]
    return {"questions.md": QUESTIONS.format(situations="\n\n".join(texts))}
