"""The name of one partition (Kafka: TopicPartition.java)."""

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A topic and one partition's number, written `web-0`, like the folder of its log."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
