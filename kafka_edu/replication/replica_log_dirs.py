"""The log dir and the size of each replica (Kafka: ReplicaManager.describeLogDirs,
alterReplicaLogDirs; KIP-113).
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_manager import LogManager
from kafka_edu.replication.partitions import Partitions


class ReplicaInfo(NamedTuple):
    """One replica on a disk."""

    partition: int
    size: int
    """Bytes of batches."""
    offset_lag: int
    """How far the LEO is behind the HW. 0, except for a replica that has yet to catch up with the
    committed records.
    """


class ReplicaLogDirs:
    """A view of the broker's logs by dir. Owned by the broker's loop."""

    def __init__(self, partitions: Partitions, log_manager: LogManager) -> None:
        self._partitions = partitions
        self._log_manager = log_manager

    def describe(
        self, wanted: set[TopicPartition] | None
    ) -> dict[str, tuple[Errors, dict[str, list[ReplicaInfo]]]]:
        """log dir → (error, topic → replicas). `wanted` None: all; else other topics have empty
        lists. KAFKA_STORAGE_ERROR for a dir that failed.

        O(logs × segments).
        """
        manager = self._log_manager
        described: dict[str, tuple[Errors, dict[str, list[ReplicaInfo]]]] = {}
        for log_dir in manager.log_dirs:
            described[log_dir] = (
                Errors.NONE if log_dir in manager.live_log_dirs else Errors.KAFKA_STORAGE_ERROR,
                {},
            )
        for tp, log in manager.logs.items():
            replicas = described[log.log_dir][1].setdefault(tp.topic, [])
            if wanted is None or tp in wanted:
                partition = self._partitions.get(tp)
                high_watermark = (
                    partition.high_watermark.offset if partition is not None else log.log_end_offset
                )
                replicas.append(
                    ReplicaInfo(tp.partition, log.size, max(high_watermark - log.log_end_offset, 0))
                )
        return described

    def alter(self, wanted: Mapping[TopicPartition, str]) -> dict[TopicPartition, Errors]:
        """Return an error for each replica that is wanted in a log dir; NONE if it is there.

        LOG_DIR_NOT_FOUND             the broker has no such dir
        KAFKA_STORAGE_ERROR           that dir, or the replica's own, has failed
        UNKNOWN_TOPIC_OR_PARTITION    there is no such partition
        REPLICA_NOT_AVAILABLE         no replica is here; if one comes, it will be created there
        INVALID_REQUEST               it lies in another dir: a move is not built yet, and nobody
                                      should think that it has begun
        """
        return {tp: self._check(tp, log_dir) for tp, log_dir in wanted.items()}

    def _check(self, tp: TopicPartition, log_dir: str) -> Errors:
        manager = self._log_manager
        if log_dir not in manager.log_dirs:
            return Errors.LOG_DIR_NOT_FOUND
        if log_dir not in manager.live_log_dirs:
            return Errors.KAFKA_STORAGE_ERROR
        try:
            log = self._partitions.get_or_raise(tp).local_log()
        except KafkaException as failure:
            if failure.error is not Errors.NOT_LEADER_OR_FOLLOWER:
                return failure.error
            manager.prefer_log_dir(tp, log_dir)
            return Errors.REPLICA_NOT_AVAILABLE
        return Errors.NONE if log.log_dir == log_dir else Errors.INVALID_REQUEST
