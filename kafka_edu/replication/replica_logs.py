"""Create the logs of this broker's replicas: with their topic's settings, and with the high
watermark from the log dir's checkpoint (Kafka: Partition.getOrCreateReplica).
"""

import contextlib
from collections.abc import Callable, Mapping

from kafka_edu.common.errors import KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_manager import LogManager
from kafka_edu.log.new_log import NewLog
from kafka_edu.replication.high_watermark_checkpoints import HighWatermarkCheckpoints
from kafka_edu.replication.partition import Partition

KnownHighWatermarks = dict[str, Mapping[TopicPartition, int]]
"""Log dir → the high watermarks in its checkpoint file, which is read once for each request."""


class ReplicaLogs:
    """Finds and creates logs, and attaches them to partitions. The logs belong to LogManager."""

    def __init__(
        self,
        log_manager: LogManager,
        checkpoints: HighWatermarkCheckpoints,
        topic_config: Callable[[str], LogConfig],
    ) -> None:
        """`topic_config` returns a topic's log settings. This function must not block."""
        self._log_manager = log_manager
        self._checkpoints = checkpoints
        self._topic_config = topic_config

    def exists(self, topic_partition: TopicPartition) -> bool:
        """Return whether this broker has a log for the partition."""
        return self._log_manager.get_log(topic_partition) is not None

    def has_files(self, topic_partition: TopicPartition) -> bool:
        """Return True if the replica has a log or a copy that moves to another log dir."""
        logs = self._log_manager
        return self.exists(topic_partition) or logs.get_future_log(topic_partition) is not None

    def config_of(self, topic: str) -> LogConfig:
        """Return the settings of a topic's logs."""
        return self._topic_config(topic)

    def new_log(self, topic_partition: TopicPartition, *, is_new: bool) -> NewLog:
        """Return the description from which LogManager creates the log."""
        return NewLog(topic_partition, self._topic_config(topic_partition.topic), is_new)

    def attach(self, partition: Partition, known: KnownHighWatermarks, *, is_new: bool) -> None:
        """Attach the log to its partition, with the HW from the checkpoint. Create the log if
        needed.

        Raises KAFKA_STORAGE_ERROR. If the checkpoint cannot be read, its log dir goes offline.
        """
        if partition.log is not None:
            return
        tp = partition.topic_partition
        log = self._log_manager.get_or_create_log(tp, self._topic_config(tp.topic), is_new=is_new)
        partition.attach_log(log, self._high_watermark(log, known))

    def attach_future(self, partition: Partition, known: KnownHighWatermarks) -> None:
        """Give a partition the copy of its replica that was found in another log dir, if there is
        one. A checkpoint that cannot be read takes that dir offline.
        """
        future = self._log_manager.get_future_log(partition.topic_partition)
        if future is None or partition.log is None or partition.future_log is future:
            return
        with contextlib.suppress(KafkaException):
            partition.attach_future_log(future, self._high_watermark(future, known))

    def _high_watermark(self, log: Log, known: KnownHighWatermarks) -> int:
        """Return the log's high watermark from the checkpoint of its log dir."""
        if log.log_dir not in known:
            try:
                known[log.log_dir] = self._checkpoints.read(log.log_dir)
            except KafkaException as failure:
                self._log_manager.handle_log_dir_failure(log.log_dir, OSError(failure.message))
                raise
        return known[log.log_dir].get(log.topic_partition, 0)
