"""A DeleteRecords request that waits for the followers (Kafka: DelayedDeleteRecords.scala;
KIP-107).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Final

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.words import joined
from kafka_edu.purgatory.delayed_operation import CompletedBy, DelayedOperation
from kafka_edu.replication.delayed_produce import ERRORS_IN_WORDS
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions
from kafka_edu.trace.events.purgatory import Requirement

INVALID_LOW_WATERMARK: Final = -1


def low_watermark(partition: Partition, live_brokers: Iterable[int]) -> int:
    """Return the least log start offset of the leader and its live followers.

    All live replicas have deleted the records below it (DeleteRecords).
    """
    live = set(live_brokers)
    starts = [f.log_start_offset for f in partition.followers if f.broker_id in live]
    return min([partition.log_for_request(-1, True).log_start_offset, *starts])


class DeleteRecordsStatus:
    """The state of one partition of the request: the required offset, and the result for the
    response.
    """

    __slots__ = ("error", "low_watermark", "pending", "required_offset")

    def __init__(self, error: Errors, required_offset: int, pending: bool) -> None:
        self.error = error
        self.required_offset = required_offset
        """The logs of all live replicas must start at this offset or above it."""
        self.pending = pending
        self.low_watermark = INVALID_LOW_WATERMARK
        """The lowest log start offset of all live replicas, for the response; -1 if it is not
        known.
        """

    @classmethod
    def failed(cls, error: Errors) -> DeleteRecordsStatus:
        return cls(error, 0, False)

    @classmethod
    def waiting(cls, required_offset: int) -> DeleteRecordsStatus:
        """Return the state of a partition that waits. Its error is REQUEST_TIMED_OUT until it is
        done.
        """
        return cls(Errors.REQUEST_TIMED_OUT, required_offset, True)


class DelayedDeleteRecords(DelayedOperation):
    """A DeleteRecords request that waits until the live replicas have deleted the records.

    The low watermark is the least log start offset of the leader and its live followers. The
    request is done when each partition's low watermark has reached the required offset. A partition
    also stops waiting if this broker no longer leads it, no longer has it, or has taken it offline.

    Followers report their log start with each fetch. A dead follower does not count, because it
    takes over the leader's log start when it comes back. A partition that still waits at the
    time-out gets REQUEST_TIMED_OUT, although the leader has deleted its records. Next hop: the
    handler's `respond`.
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
        """Complete the request if no partition waits any more. O(partitions × replicas)."""
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
        return low_watermark(self._partitions.get_or_raise(tp), live)

    def on_complete(self) -> None:
        self._respond(self._statuses)

    def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
        """Return in words why the wait ended: a time-out, the error of the partition `key`, or
        success.
        """
        if by is not CompletedBy.EVENT:
            return by.value
        for tp, status in self._statuses.items():
            if key == tp and status.error is not Errors.NONE:
                return ERRORS_IN_WORDS.get(status.error, status.error.name)
        return "the last replica gave up the records"

    def why_waiting(self) -> tuple[Requirement, ...]:
        """Return, for each partition that still waits, the offset that its low watermark must
        reach.
        """
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
                    continue  # its next `try_complete` will find this error
        return tuple(waits)
