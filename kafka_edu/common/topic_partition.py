"""The name of one partition: topic and partition number (Kafka: TopicPartition.java)."""

from typing import NamedTuple


class TopicPartitionError(ValueError):
    """A text names no partition. The message says why, and what to write."""


class TopicPartition(NamedTuple):
    """A topic and the number of one of its partitions.

    Partition 0 of the topic web is written `web-0`, like the folder of its log.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @classmethod
    def parse(cls, text: str) -> "TopicPartition":
        """Return the partition that a text such as `web-0` names. A topic may contain dashes.

        Raises TopicPartitionError.
        """
        topic, dash, number = text.rpartition("-")
        if not dash:
            why = "it has no '-'"
        elif not topic:
            why = "no topic is before its last '-'"
        elif not (number.isascii() and number.isdecimal()):
            why = "no partition number is after its last '-'"
        else:
            return cls(topic, int(number))
        raise TopicPartitionError(f"'{text}' is not a partition, because {why}: write one as web-0")
