"""An acks=all produce that waits for its followers (Kafka: DelayedProduce.scala; book 000 §6.3,
figures 6-9 to 6-12).
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
from kafka_edu.replication.partitions import Partitions
from kafka_edu.trace.event import Level
from kafka_edu.trace.events.purgatory import Requirement

#: What ends waiting operations other than success, for the trace.
ERRORS_IN_WORDS: Final = {
    Errors.NOT_LEADER_OR_FOLLOWER: "not leader any more",
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "too few replicas left in the ISR",
    Errors.UNKNOWN_TOPIC_OR_PARTITION: "the partition was deleted",
    Errors.KAFKA_STORAGE_ERROR: "the disk failed",
    Errors.FENCED_LEADER_EPOCH: "new leader epoch",
}


class ProducePartitionStatus:
    """One partition of a produce request: what was appended, and what is to be answered (Kafka:
    PartitionResponse with its required offset).
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
        """The HW at which all of the ISR have the records: the offset behind the last of them."""
        self.base_offset = base_offset
        """Offset of the first record; -1 if nothing was appended."""
        self.log_append_time = log_append_time
        """Wall ms with LogAppendTime, else -1."""
        self.log_start_offset = log_start_offset
        self.message = message
        self.record_errors: tuple[RecordError, ...] = ()
        """The records that broke the batch (KIP-467)."""
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
    """Done when for every partition either the HW has reached the required offset, or there is an
    error that waiting cannot cure.

    (A) not the leader any more; (B) unknown by now; (C) offline; (D) enough replicas have it, and
    they are at least min.insync.replicas; else NOT_ENOUGH_REPLICAS_AFTER_APPEND. Partitions that
    still wait when the time (timeout.ms of the producer) is up get REQUEST_TIMED_OUT; their records
    stay in the leader's log. Watched under every partition of the request. Next hop:
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
        """The partition for which this is the first acks=all produce of a leader epoch."""
        self._partitions = partitions
        self._respond = respond
        for status in statuses.values():
            if status.error is Errors.NONE:
                status.acks_pending = True
                status.error = Errors.REQUEST_TIMED_OUT  # unless it completes in time

    @property
    def label(self) -> str:
        return f"produce {joined(self._statuses)}"

    def try_complete(self) -> bool:
        """O(partitions of the request)."""
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
        """Give one partition its final answer. `partition` is None if the broker lost it."""
        status.acks_pending = False
        status.error = error
        if error is Errors.NONE and partition is not None and partition.first_ack_pending:
            self._news = partition

    def is_satisfied(self) -> bool:
        """Return whether `try_complete` would succeed now. Changes nothing: a checker asks this to
        find a wake-up that was lost.
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
        """Return the error, if it ended for want of a leader or of replicas; else the move of the
        HW, of that partition whose event it was.
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
        """The move of the high watermark of `key` completes it, if it was successful there. Without
        a key its own append moved it.
        """
        told = 0
        for tp, status in self._statuses.items():
            partition = self._partitions.get(tp)
            if partition is not None and status.error is Errors.NONE:
                partition.first_ack_pending = False
                if key is None or key == tp:
                    told = partition.emit_high_watermark(level) or told
        return told

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
                waits.append(partition.waits_for_high_watermark(status.required_offset))
        return tuple(waits)
