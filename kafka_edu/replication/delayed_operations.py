"""What waits for one partition (Kafka: DelayedOperations in Partition.scala)."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Final, Protocol

from kafka_edu.common.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kafka_edu.replication.reader_at_end import ReaderAtEnd

_FEW: Final = 8
"""Readers that rest here, above which those of sessions that have ended are sought out."""


class Wakes(Protocol):
    """A purgatory, as far as one who wakes its operations needs it."""

    def check_and_complete(self, key: Hashable) -> int:
        """Let those that wait for `key` see whether they are done; returns how many completed."""
        ...


class DelayedOperations:
    """Wakes the operations that wait for one partition: produce by a higher HW; fetch by a higher
    HW (consumers) or LEO (followers); DeleteRecords by a higher low watermark. Readers that rest
    are woken with the fetches, each once.
    """

    __slots__ = ("_delete_records", "_fetch", "_produce", "_topic_partition", "resting")

    def __init__(
        self, topic_partition: TopicPartition, produce: Wakes, fetch: Wakes, delete_records: Wakes
    ) -> None:
        self._topic_partition = topic_partition
        self._produce = produce
        self._fetch = fetch
        self._delete_records = delete_records
        self.resting: list[ReaderAtEnd] = []

    def let_rest(self, reader: "ReaderAtEnd") -> None:
        """Wake `reader` when something changes."""
        if len(self.resting) >= _FEW:
            self.resting = [other for other in self.resting if other.rests]
        self.resting.append(reader)

    def wake_resting(self) -> None:
        """Each session looks again at this partition; a fetch of it that waits may be done."""
        if self.resting:
            woken, self.resting = self.resting, []
            for key in [reader.wake() for reader in woken]:
                self._fetch.check_and_complete(key)

    def check_and_complete_fetch(self) -> None:
        """The log end has moved: followers may have something to read."""
        self._fetch.check_and_complete(self._topic_partition)
        self.wake_resting()

    def check_and_complete_all(self) -> None:
        """The high watermark or the leadership has moved."""
        self._fetch.check_and_complete(self._topic_partition)
        self.wake_resting()
        self._produce.check_and_complete(self._topic_partition)
        self._delete_records.check_and_complete(self._topic_partition)

    def check_and_complete_delete_records(self) -> None:
        """A follower's log starts later than before."""
        self._delete_records.check_and_complete(self._topic_partition)
