"""Delete records as leader, and wait until the followers have deleted them too (Kafka:
ReplicaManager.deleteRecords; KIP-107).
"""

from collections.abc import Callable, Mapping
from typing import Final

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic import is_internal
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.purgatory.delayed_operation import Requester
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.replication.delayed_delete_records import DelayedDeleteRecords, DeleteRecordsStatus
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions

#: The offset -1 in a DeleteRecords request: delete all committed records
#: (DeleteRecordsRequest.HIGH_WATERMARK).
DELETE_TO_HIGH_WATERMARK: Final = -1


def delete_records_on_leader(partition: Partition, offset: int) -> int:
    """Delete the records below `offset` (-1: below the HW), and return the resulting offset.

    The followers learn the new log start with their next fetch. Raises NOT_LEADER_OR_FOLLOWER,
    POLICY_VIOLATION (cleanup.policy is not delete), and OFFSET_OUT_OF_RANGE (negative, or above
    the HW).
    """
    log = partition.log_for_request(-1, True)
    wanted = log.high_watermark if offset == DELETE_TO_HIGH_WATERMARK else offset
    if wanted < 0:
        raise KafkaException(
            Errors.OFFSET_OUT_OF_RANGE,
            f"there is no offset {wanted} in {partition.topic_partition}",
        )
    if not log.config.delete:
        raise KafkaException(
            Errors.POLICY_VIOLATION,
            f"the cleanup.policy of {partition.topic_partition} does not allow to delete records",
        )
    log.maybe_increment_log_start_offset(wanted)
    return wanted


class DeleteRecords:
    """Delete all records below an offset. Next hops: Partition, then DelayedDeleteRecords."""

    def __init__(
        self,
        partitions: Partitions,
        purgatory: DelayedOperationPurgatory[DelayedDeleteRecords],
        metadata_cache: MetadataCache,
    ) -> None:
        self.purgatory = purgatory
        self._partitions = partitions
        self._metadata_cache = metadata_cache

    def delete_records(
        self,
        timeout_ms: int,
        offsets: Mapping[TopicPartition, int],
        respond: Callable[[dict[TopicPartition, DeleteRecordsStatus]], None],
        on_failure: Callable[[Exception], None] | None = None,
        requester: Requester | None = None,
    ) -> None:
        """Delete each partition's records below its offset in `offsets`; -1 means the HW.

        `respond` is called when the logs of all live replicas start at these offsets or above them,
        or after `timeout_ms`.
        """
        statuses: dict[TopicPartition, DeleteRecordsStatus] = {}
        for tp, offset in offsets.items():
            try:
                if is_internal(tp.topic):
                    raise KafkaException(
                        Errors.INVALID_TOPIC_EXCEPTION,
                        f"records of the internal topic {tp.topic} cannot be deleted",
                    )
                statuses[tp] = DeleteRecordsStatus.waiting(
                    delete_records_on_leader(self._partitions.get_or_raise(tp), offset)
                )
            except KafkaException as failure:
                statuses[tp] = DeleteRecordsStatus.failed(failure.error)
                if failure.error is Errors.KAFKA_STORAGE_ERROR:
                    self._partitions.storage_failed(tp, failure)
        operation = DelayedDeleteRecords(
            timeout_ms, statuses, self._partitions, self._metadata_cache, respond
        )
        operation.on_failure = on_failure
        operation.requester = requester
        if statuses:
            self.purgatory.try_complete_else_watch(operation, tuple(statuses))
        else:
            respond(statuses)
