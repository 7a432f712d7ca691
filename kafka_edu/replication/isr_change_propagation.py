"""The moment to report changed ISRs to the controller (Kafka:
ReplicaManager.maybePropagateIsrChanges).
"""

from typing import Final

from kafka_edu.common.topic_partition import TopicPartition

#: The time between two checks.
ISR_CHANGE_PROPAGATION_PERIOD_MS: Final = 2_500
ISR_CHANGE_PROPAGATION_BLACK_OUT_MS: Final = 5_000
ISR_CHANGE_PROPAGATION_INTERVAL_MS: Final = 60_000


class IsrChangePropagation:
    """Gathers partitions whose ISR changed here, and decides when to report them. It reports many
    at once, because for each report the controller reads all of them.

    A report is due when nothing has changed for 5 s, or when the last report was 60 s ago. The
    check runs every 2.5 s, so a single change is reported after 5 to 7.5 s. Times are monotonic ms.
    O(1) a change.
    """

    def __init__(self, now_ms: int) -> None:
        self._changed: dict[TopicPartition, None] = {}
        self._last_change_ms = now_ms
        self._last_propagation_ms = now_ms

    def record(self, topic_partition: TopicPartition, now_ms: int) -> None:
        self._changed[topic_partition] = None
        self._last_change_ms = now_ms

    def take_due(self, now_ms: int) -> list[TopicPartition]:
        """Take out the partitions to report now, sorted. Empty if it is not yet time, or nothing
        changed.
        """
        quiet = self._last_change_ms + ISR_CHANGE_PROPAGATION_BLACK_OUT_MS < now_ms
        late = self._last_propagation_ms + ISR_CHANGE_PROPAGATION_INTERVAL_MS < now_ms
        if not self._changed or not (quiet or late):
            return []
        due = sorted(self._changed)
        self._changed.clear()
        self._last_propagation_ms = now_ms
        return due

    def put_back(self, topic_partitions: list[TopicPartition]) -> None:
        """Put back partitions that could not be reported. They are due at the next check after 5 s
        without a change.
        """
        self._changed.update(dict.fromkeys(topic_partitions))
