"""When the controller is told of changed ISRs (Kafka: ReplicaManager.maybePropagateIsrChanges)."""

from typing import Final

from kafka_edu.common.topic_partition import TopicPartition

#: How often it is looked whether to tell.
ISR_CHANGE_PROPAGATION_PERIOD_MS: Final = 2_500
ISR_CHANGE_PROPAGATION_BLACK_OUT_MS: Final = 5_000
ISR_CHANGE_PROPAGATION_INTERVAL_MS: Final = 60_000


class IsrChangePropagation:
    """Gathers partitions whose ISR changed here, and says when to tell the controller: many at
    once, for each telling costs it a read of them all.

    Told when nothing has changed for 5 s, or when nothing was told for 60 s. The look is every 2.5
    s, so a single change is told after 5 to 7.5 s. Times are monotonic ms. O(1) a change.
    """

    def __init__(self, now_ms: int) -> None:
        self._changed: dict[TopicPartition, None] = {}
        self._last_change_ms = now_ms
        self._last_propagation_ms = now_ms

    def record(self, topic_partition: TopicPartition, now_ms: int) -> None:
        self._changed[topic_partition] = None
        self._last_change_ms = now_ms

    def take_due(self, now_ms: int) -> list[TopicPartition]:
        """Take out the partitions to tell of now, sorted; empty if it is not yet time, or nothing
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
        """These could not be told; they are due at the next look after 5 s without a change."""
        self._changed.update(dict.fromkeys(topic_partitions))
