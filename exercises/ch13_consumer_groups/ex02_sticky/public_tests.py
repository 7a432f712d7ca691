"""Public tests of exercise 13-2. `kafka-edu lab check 13-2` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch, Words
from ..assignor_rules import Owner, first_fault, kept_claims, most_kept

FORM: Final = "{member: [(topic, partition), …]}"
Given = dict[str, tuple[tuple[str, int], ...]]


def check(learner: Learner, topics: Mapping[str, int], members: Sequence[Owner]) -> Given:
    """Let the learner's class divide. Return its answer. Raises Mismatch if a rule is broken."""
    rows = [[one.name, [list(tp) for tp in one.owned], one.generation] for one in members]
    came = learner.make().call("assign", dict(topics), rows)
    asked = f"assign({dict(topics)}, {len(rows)} members)"
    drawing = tuple(
        f"{one.name} had {_words(one.owned)} in generation {one.generation}" for one in members[:6]
    )
    given = _given(came, asked, members)

    def wrong(expected: str, seen: str, why: str, read: str) -> Mismatch:
        return Mismatch(asked, Words(expected), Words(seen), why, drawing=drawing, read=read)

    fault = first_fault(
        topics,
        {one.name: topics for one in members},
        [(member, *tp) for member, has in given.items() for tp in has],
    )
    if fault:
        why = "a record is read twice, or never, and no error says so"
        raise wrong("each partition has exactly one member", fault, why, "rule 1")
    sizes = {member: len(has) for member, has in given.items()}
    least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    if sizes[most] - sizes[least] > 1:
        seen = f"{most} has {sizes[most]}, and {least} has {sizes[least]}"
        why = f"{sum(topics.values())} partitions for {len(members)} members can be more equal"
        raise wrong("no two members differ by more than one", seen, why, "rule 2")
    claims = kept_claims(topics, members)
    kept = sum(tp in claims[member] for member, has in given.items() for tp in has)
    best = most_kept(topics, members)
    if kept != best:
        seen = f"{kept} stay with their member"
        raise wrong(f"{best} stay", seen, _why(topics, members, given), "rule 3")
    return given


def _given(came: object, asked: str, members: Sequence[Owner]) -> Given:
    """Return the learner's answer. Raises Mismatch if it does not have the right form."""
    if not isinstance(came, dict):
        raise Mismatch(asked, Words(FORM), came, "it is a dict")
    given: Given = {}
    for member, has in came.items():
        pairs: list[tuple[str, int]] = []
        for tp in has if isinstance(has, list | tuple) else [has]:
            match tp:
                case [str(topic), int(number)]:
                    pairs.append((topic, number))
                case _:
                    raise Mismatch(asked, Words(FORM), tp, f"that is in the list of {member}")
        given[member] = tuple(pairs)
    missing = [one.name for one in members if one.name not in came]
    if missing:
        why = "a member that gets nothing has an empty list"
        raise Mismatch(asked, Words(f"a list for {missing[0]}"), came, why)
    return given


def _why(topics: Mapping[str, int], members: Sequence[Owner], given: Given) -> str:
    """Return a sentence that names a member that could have kept more partitions."""
    share, more = divmod(sum(topics.values()), len(members))
    claims = kept_claims(topics, members)
    for member, had in claims.items():
        kept = len(had & {*given[member]})
        if kept < min(len(had), share):
            return f"{member} had {len(had)} that count, and keeps {kept} of them"
    had_more = sum(len(had) > share for had in claims.values())
    return f"{more} members have {share + 1}, and {had_more} had more than {share}: they keep one"


def _words(partitions: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{topic}-{number}" for topic, number in partitions[:8]) or "nothing"


def web(*numbers: int) -> tuple[tuple[str, int], ...]:
    """Return these partitions of web."""
    return tuple(("web", number) for number in numbers)


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    a, b = Owner("a", web(0, 1, 2, 3), 5), Owner("b", web(4, 5, 6), 5)
    check(learner, {"web": 7}, [a, b, Owner("c", web(0, 1), 4)])


def test_nothing_before(learner: Learner) -> None:
    """a new group: all that counts is that the shares are equal"""
    for members in range(1, 6):
        check(learner, {"web": 7, "orders": 2}, [Owner(f"m{n}") for n in range(members)])


def test_nothing_changed(learner: Learner) -> None:
    """all members come back with equal shares: nothing moves"""
    check(learner, {"web": 6}, [Owner("a", web(5, 0, 3), 2), Owner("b", web(1, 2, 4), 2)])
    check(learner, {"web": 5}, [Owner("a", web(1, 4), 2), Owner("b", web(3, 0, 2), 2)])


def test_one_leaves(learner: Learner) -> None:
    """one of three members has left: the others keep all their partitions"""
    check(learner, {"web": 9}, [Owner("a", web(0, 3, 6), 2), Owner("c", web(2, 5, 8), 2)])


def test_one_comes(learner: Learner) -> None:
    """a newcomer gets its share, and no other partition moves"""
    old = [Owner("a", web(0, 1, 2, 3), 2), Owner("b", web(4, 5, 6, 7), 2)]
    check(learner, {"web": 8}, [Owner("new"), *old])
    check(learner, {"web": 8}, [*old, Owner("new"), Owner("newer")])


def test_who_keeps_one_more(learner: Learner) -> None:
    """members that had more partitions before get the larger shares"""
    small = [Owner("a", web(0), 3), Owner("b", web(1), 3)]
    check(learner, {"web": 7}, [*small, Owner("c", web(2, 3, 4, 5, 6), 3)])
    large = [Owner("b", web(1, 2, 3), 3), Owner("c", web(4, 5, 6), 3)]
    check(learner, {"web": 8}, [Owner("a", web(0), 3), *large])


def test_old_generation(learner: Learner) -> None:
    """a member has missed a rebalance: the partitions that it had before do not count"""
    old = Owner("a", web(0, 1, 2), 6)
    check(learner, {"web": 6}, [old, Owner("b", web(0, 1, 2), 7), Owner("c", web(3, 4, 5), 7)])
    check(learner, {"web": 6}, [Owner("b", web(3, 4, 5), 7), Owner("c", web(0, 1), 7), old])


def test_gone(learner: Learner) -> None:
    """a topic was deleted, and another one has fewer partitions than before"""
    owned = (*web(0, 1, 2, 3), ("gone", 0), ("gone", 1))
    check(learner, {"web": 3, "orders": 2}, [Owner("a", owned, 4), Owner("b", (), 4)])
    check(learner, {"orders": 1}, [Owner("a", owned, 4), Owner("b", (("orders", 0),), 4)])


def test_more_members_than_partitions(learner: Learner) -> None:
    """some members get nothing, and each member that had a partition keeps it"""
    members = [Owner(f"m{n}", web(n - 3) if n >= 3 else (), 1) for n in range(6)]
    check(learner, {"web": 3}, members)
    check(learner, {}, members)


def test_groups(learner: Learner, seed: int) -> None:
    """thirty groups that live through some rebalances"""
    random = Random(f"sticky/{seed}")
    for _ in range(30):
        live(learner, random, rebalances=5, most_members=6, most_partitions=12)


def live(
    learner: Learner, random: Random, rebalances: int, most_members: int, most_partitions: int
) -> None:
    """Let a group live through rebalances: members come and go, or miss one, and topics grow."""
    names = [f"m{n}" for n in range(most_members)]
    topics = {"web": random.randint(1, most_partitions), "orders": random.randint(1, 4)}
    last: dict[str, Owner] = {}
    for generation in range(1, rebalances + 1):
        if random.random() < 0.3:
            topics[random.choice(("web", "orders", "clicks"))] = random.randint(1, most_partitions)
        if random.random() < 0.1:
            del topics[random.choice(sorted(topics))]
        present = random.sample(names, random.randint(1, most_members))
        members = [last.get(name, Owner(name)) for name in present]
        given = check(learner, topics, members)
        for name in present:
            if random.random() < 0.9:  # otherwise it misses the answer
                last[name] = Owner(name, given[name], generation)
