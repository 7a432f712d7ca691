"""The name of one partition (Kafka: TopicPartition.java)."""

from collections.abc import Collection
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A topic and the number of one of its partitions; written `web-0`, as Kafka names the folder of its log."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def few_names(partitions: Collection[TopicPartition]) -> str:
    """Two of them by name, the rest by number: `web-0, web-1 and 4 more`. To be read by people."""
    names = ", ".join(str(tp) for tp, _ in zip(partitions, range(2), strict=False))
    return f"{names} and {len(partitions) - 2} more" if len(partitions) > 2 else names
