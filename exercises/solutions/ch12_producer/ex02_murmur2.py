"""Exercise 12-2: the reference solution (Kafka: Utils.murmur2, DefaultPartitioner.java,
StickyPartitionCache.java; KIP-480).
"""

import random
from collections.abc import Sequence

M = 0x5BD1E995
BITS = 0xFFFFFFFF


class Partitioner:
    """Chooses the partitions of records, for all topics of a producer."""

    def __init__(self) -> None:
        self.sticky: dict[str, int] = {}

    def murmur2(self, key: bytes) -> int:
        """Return the hash of a key, as Java's int with a sign."""
        h = 0x9747B28C ^ len(key)
        whole = len(key) // 4 * 4
        for at in range(0, whole, 4):
            k = int.from_bytes(key[at : at + 4], "little") * M & BITS
            k = (k ^ k >> 24) * M & BITS
            h = h * M & BITS ^ k
        if whole < len(key):
            h = (h ^ int.from_bytes(key[whole:], "little")) * M & BITS
        h = (h ^ h >> 13) * M & BITS
        h ^= h >> 15
        return h - 2**32 if h >= 2**31 else h

    def partition(
        self, topic: str, key: bytes | None, partitions: int, available: Sequence[int]
    ) -> int:
        """Return the partition of a record."""
        if key is not None:
            return (self.murmur2(key) & 0x7FFFFFFF) % partitions
        if topic not in self.sticky:
            self.choose(topic, -1, partitions, available)
        return self.sticky[topic]

    def new_batch(
        self, topic: str, partition: int, partitions: int, available: Sequence[int]
    ) -> None:
        """Change the topic's sticky partition if it is `partition`."""
        if self.sticky.get(topic) == partition:
            self.choose(topic, partition, partitions, available)

    def choose(self, topic: str, last: int, partitions: int, available: Sequence[int]) -> None:
        """Choose a sticky partition that is not the last one, if there is a choice."""
        able = available or range(partitions)
        others = [one for one in able if one != last]
        self.sticky[topic] = random.choice(others or able)
