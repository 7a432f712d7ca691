"""Report the log dir and the size of each replica (Kafka: ReplicaManager.describeLogDirs,
alterReplicaLogDirs; KIP-113).
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_manager import LogManager
from kafka_edu.replication.partitions import Partitions


class ReplicaInfo(NamedTuple):
    """One replica in a log dir."""

    partition: int
    size: int
    """The bytes of all record batches of the replica."""
    offset_lag: int
    """The HW minus the LEO, but at least 0. It is above 0 only for a replica that does not have all
    committed records yet.
    """


class ReplicaLogDirs:
    """Reports which log dir holds which replicas. Owned by the broker's loop."""

    def __init__(self, partitions: Partitions, log_manager: LogManager) -> None:
        self._partitions = partitions
        self._log_manager = log_manager

    def describe(
        self, wanted: set[TopicPartition] | None
    ) -> dict[str, tuple[Errors, dict[str, list[ReplicaInfo]]]]:
        """Return for each log dir: (error, topic → replicas).

        If `wanted` is None, all replicas are listed; else only those in `wanted`, and other topics
        have empty lists. A failed dir has the error KAFKA_STORAGE_ERROR. O(logs × segments).
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
        """Return for each replica whether it is in the wanted log dir: NONE if it is, else an
        error.

        LOG_DIR_NOT_FOUND             the broker has no such log dir
        KAFKA_STORAGE_ERROR           the wanted log dir, or the replica's present one, has failed
        UNKNOWN_TOPIC_OR_PARTITION    there is no such partition
        REPLICA_NOT_AVAILABLE         this broker has no replica of it; if it gets one later, the
                                      replica will be created in the wanted log dir
        INVALID_REQUEST               the replica is in another log dir. Moving it is not
                                      implemented, and an error makes that clear
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
