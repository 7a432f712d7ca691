"""The rules of chapter 13's assignors: they find a partition that has two members, or none."""

from random import Random
from types import SimpleNamespace

import pytest
from kafka.coordinator.assignors.range import RangePartitionAssignor

from exercises.ch13_consumer_groups.assignor_rules import (
    Member,
    Owner,
    first_fault,
    kept_claims,
    most_kept,
    right_blocks,
)
from kafka_edu.clients.consumer.assignors import MemberSubscription
from kafka_edu.clients.consumer.sticky_assignor import sticky_assign
from kafka_edu.common.topic_partition import TopicPartition

TOPICS = {"web": 3, "orders": 1}
READERS = {"a": ("web",), "b": ("web", "orders"), "c": ()}


class Metadata:
    """What kafka-python's assignor asks of its cluster."""

    def __init__(self, topics: dict[str, int]) -> None:
        self._topics = topics

    def partitions_for_topic(self, topic: str) -> set[int]:
        return set(range(self._topics[topic]))


def by_kafka_python(topics: dict[str, int], members: list[Member]) -> set[tuple[str, str, int]]:
    """Let kafka-python divide. It needs the static members first."""
    rows = [
        SimpleNamespace(
            member_id=one.name,
            group_instance_id=one.instance,
            metadata=SimpleNamespace(topics=list(one.topics)),
        )
        for one in sorted(members, key=lambda one: one.instance is None)
    ]
    assigned = RangePartitionAssignor.assign(Metadata(topics), rows)
    return {
        (member, topic, partition)
        for member, one in assigned.items()
        for topic, partitions in one.assigned_partitions
        for partition in partitions
    }


@pytest.mark.parametrize("seed", range(30))
def test_another_client_divides_in_the_same_way(seed: int) -> None:
    random = Random(seed)
    topics = {f"t{n}": random.randint(1, 9) for n in range(3)}
    members = [
        Member(
            f"m{n}",
            f"shop-{n}" if random.random() < 0.4 else None,
            tuple(random.sample(sorted(topics), random.randint(1, 3))),
        )
        for n in range(random.randint(1, 5))
    ]
    blocks = right_blocks(topics, members)
    assert all(count > 0 for *_, count in blocks)
    rows = [(m, t, n) for m, t, first, count in blocks for n in range(first, first + count)]
    assert len(rows) == len({*rows})
    assert {*rows} == by_kafka_python(topics, members)
    assert first_fault(topics, {one.name: one.topics for one in members}, rows) == ""


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([("a", "web", 0), ("a", "web", 1), ("b", "web", 2), ("b", "orders", 0)], ""),
        ([("a", "web", 0), ("b", "web", 0)], "web-0 has two members: a and b"),
        ([("a", "web", 0), ("a", "web", 0)], "web-0 has two members: a and a"),
        ([("a", "web", 0), ("a", "web", 2)], "nobody has web-1"),
        ([("a", "web", n) for n in range(3)], "nobody has orders-0"),
        ([("a", "orders", 0)], "a does not read orders"),
        ([("z", "web", 0)], "there is no member 'z'"),
        ([("a", "web", 3)], "there is no partition web-3"),
        ([("a", "clicks", 0)], "there is no partition clicks-0"),
    ],
)
def test_the_first_fault_is_said(rows: list[tuple[str, str, int]], fault: str) -> None:
    assert first_fault(TOPICS, READERS, rows) == fault


def test_a_topic_that_nobody_reads_has_no_fault() -> None:
    assert first_fault(TOPICS, {"a": ("orders",)}, [("a", "orders", 0)]) == ""


@pytest.mark.parametrize("seed", range(60))
def test_ours_keeps_as_many_partitions_as_can_stay(seed: int) -> None:
    random = Random(seed)
    topics = {"web": random.randint(1, 20), "orders": random.randint(1, 5)}
    everything = [(topic, n) for topic, count in topics.items() for n in range(count)]
    random.shuffle(everything)
    names = [f"m{n}" for n in range(random.randint(1, 6))]
    owned: dict[str, list[tuple[str, int]]] = {name: [] for name in names}
    for one in everything[: random.randint(0, len(everything))]:
        owned[random.choice(names)].append(one)
    members = [Owner(name, tuple(has), random.choice((4, 5))) for name, has in owned.items()]
    given = sticky_assign(
        topics,
        {
            one.name: MemberSubscription(
                tuple(topics), None, tuple(TopicPartition(*tp) for tp in one.owned), one.generation
            )
            for one in members
        },
    )
    claims = kept_claims(topics, members)
    kept = sum(
        (tp.topic, tp.partition) in claims[name] for name, has in given.items() for tp in has
    )
    assert kept == most_kept(topics, members)


def test_an_older_claim_and_what_is_gone_do_not_count() -> None:
    members = [Owner("a", (("web", 0), ("web", 5), ("gone", 0)), 3), Owner("b", (("web", 1),), 2)]
    assert kept_claims({"web": 3}, members) == {"a": {("web", 0)}, "b": set()}
    assert most_kept({"web": 3}, members) == 1
