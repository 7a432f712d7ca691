"""Each partitioner chooses as Kafka's does."""

import random

from kafka_edu.clients.metadata import PartitionInfo, TopicInfo
from kafka_edu.clients.producer.partitioners import (
    DefaultPartitioner,
    FunctionPartitioner,
    RandomPartitioner,
    RoundRobinPartitioner,
    UniformStickyPartitioner,
    partition_of_key,
)


def topic(*leaders: int) -> TopicInfo:
    return TopicInfo("t", [PartitionInfo(p, leader, 0) for p, leader in enumerate(leaders)])


def test_a_key_decides_even_without_a_leader() -> None:
    info = topic(1, -1, -1)
    default = DefaultPartitioner(random.Random(0))
    keys = [str(i).encode() for i in range(100)]
    assert [default.partition(info, key, None) for key in keys] == [
        partition_of_key(key, 3) for key in keys
    ]
    assert {default.partition(info, key, None) for key in keys} == {0, 1, 2}


def test_without_a_key_one_partition_until_a_new_batch() -> None:
    info = topic(1, 2, 3)
    for kind in (DefaultPartitioner, UniformStickyPartitioner):
        sticky = kind(random.Random(1))
        first = sticky.partition(info, None, b"v")
        assert {sticky.partition(info, None, b"v") for _ in range(20)} == {first}
        sticky.on_new_batch(info, first)
        second = sticky.partition(info, None, b"v")
        assert second != first
        sticky.on_new_batch(info, first)  # another batch of the first partition is old news
        assert sticky.partition(info, None, b"v") == second


def test_sticky_uses_partitions_with_a_leader() -> None:
    sticky = UniformStickyPartitioner(random.Random(2))
    info = topic(-1, 4, -1)
    for _ in range(5):
        chosen = sticky.partition(info, b"key", None)
        assert chosen == 1
        sticky.on_new_batch(info, chosen)
    nowhere = topic(-1, -1)
    assert UniformStickyPartitioner(random.Random(2)).partition(nowhere, None, None) in (0, 1)


def test_round_robin_takes_turns_among_partitions_with_a_leader() -> None:
    robin = RoundRobinPartitioner(random.Random(0))
    assert [robin.partition(topic(1, -1, 1), b"k", None) for _ in range(4)] == [0, 2, 0, 2]


def test_random_uses_every_partition_with_a_leader() -> None:
    anywhere = RandomPartitioner(random.Random(3))
    assert {anywhere.partition(topic(1, -1, 1), None, None) for _ in range(50)} == {0, 2}


def test_an_own_function_gets_topic_key_value_and_count() -> None:
    seen: list[tuple[str, bytes | None, bytes | None, int]] = []

    def own(name: str, key: bytes | None, value: bytes | None, count: int) -> int:
        seen.append((name, key, value, count))
        return 1

    assert FunctionPartitioner(own).partition(topic(1, 1), b"k", b"v") == 1
    assert seen == [("t", b"k", b"v", 2)]
