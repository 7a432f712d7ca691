"""Report the log dir and the size of each replica (Kafka: ReplicaManager.describeLogDirs,
alterReplicaLogDirs; KIP-113).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log import Log
from kafka_edu.log.log_file_names import is_too_long_to_move
from kafka_edu.log.log_manager import LogManager
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.replica_alter_log_dirs_manager import ReplicaAlterLogDirsManager
from kafka_edu.replication.replica_logs import ReplicaLogs

#: The lag of a log whose partition is not served here (DescribeLogDirsResponse.INVALID_OFFSET_LAG).
INVALID_OFFSET_LAG: Final = -1


class ReplicaInfo(NamedTuple):
    """One replica in a log dir."""

    partition: int
    size: int
    """The bytes of all record batches of the replica."""
    offset_lag: int
    """The number of offsets by which the LEO is behind the HW.

    It is 0, except for a replica that does not have all committed records yet. For a copy, it is
    the number of offsets by which the copy's LEO is behind the replica's LEO. -1 if this broker
    does not serve the partition.
    """
    is_future: bool = False
    """Whether this is the copy of a replica that moves to this dir."""


class ReplicaLogDirs:
    """Reports the broker's logs by dir, and carries out orders to move them. Owned by the broker's
    loop.
    """

    def __init__(
        self,
        partitions: Partitions,
        log_manager: LogManager,
        replica_logs: ReplicaLogs,
        moves: ReplicaAlterLogDirsManager,
    ) -> None:
        self._partitions = partitions
        self._log_manager = log_manager
        self._replica_logs = replica_logs
        self._moves = moves

    def describe(
        self, wanted: set[TopicPartition] | None
    ) -> dict[str, tuple[Errors, dict[str, list[ReplicaInfo]]]]:
        """Return for each log dir: (error, topic → replicas).

        If `wanted` is None, all replicas are listed. Otherwise only the replicas of `wanted` are
        listed, and other topics have empty lists. A failed dir has the error KAFKA_STORAGE_ERROR.
        O(logs × segments).
        """
        manager = self._log_manager
        described: dict[str, tuple[Errors, dict[str, list[ReplicaInfo]]]] = {}
        for log_dir in manager.log_dirs:
            described[log_dir] = (
                Errors.NONE if log_dir in manager.live_log_dirs else Errors.KAFKA_STORAGE_ERROR,
                {},
            )
        for logs, is_future in ((manager.logs, False), (manager.future_logs, True)):
            for tp, log in logs.items():
                replicas = described[log.log_dir][1].setdefault(tp.topic, [])
                if wanted is None or tp in wanted:
                    lag = self._lag(log, is_future=is_future)
                    replicas.append(ReplicaInfo(tp.partition, log.size, lag, is_future))
        return described

    def _lag(self, log: Log, *, is_future: bool) -> int:
        """Return the offset lag of a log (Kafka: getLogEndOffsetLag)."""
        partition = self._partitions.get(log.topic_partition)
        current = partition.log if partition is not None else None
        if current is None:
            return INVALID_OFFSET_LAG
        if is_future:
            return current.log_end_offset - log.log_end_offset
        return max(current.high_watermark - log.log_end_offset, 0)

    async def alter(self, wanted: Mapping[TopicPartition, str]) -> dict[TopicPartition, Errors]:
        """Move each replica to the wanted log dir, and return an error for each partition.

        NONE means that the replica is in that dir or is being moved to it. The caller holds the
        lock of role changes.

        INVALID_TOPIC_EXCEPTION       the topic's name is too long for the name of a copy's folder
        LOG_DIR_NOT_FOUND             the broker has no such dir
        KAFKA_STORAGE_ERROR           a log dir of the broker has failed
        UNKNOWN_TOPIC_OR_PARTITION    the partition does not exist; if it comes here later, it gets
                                      the wanted dir
        REPLICA_NOT_AVAILABLE         no replica is here; if one comes later, it gets the wanted dir

        If a replica is already being moved, an order for a different dir cancels that move and
        deletes its copy. An order for the replica's current dir cancels the move, too.
        """
        errors: dict[TopicPartition, Errors] = {}
        for tp, log_dir in wanted.items():
            try:
                await self._alter(tp, log_dir)
            except KafkaException as failure:
                missing = failure.error is Errors.NOT_LEADER_OR_FOLLOWER
                errors[tp] = Errors.REPLICA_NOT_AVAILABLE if missing else failure.error
            else:
                errors[tp] = Errors.NONE
        return errors

    async def _alter(self, tp: TopicPartition, log_dir: str) -> None:
        """Order one replica into a log dir. Raises the errors of `alter`, and
        NOT_LEADER_OR_FOLLOWER for REPLICA_NOT_AVAILABLE.
        """
        manager = self._log_manager
        if is_too_long_to_move(tp):
            raise KafkaException(Errors.INVALID_TOPIC_EXCEPTION, "The topic name is too long.")
        if log_dir not in manager.log_dirs:
            raise KafkaException(
                Errors.LOG_DIR_NOT_FOUND,
                f"Log directory {log_dir} is not found in the config.",
            )
        if log_dir not in manager.live_log_dirs:
            raise KafkaException(Errors.KAFKA_STORAGE_ERROR, f"Log directory {log_dir} is offline")
        if self._partitions.is_offline(tp):
            raise KafkaException(Errors.KAFKA_STORAGE_ERROR, f"Partition {tp} is offline")
        partition = self._partitions.get(tp)
        if partition is not None:
            await self._cancel_other_move(partition, log_dir)
        manager.prefer_log_dir(tp, log_dir)
        partition = self._partitions.get_or_raise(tp)
        current, future = partition.local_log(), partition.future_log
        if current.log_dir == log_dir or future is not None:
            return
        config = self._replica_logs.config_of(tp.topic)
        created = await manager.create_future_log(tp, log_dir, config)
        if partition.log is not current:  # its dir failed meanwhile
            raise KafkaException(Errors.KAFKA_STORAGE_ERROR, f"Partition {tp} is offline")
        partition.attach_future_log(created, 0)
        self._moves.start(partition, created)

    async def _cancel_other_move(self, partition: Partition, log_dir: str) -> None:
        future = partition.future_log
        if future is not None and future.log_dir != log_dir:
            await self._moves.cancel(partition, f"the replica is wanted in {log_dir} now")
