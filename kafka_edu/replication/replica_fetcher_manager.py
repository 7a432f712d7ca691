"""Manage the fetchers: one or more for each leader from which this broker fetches (Kafka:
AbstractFetcherManager.scala, ReplicaFetcherManager.scala).
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_edu.cluster.leader_and_isr import NO_LEADER
from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.tasks import OnFailure, report_failure
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import Transport
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.replica_fetcher import ReplicaFetcher
from kafka_edu.replication.replica_fetcher_thread import ReplicaFetcherThread
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.replication.replication_quota_manager import ReplicationQuotaManager
from kafka_edu.replication.truncation import TruncatesLogs
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.replication import FetcherSnapshot, FetcherStarted, FetcherStopped
from kafka_edu.trace.tracer import Tracer


def fetcher_id(topic_partition: TopicPartition, num_fetchers: int) -> int:
    """Spread partitions over fetchers as Kafka does: by 31 × (Java's hash of the topic) + partition
    (AbstractFetcherManager.getFetcherId).
    """
    if num_fetchers == 1:
        return 0
    topic_hash = 0
    for char in topic_partition.topic:
        topic_hash = (31 * topic_hash + ord(char)) & 0xFFFFFFFF
    return ((31 * topic_hash + topic_partition.partition) & 0x7FFFFFFF) % num_fetchers


class FetcherKey(NamedTuple):
    """Names one fetcher: the leader's broker id, and a number below num.replica.fetchers."""

    leader: int
    fetcher_id: int


class _Running(NamedTuple):
    thread: ReplicaFetcherThread
    task: asyncio.Task[None]


class ReplicaFetcherManager:
    """Starts a fetcher when it gets its first partition, and stops it when it has no partition
    left.

    Owned by the broker's loop.
    """

    def __init__(
        self,
        config: ReplicationConfig,
        time: Time,
        transport: Transport,
        logs: TruncatesLogs,
        partitions: Partitions,
        metadata_cache: MetadataCache,
        quota: ReplicationQuotaManager,
        on_failure: OnFailure,
        trace: Tracer | None = None,
    ) -> None:
        """`quota` limits what this broker fetches as a follower."""
        self._config = config
        self._quota = quota
        self._num_fetchers = config.num_replica_fetchers
        self._time = time
        self._transport = transport
        self._logs = logs
        self._metadata_cache = metadata_cache
        self._on_failure = on_failure
        self._trace = trace
        self._partitions = partitions
        self._fetchers: dict[FetcherKey, _Running] = {}
        self._of: dict[TopicPartition, FetcherKey] = {}
        self._live_leaders: dict[int, tuple[str, int]] = {}
        self._broker_is_leaving = False
        self._stopping: dict[asyncio.Task[None], None] = {}
        if trace:
            trace.on_snapshot(self._snapshot)

    def begin_shutdown(self) -> None:
        """Follow no new partition from now on, because the broker will stop soon (Kafka:
        isShuttingDown in makeFollowers).

        Otherwise the broker would join the ISR again within milliseconds as a follower. Then it
        would stop, and every acks=all produce would wait for it.
        """
        self._broker_is_leaving = True

    def add_fetcher_for_partitions(
        self, partitions: Sequence[Partition], live_leaders: Mapping[int, tuple[str, int]]
    ) -> None:
        """Fetch these partitions from their leaders from now on.

        A partition without a leader (-1) is not fetched until the controller names a leader.
        `live_leaders` maps broker ids to (host, port).
        """
        if self._broker_is_leaving:
            return
        self._live_leaders.update(live_leaders)
        for partition in partitions:
            if partition.leader == NO_LEADER or partition.log is None:
                continue
            key = FetcherKey(partition.leader, self._fetcher_id(partition.topic_partition))
            running = self._fetchers.get(key)
            if running is None:
                running = self._fetchers[key] = self._start(key)
            running.thread.fetcher.add(partition)
            running.thread.partitions_changed()
            self._of[partition.topic_partition] = key

    def remove_fetcher_for_partitions(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """Stop fetching these partitions. After this call no more records are appended to them."""
        for tp in topic_partitions:
            key = self._of.pop(tp, None)
            if key is not None:
                self._fetchers[key].thread.fetcher.remove([tp])

    def resize(self, num_replica_fetchers: int, followed: Sequence[Partition]) -> None:
        """Set num.replica.fetchers.

        The followed partitions are removed from their fetchers and are spread over the new number
        of fetchers. There they start again, like partitions that are followed for the first time.
        """
        self.remove_fetcher_for_partitions([partition.topic_partition for partition in followed])
        self._num_fetchers = num_replica_fetchers
        self.add_fetcher_for_partitions(followed, {})
        self.shutdown_idle_fetcher_threads()

    def shutdown_idle_fetcher_threads(self) -> None:
        """Stop the fetchers that have no partition."""
        for key, running in list(self._fetchers.items()):
            if not len(running.thread.fetcher):
                self._stop(key, running)

    def _fetcher_id(self, tp: TopicPartition) -> int:
        return fetcher_id(tp, self._num_fetchers)

    def _end_point(self, leader: int) -> tuple[str, int] | None:
        """Return the leader's (host, port) from the metadata cache, else from the controller's last
        request.
        """
        end_point = self._metadata_cache.get_alive_end_point(
            leader, self._config.inter_broker_listener_name
        )
        return (end_point.host, end_point.port) if end_point else self._live_leaders.get(leader)

    def _start(self, key: FetcherKey) -> _Running:
        fetcher = ReplicaFetcher(
            key.leader, self._config, self._logs, self._partitions, self._quota, self._trace
        )
        thread = ReplicaFetcherThread(
            fetcher,
            key.fetcher_id,
            self._config,
            self._time,
            self._transport,
            lambda: self._end_point(key.leader),
            self._trace,
        )
        task = asyncio.get_running_loop().create_task(
            thread.run(), name=f"ReplicaFetcherThread-{key.fetcher_id}-{key.leader}"
        )
        task.add_done_callback(lambda done: self._stopping.pop(done, None))
        report_failure(task, self._on_failure)
        if self._trace:
            self._trace(FetcherStarted(leader=key.leader, fetcher_id=key.fetcher_id))
        return _Running(thread, task)

    def _stop(self, key: FetcherKey, running: _Running) -> None:
        del self._fetchers[key]
        self._stopping[running.task] = None
        running.task.cancel()
        if self._trace:
            self._trace(FetcherStopped(leader=key.leader, fetcher_id=key.fetcher_id))

    async def shutdown(self) -> None:
        """Stop all fetchers, and return when the last one has stopped."""
        for key, running in list(self._fetchers.items()):
            self._stop(key, running)
        self._of.clear()
        await asyncio.gather(*list(self._stopping), return_exceptions=True)

    def _snapshot(self) -> Iterable[Event]:
        return [
            FetcherSnapshot(
                leader=key.leader, fetcher_id=key.fetcher_id, partitions=len(running.thread.fetcher)
            )
            for key, running in self._fetchers.items()
        ]
