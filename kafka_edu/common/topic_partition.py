"""The name of one partition: topic and partition number (Kafka: TopicPartition.java)."""

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A topic and the number of one of its partitions.

    It is written `web-0`, like the log's folder.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
