"""Public tests of exercise 13-1. `kafka-edu lab check 13-1` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch, Words
from ..assignor_rules import Block, Member, first_fault, right_blocks

FORM: Final = "a list of blocks (member, topic, first, count)"
WEB: Final = ("web",)


def check(learner: Learner, topics: Mapping[str, int], members: Sequence[Member]) -> None:
    """Let the learner's class divide, and compare the blocks. Raises Mismatch."""
    rows = [[name, instance, list(reads)] for name, instance, reads in members]
    came = learner.make().call("assign", dict(topics), rows)
    asked = f"assign({dict(topics)}, {len(rows)} members)"
    drawing = tuple(
        f"{one.name}{f', instance {one.instance}' if one.instance else ''}, reads"
        f" {', '.join(one.topics) or 'nothing'}"
        for one in members[:6]
    )
    blocks = _blocks(came, asked)
    fault = first_fault(
        topics,
        {one.name: one.topics for one in members},
        [
            (member, topic, number)
            for member, topic, first, count in blocks
            for number in range(first, first + count)
        ],
    )
    if fault:
        expected = Words("each partition of a topic that somebody reads has one member")
        raise Mismatch(asked, expected, Words(fault), _why_fault(fault), drawing=drawing)
    right = right_blocks(topics, members)
    for block in sorted(blocks, key=str):
        if block not in right:
            why = _why(topics, members, block, blocks)
            instead = _instead(right, block)
            raise Mismatch(asked, instead, block, why, drawing=drawing, read="assign")


def _blocks(came: object, asked: str) -> list[Block]:
    """Return the learner's blocks. Raises Mismatch if they do not have the form of blocks."""
    if not isinstance(came, tuple):
        raise Mismatch(asked, Words(FORM), came, "an empty list is a list too")
    return [_block(one, asked) for one in came]


def _block(one: Any, asked: str) -> Block:
    match one:
        case (str(member), str(topic), int(first), int(count)) if count > 0:
            return member, topic, first, count
        case (str(member), str(topic), int(), 0):
            why = "a member that gets nothing of a topic has no block there"
            raise Mismatch(asked, Words(f"no block of {topic} for {member}"), one, why)
    raise Mismatch(asked, Words(FORM), one, "each block has these four, and count is at least 1")


def _why_fault(fault: str) -> str:
    if "two members" in fault:
        return "two consumers would read the same records: one block begins where the last ends"
    if "nobody" in fault:
        return "its records would never be read, and no error would say so"
    return "a block names a member that reads the topic, and partitions that the topic has"


def _instead(right: set[Block], block: Block) -> object:
    """Return the right block of the same member and topic."""
    same = [one for one in right if one[:2] == block[:2]]
    return same[0] if same else Words(f"no block of {block[1]} for {block[0]}")


def _why(
    topics: Mapping[str, int], members: Sequence[Member], block: Block, blocks: Sequence[Block]
) -> str:
    """Return why a block is wrong. `blocks` has all blocks of the learner's answer."""
    topic, count = block[1], block[3]
    takers = [one for one in members if topic in one.topics]
    share, more = divmod(topics[topic], len(takers))
    if count not in (share, share + 1):
        return f"{topic} alone is divided: {topics[topic]} partitions, {len(takers)} members"
    parts = [one for one in sorted(blocks, key=lambda one: one[2]) if one[1] == topic]
    sizes = [one[3] for one in parts]
    static = any(one.instance for one in takers)
    if share == 0 and not static and parts[-1][0] == max(one.name for one in takers):
        sizes.insert(0, 0)  # the last member has something, so one before it has nothing
    if sizes != sorted(sizes, reverse=True):
        return f"the first {more} of {len(takers)} members get {share + 1}, the others {share}"
    if static:
        return "members with an instance come first, in its order; the others by their ids"
    return "the members are in the order of their ids, not in the order in which they joined"


def plain(*names: str, topics: Sequence[str] = WEB) -> list[Member]:
    """Return members without instances that all read these topics."""
    return [Member(name, None, tuple(topics)) for name in names]


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    members = plain("a-1", "b-2", topics=("web", "orders"))
    check(learner, {"web": 7, "orders": 2}, [*members, Member("c-3", "one", WEB)])


def test_one_member(learner: Learner) -> None:
    """one member alone gets everything"""
    check(learner, {"web": 5}, plain("a"))
    check(learner, {"web": 1, "orders": 4}, plain("a", topics=("web", "orders")))


def test_equal(learner: Learner) -> None:
    """partitions that can be divided equally"""
    check(learner, {"web": 6}, plain("a", "b", "c"))


def test_rest(learner: Learner) -> None:
    """partitions that cannot be divided equally"""
    for partitions in range(1, 12):
        check(learner, {"web": partitions}, plain("a", "b", "c", "d"))


def test_each_topic_by_itself(learner: Learner) -> None:
    """the first member gets one partition more of each topic"""
    topics = {f"topic-{n}": 3 for n in range(4)}
    check(learner, topics, plain("a", "b", topics=tuple(topics)))


def test_more_members_than_partitions(learner: Learner) -> None:
    """some members get nothing"""
    check(learner, {"web": 2}, plain("a", "b", "c", "d"))


def test_order_of_ids(learner: Learner) -> None:
    """members that are not in the order of their ids"""
    check(learner, {"web": 5}, plain("c", "a", "d", "b"))


def test_instances(learner: Learner) -> None:
    """static members come first, in the order of their instances"""
    members = [
        Member("a", None, WEB),
        Member("b", "two", WEB),
        Member("c", "one", WEB),
        Member("d", None, WEB),
    ]
    check(learner, {"web": 7}, members)


def test_subscriptions(learner: Learner) -> None:
    """members that do not read the same topics"""
    members = [
        Member("a", None, ("web",)),
        Member("b", None, ("orders", "web")),
        Member("c", None, ("orders",)),
        Member("d", None, ()),
    ]
    check(learner, {"web": 5, "orders": 3, "clicks": 2}, members)


def test_topic_that_is_not_there(learner: Learner) -> None:
    """a member reads a topic that does not exist"""
    check(learner, {"web": 2}, plain("a", "b", topics=("web", "later")))
    check(learner, {}, plain("a"))


def test_groups(learner: Learner, seed: int) -> None:
    """sixty random groups"""
    random = Random(f"range/{seed}")
    for _ in range(60):
        check(learner, *random_group(random, most_members=6, most_topics=4, most_partitions=9))


def random_group(
    random: Random, most_members: int, most_topics: int, most_partitions: int
) -> tuple[dict[str, int], list[Member]]:
    """Return the topics and the members of a random group."""
    names = [f"topic-{n}" for n in range(random.randint(1, most_topics))]
    topics = {name: random.randint(1, most_partitions) for name in names if random.random() < 0.9}
    instances = random.sample(range(100), most_members)
    members = [
        Member(
            f"consumer-{random.randrange(10**6)}-{n}",
            f"shop-{instances[n]}" if random.random() < 0.4 else None,
            tuple(name for name in names if random.random() < 0.8),
        )
        for n in range(random.randint(1, most_members))
    ]
    return topics, members
