"""What waits for one partition (Kafka: DelayedOperations in Partition.scala)."""

from typing import Protocol

from kafka_edu.common.topic_partition import TopicPartition


class Wakes(Protocol):
    """A purgatory, as far as one who wakes its operations needs it."""

    def check_and_complete(self, key: TopicPartition) -> int:
        """Let those that wait for `key` see whether they are done; returns how many completed."""
        ...


class DelayedOperations:
    """Wakes the operations that wait for one partition: produce by a higher HW; fetch by a higher HW (consumers) or LEO (followers); DeleteRecords by a
    higher low watermark."""

    __slots__ = ("_delete_records", "_fetch", "_produce", "_topic_partition")

    def __init__(self, topic_partition: TopicPartition, produce: Wakes, fetch: Wakes, delete_records: Wakes) -> None:
        self._topic_partition = topic_partition
        self._produce = produce
        self._fetch = fetch
        self._delete_records = delete_records

    def check_and_complete_fetch(self) -> None:
        """The log end has moved: followers may have something to read."""
        self._fetch.check_and_complete(self._topic_partition)

    def check_and_complete_all(self) -> None:
        """The high watermark or the leadership has moved."""
        self._fetch.check_and_complete(self._topic_partition)
        self._produce.check_and_complete(self._topic_partition)
        self._delete_records.check_and_complete(self._topic_partition)

    def check_and_complete_delete_records(self) -> None:
        """A follower's log starts later than before."""
        self._delete_records.check_and_complete(self._topic_partition)
