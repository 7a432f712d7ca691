"""An acks=all produce request that waits for the followers (Kafka: DelayedProduce.scala; book 000
§6.3, figures 6-9 to 6-12).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.words import joined
from kafka_edu.log.log_append_info import RecordError
from kafka_edu.purgatory.delayed_operation import CompletedBy, DelayedOperation
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partition_view import waits_for_high_watermark
from kafka_edu.replication.partitions import Partitions
from kafka_edu.trace.event import Level
from kafka_edu.trace.events.purgatory import Requirement

#: The errors that end a waiting request, in words for the trace.
ERRORS_IN_WORDS: Final = {
    Errors.NOT_LEADER_OR_FOLLOWER: "not leader any more",
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "too few replicas left in the ISR",
    Errors.UNKNOWN_TOPIC_OR_PARTITION: "the partition was deleted",
    Errors.KAFKA_STORAGE_ERROR: "the disk failed",
    Errors.FENCED_LEADER_EPOCH: "new leader epoch",
}


class ProducePartitionStatus:
    """The state of one partition of a produce request: what was appended, and the result for the
    response (Kafka: PartitionResponse with its required offset).
    """

    __slots__ = (
        "acks_pending",
        "base_offset",
        "error",
        "log_append_time",
        "log_start_offset",
        "message",
        "record_errors",
        "required_offset",
    )

    def __init__(
        self,
        error: Errors,
        required_offset: int,
        base_offset: int,
        log_append_time: int,
        log_start_offset: int,
        message: str = "",
    ) -> None:
        self.error = error
        self.required_offset = required_offset
        """When the HW reaches this offset (the last record's offset + 1), the whole ISR has the
        records.
        """
        self.base_offset = base_offset
        """The offset of the first appended record; -1 if nothing was appended."""
        self.log_append_time = log_append_time
        """Wall-clock ms of the append if the topic uses LogAppendTime, else -1."""
        self.log_start_offset = log_start_offset
        self.message = message
        self.record_errors: tuple[RecordError, ...] = ()
        """The invalid records that made the leader refuse the batch (KIP-467)."""
        self.acks_pending = False

    @classmethod
    def failed(
        cls,
        error: Errors,
        message: str = "",
        log_start_offset: int = -1,
        record_errors: tuple[RecordError, ...] = (),
    ) -> ProducePartitionStatus:
        status = cls(error, 0, -1, -1, log_start_offset, message)
        status.record_errors = record_errors
        return status


ProduceResults = dict[TopicPartition, ProducePartitionStatus]


class DelayedProduce(DelayedOperation):
    """An acks=all produce request that waits until the whole ISR has its records.

    It is done when each partition's HW has reached the required offset, or the partition has an
    error that waiting cannot cure. A partition stops waiting if (A) this broker no longer leads it,
    (B) this broker no longer has it, (C) it is offline, or (D) its HW has reached the offset. In
    case (D) the error is NOT_ENOUGH_REPLICAS_AFTER_APPEND if the ISR has shrunk below
    min.insync.replicas.

    When the producer's timeout.ms is over, a partition that still waits gets REQUEST_TIMED_OUT. Its
    records stay in the leader's log. The request is watched under each of its partitions. Next hop:
    ProduceApi._respond, then ApiCall.respond, RequestChannel.send_response and the Processor.
    """

    __slots__ = ("_news", "_partitions", "_respond", "_statuses")

    def __init__(
        self,
        timeout_ms: int,
        statuses: dict[TopicPartition, ProducePartitionStatus],
        partitions: Partitions,
        respond: Callable[[dict[TopicPartition, ProducePartitionStatus]], None],
    ) -> None:
        super().__init__(timeout_ms)
        self._statuses = statuses
        self._news: Partition | None = None
        """A partition of the request that had no acknowledged acks=all produce in its leader epoch
        before; None if there is no such partition.
        """
        self._partitions = partitions
        self._respond = respond
        for status in statuses.values():
            if status.error is Errors.NONE:
                status.acks_pending = True
                status.error = Errors.REQUEST_TIMED_OUT  # replaced if it completes in time

    @property
    def label(self) -> str:
        return f"produce {joined(self._statuses)}"

    def try_complete(self) -> bool:
        """Complete the request if no partition waits any more. O(partitions of the request)."""
        waiting = False
        for tp, status in self._statuses.items():
            if status.acks_pending:
                partition = None
                try:
                    partition = self._partitions.get_or_raise(tp)
                except KafkaException as failure:
                    done, error = True, failure.error
                else:
                    done, error = partition.check_enough_replicas_reach_offset(
                        status.required_offset
                    )
                if done:
                    self._settle(status, error, partition)
                else:
                    waiting = True
        return not waiting and self.force_complete()

    def _settle(
        self, status: ProducePartitionStatus, error: Errors, partition: Partition | None
    ) -> None:
        """Set the result of one partition. `partition` is None if the broker does not have it any
        more.
        """
        status.acks_pending = False
        status.error = error
        if error is Errors.NONE and partition is not None and partition.first_ack_pending:
            self._news = partition

    def is_satisfied(self) -> bool:
        """Return whether `try_complete` would complete the request now. Nothing is changed. The
        search by seeds (`sim.seed_search`) uses this to find requests that should have been woken
        and were not.
        """
        for tp, status in self._statuses.items():
            if status.acks_pending:
                partition = self._partitions.get(tp)
                if (
                    partition is not None
                    and not partition.check_enough_replicas_reach_offset(status.required_offset)[0]
                ):
                    return False
        return True

    def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
        """Return in words why the wait ended: a time-out, the error of the partition `key`, or the
        move of its HW.
        """
        if by is not CompletedBy.EVENT:
            return by.value
        for tp, status in self._statuses.items():
            if key == tp:
                if status.error is not Errors.NONE:
                    return ERRORS_IN_WORDS.get(status.error, status.error.name)
                partition = self._partitions.get(tp)
                return partition.high_watermark.why() if partition is not None else by.value
        return by.value

    def is_news(self) -> bool:
        return self._news is not None

    def tell_cause(self, key: Hashable | None, level: Level) -> int:
        """Emit the move of the HW that completed the request. Return the event's number, or 0.

        With a `key`, the HW of that partition moved, and its produce succeeded. Without a key the
        request's own append moved the HW.
        """
        event = 0
        for tp, status in self._statuses.items():
            partition = self._partitions.get(tp)
            if partition is not None and status.error is Errors.NONE:
                partition.first_ack_pending = False
                if key is None or key == tp:
                    event = partition.emit_high_watermark(level) or event
        return event

    def on_complete(self) -> None:
        self._respond(self._statuses)

    def why_waiting(self) -> tuple[Requirement, ...]:
        """Return, for each waiting partition, the offset that the HW must reach, and the LEO of
        each replica that counts (spec D3).
        """
        waits = []
        for tp, status in self._statuses.items():
            partition = self._partitions.get(tp)
            if status.acks_pending and partition is not None:
                waits.append(waits_for_high_watermark(partition, status.required_offset))
        return tuple(waits)
