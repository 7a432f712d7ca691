"""Exercise 12-2: choose a partition as Java's DefaultPartitioner does. README.md describes the
task. `kafka-edu lab check 12-2` tests your code. `kafka-edu lab hint 12-2` gives a hint.
"""

from collections.abc import Sequence


class Partitioner:
    """Chooses the partitions of records, for all topics of a producer."""

    def __init__(self) -> None:
        """At first no topic has a sticky partition."""

    def murmur2(self, key: bytes) -> int:
        """Return the hash of a key, as Java's int with a sign."""
        raise NotImplementedError("Partitioner.murmur2 is not written yet: it returns a number")

    def partition(
        self, topic: str, key: bytes | None, partitions: int, available: Sequence[int]
    ) -> int:
        """Return the partition of a record. `key` is None for a record without a key."""
        raise NotImplementedError(
            "Partitioner.partition is not written yet: it returns a partition's number"
        )

    def new_batch(
        self, topic: str, partition: int, partitions: int, available: Sequence[int]
    ) -> None:
        """Change the topic's sticky partition if it is `partition`. Return nothing."""
        raise NotImplementedError(
            "Partitioner.new_batch is not written yet: it returns nothing, and may change the"
            " sticky partition"
        )
