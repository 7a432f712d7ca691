"""Choose a partition for each record (Kafka: DefaultPartitioner.java, StickyPartitionCache.java).

All records with the same key go to the same partition, because the partition is computed from the
key by murmur2. Records without a key may go anywhere. Spreading them one by one fills many batches
slowly. So the sticky partitioner fills one partition's batch, and then chooses another partition
(KIP-480).
"""

import random
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from kafka_edu.clients.metadata import TopicInfo
from kafka_edu.common.murmur2 import partition_of_key


class Partitioner(Protocol):
    """Chooses the partition of a record that names none."""

    sticky: bool
    """Whether the choice changes when a new batch begins. If so, `on_new_batch` is called."""

    def partition(self, topic: TopicInfo, key: bytes | None, value: bytes | None) -> int: ...

    def on_new_batch(self, topic: TopicInfo, partition: int) -> None:
        """Note that a record for `partition` needs a new batch. The choice follows again."""
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
        """Choose another partition, unless another batch has changed the choice already."""
        if self._current.get(topic.topic) == partition:
            self._choose(topic, partition)

    def _choose(self, topic: TopicInfo, last: int) -> int:
        """Choose a partition that has a leader, and if possible not the last one."""
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

    It was the default up to Kafka 2.3. The first turn is chosen by chance, so that not each new
    producer begins with the same partition.
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


#: The names that partitioner.class knows. The first three are Kafka's.
PARTITIONERS: Final[Mapping[str, Callable[[random.Random], Partitioner]]] = {
    "DefaultPartitioner": DefaultPartitioner,
    "RoundRobinPartitioner": RoundRobinPartitioner,
    "UniformStickyPartitioner": UniformStickyPartitioner,
    "RandomPartitioner": RandomPartitioner,
}
