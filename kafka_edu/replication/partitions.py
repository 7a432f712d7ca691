"""All partitions that have a replica on this broker (Kafka: ReplicaManager.allPartitions and its
HostedPartition).

    unknown ──add──> online ──take_offline──> offline
       ^                │                        │
       └────────────────┴────────remove──────────┘

All other parts of replication (appending, fetching, deleting records, and the controller's
requests) use `Partitions`, and `Partitions` uses none of them. Next hop: Partition.
"""

from collections.abc import Callable, Iterable, Iterator

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_manager import LogManager
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partition_view import PartitionSampler, partition_snapshot
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.replication import PartitionOffline
from kafka_edu.trace.tracer import Tracer


class Partitions:
    """The broker's partitions, in the order in which the controller first named them."""

    def __init__(
        self, metadata_cache: MetadataCache, log_manager: LogManager, trace: Tracer | None = None
    ) -> None:
        self._metadata_cache = metadata_cache
        self._log_manager = log_manager
        self._trace = trace
        self._online: dict[TopicPartition, Partition] = {}
        self._offline: dict[TopicPartition, None] = {}
        self._on_offline: list[Callable[[TopicPartition], None]] = []
        self._sampler = PartitionSampler()
        if trace:
            trace.on_snapshot(self._snapshots)
            trace.on_gauges(lambda: self._sampler.sample(list(self._online.values())))

    def __iter__(self) -> Iterator[Partition]:
        """Iterate over a copy of the online partitions, so partitions may be removed during the
        iteration.
        """
        return iter(list(self._online.values()))

    def get(self, topic_partition: TopicPartition) -> Partition | None:
        """Return the partition if this broker has an online replica of it, else None. O(1)."""
        return self._online.get(topic_partition)

    def get_or_raise(self, topic_partition: TopicPartition) -> Partition:
        """Return the partition if this broker has an online replica of it. O(1).

        Raises KAFKA_STORAGE_ERROR if its disk failed, NOT_LEADER_OR_FOLLOWER if only other brokers
        have replicas of it, and UNKNOWN_TOPIC_OR_PARTITION if it does not exist.
        """
        partition = self._online.get(topic_partition)
        if partition is None:
            if topic_partition in self._offline:
                raise KafkaException(Errors.KAFKA_STORAGE_ERROR)
            known = self._metadata_cache.contains(topic_partition)
            raise KafkaException(
                Errors.NOT_LEADER_OR_FOLLOWER if known else Errors.UNKNOWN_TOPIC_OR_PARTITION
            )
        return partition

    def is_offline(self, topic_partition: TopicPartition) -> bool:
        """Return whether the partition is offline because its disk has failed."""
        return topic_partition in self._offline

    def add(self, partition: Partition) -> None:
        """Add a partition of which this broker now has a replica."""
        self._online[partition.topic_partition] = partition

    def remove(self, topic_partition: TopicPartition) -> Partition | None:
        """Remove a partition whose replica here is deleted. Return it if it was online."""
        self._offline.pop(topic_partition, None)
        return self._pop(topic_partition)

    def on_offline(self, notify: Callable[[TopicPartition], None]) -> None:
        """From now on call `notify` for each partition that goes offline."""
        self._on_offline.append(notify)

    def take_offline(self, topic_partition: TopicPartition) -> None:
        """Take a partition offline because its disk failed. Waiting requests end with an error."""
        if topic_partition in self._offline:
            return
        self._offline[topic_partition] = None
        partition = self._pop(topic_partition)
        if partition is not None:
            partition.delete()
        if self._trace:
            tp = topic_partition
            self._trace(PartitionOffline(topic=tp.topic, partition=tp.partition))
        for notify in self._on_offline:
            notify(topic_partition)

    def storage_failed(self, topic_partition: TopicPartition, failure: KafkaException) -> None:
        """Take a partition offline after a read or a write of its log failed.

        The log manager takes the partition's whole log dir offline.
        """
        partition = self._online.get(topic_partition)
        if partition is not None and partition.log is not None:
            cause = failure.__cause__
            self._log_manager.handle_log_dir_failure(
                partition.log.log_dir,
                cause if isinstance(cause, OSError) else OSError(failure.message),
            )
        self.take_offline(topic_partition)

    def _snapshots(self) -> Iterable[Event]:
        return [s for p in self._online.values() if (s := partition_snapshot(p)) is not None]

    def _pop(self, topic_partition: TopicPartition) -> Partition | None:
        partition = self._online.pop(topic_partition, None)
        if partition is not None:
            self._sampler.forget(partition)
        return partition
