"""Choose a partition for each record (Kafka: DefaultPartitioner.java, StickyPartitionCache.java).

All records with the same key go to the same partition, because the partition is computed from the
key by murmur2. Records without a key may go to any partition. But if the records were spread over
all partitions, many batches would fill slowly. So the sticky partitioner fills one partition's
batch, and then chooses another partition (KIP-480).
"""

import random
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from kafka_edu.clients.metadata import TopicInfo
from kafka_edu.common.murmur2 import partition_of_key


class Partitioner(Protocol):
    """Chooses the partition for a record without a partition."""

    sticky: bool
    """Whether the choice changes when a new batch begins. If so, `on_new_batch` is called."""

    def partition(self, topic: TopicInfo, key: bytes | None, value: bytes | None) -> int: ...

    def on_new_batch(self, topic: TopicInfo, partition: int) -> None:
        """Called when a record for `partition` needs a new batch. After this, the partition is
        chosen again.
        """
        ...


class UniformStickyPartitioner:
    """Fill one partition's batch, then change to another partition. Keys are ignored."""

    sticky = True

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._current: dict[str, int] = {}

    def partition(self, topic: TopicInfo, key: bytes | None, value: bytes | None) -> int:
        current = self._current.get(topic.topic)
        return self._choose(topic, -1) if current is None else current

    def on_new_batch(self, topic: TopicInfo, partition: int) -> None:
        """Choose another partition, unless another new batch has already changed the choice."""
        if self._current.get(topic.topic) == partition:
            self._choose(topic, partition)

    def _choose(self, topic: TopicInfo, last: int) -> int:
        """Choose a partition that has a leader. If possible, do not choose `last` again."""
        available = topic.available or range(len(topic))
        others = [each for each in available if each != last]
        chosen = self._chance.choice(others or available)
        self._current[topic.topic] = chosen
        return chosen


class DefaultPartitioner(UniformStickyPartitioner):
    """Choose by the hash of the key. A record without a key goes to the sticky partition."""

    def partition(self, topic: TopicInfo, key: bytes | None, value: bytes | None) -> int:
        if key is None:
            current = self._current.get(topic.topic)
            return self._choose(topic, -1) if current is None else current
        return partition_of_key(key, len(topic))


class RoundRobinPartitioner:
    """Choose the partitions of a topic in turn, among those that have a leader."""

    sticky = False

    def __init__(self, chance: random.Random) -> None:
        self._first = 0
        self._next: dict[str, int] = {}

    def partition(self, topic: TopicInfo, key: bytes | None, value: bytes | None) -> int:
        turn = self._next.get(topic.topic, self._first)
        self._next[topic.topic] = turn + 1
        available = topic.available or range(len(topic))
        return available[turn % len(available)]

    def on_new_batch(self, topic: TopicInfo, partition: int) -> None: ...


class HashOrTurnPartitioner(RoundRobinPartitioner):
    """Choose by the hash of the key. A record without a key goes to the partitions in turn.

    This was the default up to Kafka 2.3. The first partition is random, so that new producers do
    not all begin with the same one.
    """

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self._first = chance.randrange(1 << 16)

    def partition(self, topic: TopicInfo, key: bytes | None, value: bytes | None) -> int:
        if key is None:
            return super().partition(topic, key, value)
        return partition_of_key(key, len(topic))


class RandomPartitioner:
    """Choose any partition that has a leader."""

    sticky = False

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def partition(self, topic: TopicInfo, key: bytes | None, value: bytes | None) -> int:
        return self._chance.choice(topic.available or range(len(topic)))

    def on_new_batch(self, topic: TopicInfo, partition: int) -> None: ...


PartitionFunction = Callable[[str, bytes | None, bytes | None, int], int]
"""A partitioner as a function of topic, key, value and the number of partitions."""


class FunctionPartitioner:
    """Choose by the user's own function."""

    sticky = False

    def __init__(self, function: PartitionFunction) -> None:
        self._function = function

    def partition(self, topic: TopicInfo, key: bytes | None, value: bytes | None) -> int:
        return self._function(topic.topic, key, value, len(topic))

    def on_new_batch(self, topic: TopicInfo, partition: int) -> None: ...


#: The possible values of partitioner.class. The first three names are Kafka's.
PARTITIONERS: Final[Mapping[str, Callable[[random.Random], Partitioner]]] = {
    "DefaultPartitioner": DefaultPartitioner,
    "RoundRobinPartitioner": RoundRobinPartitioner,
    "UniformStickyPartitioner": UniformStickyPartitioner,
    "RandomPartitioner": RandomPartitioner,
}
