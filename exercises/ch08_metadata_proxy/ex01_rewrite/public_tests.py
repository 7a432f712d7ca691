"""Public tests of exercise 08-1. `kafka-edu lab check 08-1` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import Final

from kafka_edu.clients.proxy.metadata_rewrite import KNOWS_LISTENERS
from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch, Words
from ..rewrite_rules import Copied, Partition, Topic, right

LISTENER_NOT_FOUND, LEADER_NOT_AVAILABLE, REPLICA_NOT_AVAILABLE = 72, 5, 9
VERSIONS: Final = range(9)
OFFSETS: Final = "__consumer_offsets"
WEB: Final[Copied] = {
    "web": (
        0,
        False,
        (Partition(0, 0, 1, (1, 2), (1, 2)), Partition(0, 1, 2, (2, 3), (2,), (3,))),
    )
}


def ask(
    made: LearnerObject,
    names: Sequence[str] | None,
    version: int,
    topics: Copied,
    alive: Collection[int],
) -> None:
    """Compare the topics of one answer with the right topics. Raises Mismatch if they differ."""
    expected = right(names, version, topics, alive)
    rows = {
        name: [error, internal, [[*one[:3], *map(list, one[3:])] for one in partitions]]
        for name, (error, internal, partitions) in topics.items()
    }
    came = made.call("topics", None if names is None else list(names), version, rows, sorted(alive))
    if came == expected:
        return
    call = f"topics({'None' if names is None else list(names)}, {version}, …, {sorted(alive)})"
    if not isinstance(came, tuple) or len(came) != len(expected):
        if not isinstance(came, tuple):
            why = "it is a list of topics"
        elif names is None:
            why = "None asks for all topics of the copy"
        else:
            why = "each requested name is in the answer once, and no other name"
        raise Mismatch(call, _listed(expected), came, why)
    for wanted, got in zip(expected, came, strict=True):
        if wanted != got:
            difference = _difference(wanted, got, version, topics, alive)
            raise Mismatch(call, *difference, drawing=_drawing(wanted.name, topics), read="topics")


def _listed(topics: Sequence[Topic]) -> Words:
    return Words("topics " + ", ".join(one.name for one in topics) if topics else "no topics")


def _drawing(name: str, topics: Copied) -> tuple[str, ...]:
    if name not in topics:
        return (f"the copy has no {name!r}",)
    error, internal, partitions = topics[name]
    head = f"in the copy: {name}, error {error}{', internal' if internal else ''}"
    return (head, *(f"  {one}".replace("Partition", "") for one in partitions[:6]))


def _difference(
    wanted: Topic, got: object, version: int, topics: Copied, alive: Collection[int]
) -> tuple[object, object, str]:
    """Find the first part of a topic that is wrong. Return the right part, the learner's part, and
    a sentence that says what is wrong.
    """
    match got:
        case (error, name, internal, tuple(partitions)):
            pass
        case _:
            return wanted, got, "a topic is (error, name, internal, partitions)"
    if name != wanted.name:
        return wanted.name, name, "the topics have the order of the request"
    if wanted.name not in topics:
        if error != wanted.error:
            why = f"the copy has no {wanted.name!r}: the error is {wanted.error}"
        elif internal is not wanted.internal:
            why = f"{OFFSETS} and __transaction_state are internal, also where they are not there"
        else:
            why = "a topic that is not there has no partitions"
        return wanted, got, why
    if (error, internal) != (wanted.error, wanted.internal):
        return wanted, got, "error and internal are those of the copy"
    if len(partitions) != len(wanted.partitions):
        return len(wanted.partitions), len(partitions), "each partition of the copy is answered"
    sources = topics[wanted.name][2]
    for source, right_one, one in zip(sources, wanted.partitions, partitions, strict=True):
        if right_one != one:
            return right_one, one, _why_partition(source, right_one, one, version, alive)
    return wanted, got, "a topic is (error, name, internal, partitions)"


def _why_partition(
    source: Partition, wanted: Partition, got: object, version: int, alive: Collection[int]
) -> str:
    if not isinstance(got, tuple) or len(got) != len(wanted):
        return "a partition is (error, index, leader, replicas, isr, offline)"
    named: Mapping[str, object] = dict(zip(Partition._fields, got, strict=True))
    where = f"partition {wanted.number}, version {version}: "
    if (named["replicas"], named["isr"]) != (wanted.replicas, wanted.isr):
        living = ", ".join(map(str, sorted(alive)))
        if version == 0:
            return f"{where}its clients connect to each replica; only {living} live"
        return f"{where}since version 1 replicas are listed, whether they live or not"
    if named["error"] != wanted.error:
        if source.error == LISTENER_NOT_FOUND and version < KNOWS_LISTENERS:
            return f"{where}a client below version 6 does not know error {LISTENER_NOT_FOUND}"
        if source.error == LISTENER_NOT_FOUND:
            return f"{where}since version 6 clients know error {LISTENER_NOT_FOUND}"
        if source.error:
            return f"{where}the copy has an error here already"
        if wanted.error == REPLICA_NOT_AVAILABLE:
            return f"{where}a replica was left out, so the error is {REPLICA_NOT_AVAILABLE}"
        return f"{where}nothing was left out here"
    return f"{where}index, leader and offline are those of the copy"


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    made = learner.make()
    ask(made, ["web"], 1, WEB, (1, 2))
    ask(made, ["web"], 0, WEB, (1, 2))
    ask(made, ["shop"], 5, WEB, (1, 2))


def test_all_and_none(learner: Learner) -> None:
    """None asks for all topics; an empty list asks for none"""
    made = learner.make()
    two: Copied = {"web": WEB["web"], "audit": (0, False, (Partition(0, 0, 1, (1,), (1,)),))}
    ask(made, None, 4, two, (1, 2, 3))
    ask(made, [], 4, two, (1, 2, 3))
    ask(made, ["audit", "web", "audit"], 4, two, (1, 2, 3))


def test_topics_that_are_not_there(learner: Learner) -> None:
    """an unknown topic, a topic name that is not allowed, and a missing internal topic"""
    made = learner.make()
    for name in ("shop", "sh op", "", ".", "..", "a" * 249, "a" * 250, "ü", OFFSETS, "...", "a/b"):
        ask(made, [name], 3, WEB, (1, 2))
    ask(made, ["__transaction_state", "web"], 3, WEB, (1, 2, 3))


def test_listeners(learner: Learner) -> None:
    """the leader's broker does not have the client's listener, in each version"""
    made = learner.make()
    lost = {"web": (0, False, (Partition(LISTENER_NOT_FOUND, 0, -1, (1, 2), (1,), (2,)),))}
    for version in VERSIONS:
        ask(made, ["web"], version, lost, (1, 2))


def test_dead_replicas(learner: Learner) -> None:
    """the broker of a replica is dead, in each version"""
    made = learner.make()
    for version in VERSIONS:
        ask(made, ["web"], version, WEB, (1, 2))
        ask(made, ["web"], version, WEB, (1, 2, 3))


def test_dead_in_the_isr(learner: Learner) -> None:
    """a dead broker is still in the ISR, and another partition already has an error"""
    made = learner.make()
    topics: Copied = {
        OFFSETS: (
            0,
            True,
            (
                Partition(0, 0, 1, (1, 3), (1, 3), ()),
                Partition(LEADER_NOT_AVAILABLE, 1, -1, (3, 1), (3,), (3,)),
                Partition(0, 2, 1, (1,), (1,), ()),
            ),
        )
    }
    for version in VERSIONS:
        ask(made, [OFFSETS], version, topics, (1,))


def copied(random: Random, brokers: int = 5) -> Copied:
    """Return a random copy of a cluster's metadata."""
    topics: dict[str, tuple[int, bool, tuple[Partition, ...]]] = {}
    for name in random.sample(("web", "audit", OFFSETS, "orders", "a.b_c-d"), random.randint(1, 4)):
        partitions = []
        for index in range(random.randint(1, 4)):
            replicas = tuple(random.sample(range(brokers), random.randint(1, 3)))
            isr = tuple(random.sample(replicas, random.randint(1, len(replicas))))
            offline = tuple(one for one in replicas if one not in isr)
            error = random.choice((0, 0, 0, LEADER_NOT_AVAILABLE, LISTENER_NOT_FOUND))
            leader = isr[0] if not error else -1
            partitions.append(Partition(error, index, leader, replicas, isr, offline))
        topics[name] = (0, name == OFFSETS, tuple(partitions))
    return topics


def test_random(learner: Learner, seed: int) -> None:
    """a hundred random answers"""
    random = Random(f"rewrite/{seed}")
    made = learner.make()
    for _ in range(100):
        topics = copied(random)
        names = random.choice((None, [*topics], ["shop", *random.sample([*topics], 1)]))
        alive = random.sample(range(5), random.randint(1, 5))
        ask(made, names, random.choice(VERSIONS), topics, alive)
