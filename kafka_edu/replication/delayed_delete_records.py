"""A DeleteRecords that waits for its followers (Kafka: DelayedDeleteRecords.scala; KIP-107)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.words import joined
from kafka_edu.purgatory.delayed_operation import CompletedBy, DelayedOperation
from kafka_edu.replication.delayed_produce import ERRORS_IN_WORDS
from kafka_edu.replication.partitions import Partitions
from kafka_edu.trace.events.purgatory import Requirement

INVALID_LOW_WATERMARK: Final = -1


class DeleteRecordsStatus:
    """One partition of the request: what is asked, and what is to be answered."""

    __slots__ = ("error", "low_watermark", "pending", "required_offset")

    def __init__(self, error: Errors, required_offset: int, pending: bool) -> None:
        self.error = error
        self.required_offset = required_offset
        """Where all live replicas shall start."""
        self.pending = pending
        self.low_watermark = INVALID_LOW_WATERMARK
        """Where they all start, at least; -1 if not known."""

    @classmethod
    def failed(cls, error: Errors) -> DeleteRecordsStatus:
        return cls(error, 0, False)

    @classmethod
    def waiting(cls, required_offset: int) -> DeleteRecordsStatus:
        """REQUEST_TIMED_OUT, unless it completes in time."""
        return cls(Errors.REQUEST_TIMED_OUT, required_offset, True)


class DelayedDeleteRecords(DelayedOperation):
    """Done when for every partition the low watermark, the least log start of the leader and its
    live followers, has reached the offset asked for.

    Or when waiting is of no use: not the leader any more, unknown by now, offline. Followers tell
    their log start with each fetch; a dead follower does not count: it takes over the leader's log
    start when it comes back. What still waits when the time is up gets REQUEST_TIMED_OUT, although
    the leader's records are gone. Next hop: the handler's `respond`.
    """

    __slots__ = ("_metadata_cache", "_partitions", "_respond", "_statuses")

    def __init__(
        self,
        timeout_ms: int,
        statuses: dict[TopicPartition, DeleteRecordsStatus],
        partitions: Partitions,
        metadata_cache: MetadataCache,
        respond: Callable[[dict[TopicPartition, DeleteRecordsStatus]], None],
    ) -> None:
        super().__init__(timeout_ms)
        self._statuses = statuses
        self._partitions = partitions
        self._metadata_cache = metadata_cache
        self._respond = respond

    @property
    def label(self) -> str:
        return f"delete records of {joined(self._statuses)}"

    def try_complete(self) -> bool:
        """O(partitions × replicas)."""
        waiting = False
        for tp, status in self._statuses.items():
            if status.pending:
                try:
                    low_watermark = self._low_watermark(tp)
                except KafkaException as failure:
                    status.pending, status.error = False, failure.error
                else:
                    if low_watermark >= status.required_offset:
                        status.pending, status.error, status.low_watermark = (
                            False,
                            Errors.NONE,
                            low_watermark,
                        )
                    else:
                        waiting = True
        return not waiting and self.force_complete()

    def _low_watermark(self, tp: TopicPartition) -> int:
        live = [broker.id for broker in self._metadata_cache.get_alive_brokers()]
        return self._partitions.get_or_raise(tp).low_watermark(live)

    def on_complete(self) -> None:
        self._respond(self._statuses)

    def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
        """Return the error of the partition whose event it was, or what all replicas have done."""
        if by is not CompletedBy.EVENT:
            return by.value
        for tp, status in self._statuses.items():
            if key == tp and status.error is not Errors.NONE:
                return ERRORS_IN_WORDS.get(status.error, status.error.name)
        return "the last replica gave up the records"

    def why_waiting(self) -> tuple[Requirement, ...]:
        """For each partition that waits: the offset that the low watermark must reach."""
        waits = []
        for tp, status in self._statuses.items():
            if status.pending:
                try:
                    waits.append(
                        Requirement(
                            str(tp),
                            "low watermark",
                            status.required_offset,
                            self._low_watermark(tp),
                        )
                    )
                except KafkaException:
                    continue  # it will be told so when it looks again
        return tuple(waits)
