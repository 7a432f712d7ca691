"""Append records as leader. With acks=all, wait for the followers (Kafka:
ReplicaManager.appendRecords).

    append to each log → acks 0 or 1: respond now
                       → acks all: a DelayedProduce waits until the HW has passed, or time is up

Previous hop of a request: apis/produce. Next hops: Partition, then DelayedProduce.
"""

from collections.abc import Callable
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log_validator import RecordValidationError
from kafka_edu.purgatory.delayed_operation import Requester
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.replication.delayed_produce import (
    DelayedProduce,
    ProducePartitionStatus,
    ProduceResults,
)
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions

#: The produce errors whose response carries no log start offset (-1 instead): the partition is
#: unknown, or the request was refused before the log was read (Kafka: appendToLocalLog).
REFUSED_UNSEEN: Final = frozenset(
    {
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.MESSAGE_TOO_LARGE,
        Errors.RECORD_LIST_TOO_LARGE,
        Errors.CORRUPT_MESSAGE,
        Errors.KAFKA_STORAGE_ERROR,
    }
)


class Append:
    """Append records to logs as leader: the records of producers, and the records of this broker's
    own coordinators.
    """

    def __init__(
        self,
        partitions: Partitions,
        purgatory: DelayedOperationPurgatory[DelayedProduce],
        time: Time,
    ) -> None:
        self.purgatory = purgatory
        self._partitions = partitions
        self._time = time

    def append_records(
        self,
        timeout_ms: int,
        required_acks: int,
        entries: dict[TopicPartition, Buffer],
        respond: Callable[[ProduceResults], None],
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        on_failure: Callable[[Exception], None] | None = None,
        requester: Requester | None = None,
    ) -> None:
        """Append each partition's records as leader, and call `respond` once with the results.

        With acks 0 or 1 `respond` is called at once. With acks=all (-1) it is called when the whole
        ISR has the records, or after `timeout_ms`.

        `origin` says whether a client or one of this broker's coordinators appends. `on_failure` is
        called if a bug raises an exception while the request waits (DelayedOperation.fail).
        `requester` describes the request, for the display of waiting operations. With acks other
        than -1, 0 and 1 every partition gets INVALID_REQUIRED_ACKS. An error of one partition does
        not affect the others.
        """
        if required_acks not in (-1, 0, 1):
            respond(
                {tp: ProducePartitionStatus.failed(Errors.INVALID_REQUIRED_ACKS) for tp in entries}
            )
            return
        appended: list[tuple[Partition, bool]] = []
        try:
            results = self._append_to_logs(entries, required_acks, origin, appended)
            if required_acks == -1 and appended:
                operation = DelayedProduce(timeout_ms, results, self._partitions, respond)
                operation.on_failure = on_failure
                operation.requester = requester
                self.purgatory.try_complete_else_watch(operation, tuple(results))
            else:
                respond(results)
        finally:  # even after a failure: requests may wait for the appended records
            for partition, advanced in appended:
                partition.wake_after_append(advanced)

    def _append_to_logs(
        self,
        entries: dict[TopicPartition, Buffer],
        required_acks: int,
        origin: AppendOrigin,
        appended: list[tuple[Partition, bool]],
    ) -> ProduceResults:
        """Append each partition's records, and return the result of each partition.

        `appended` is filled with (partition, whether its HW moved) for every partition that was
        written.
        """
        now_ms, wall_ms = self._time.hi_res_clock_ms(), self._time.milliseconds()
        results: ProduceResults = {}
        for tp, records in entries.items():
            try:
                partition = self._partitions.get_or_raise(tp)
                info, advanced = partition.append_records_to_leader(
                    records, required_acks, now_ms, wall_ms, origin
                )
            except KafkaException as failure:
                results[tp] = self._refused(tp, failure)
                if failure.error is Errors.KAFKA_STORAGE_ERROR:
                    self._partitions.storage_failed(tp, failure)
            else:
                appended.append((partition, advanced))
                results[tp] = ProducePartitionStatus(
                    Errors.NONE,
                    info.last_offset + 1,
                    info.first_offset,
                    info.log_append_time,
                    info.log_start_offset,
                )
        return results

    def _refused(self, tp: TopicPartition, failure: KafkaException) -> ProducePartitionStatus:
        seen = isinstance(failure, RecordValidationError)
        record_errors = failure.record_errors if isinstance(failure, RecordValidationError) else ()
        unseen = failure.error in REFUSED_UNSEEN and not seen
        partition = None if unseen else self._partitions.get(tp)
        log_start_offset = partition.log_start_offset if partition is not None else -1
        return ProducePartitionStatus.failed(
            failure.error, failure.message, log_start_offset, record_errors
        )
