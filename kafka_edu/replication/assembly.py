"""Build one broker's replication from its parts (Kafka: ReplicaManager's constructor and startup).

Some parts only decide, others do the input and output for them, and others run periodically.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.run_blocking import RunBlocking
from kafka_edu.common.tasks import OnFailure, report_failure
from kafka_edu.common.time import Time
from kafka_edu.common.transport import Transport
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_manager import LogManager
from kafka_edu.purgatory.expired_operation_reaper import ExpiredOperationReaper
from kafka_edu.replication.high_watermark_checkpoints import HighWatermarkCheckpoints
from kafka_edu.replication.isr_writer import (
    ISR_CHANGE_PROPAGATION_PERIOD_MS,
    IsrStore,
    IsrUpdates,
    IsrWriter,
)
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.replica_alter_log_dirs_manager import ReplicaAlterLogDirsManager
from kafka_edu.replication.replica_fetcher_manager import ReplicaFetcherManager
from kafka_edu.replication.replica_log_dirs import ReplicaLogDirs
from kafka_edu.replication.replica_logs import ReplicaLogs
from kafka_edu.replication.replica_manager import ReplicaManager
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.replication.replication_quota_manager import ReplicationQuotas
from kafka_edu.trace.events.replication import IsrChangesPropagated
from kafka_edu.trace.tracer import Tracer


class Scheduler(Protocol):
    """A scheduler that runs functions periodically (Kafka: KafkaScheduler)."""

    def schedule(
        self,
        name: str,
        work: Callable[[], Awaitable[None] | None],
        *,
        delay_ms: int = 0,
        period_ms: int = -1,
    ) -> None: ...


class Replication:
    """Start and stop one broker's replication. Requests go directly to the parts in `replicas`."""

    def __init__(
        self,
        config: ReplicationConfig,
        time: Time,
        transport: Transport,
        log_manager: LogManager,
        metadata_cache: MetadataCache,
        isr_store: IsrStore,
        checkpoints: HighWatermarkCheckpoints,
        topic_config: Callable[[str], LogConfig],
        quotas: ReplicationQuotas,
        on_failure: OnFailure,
        run_blocking: RunBlocking,
        trace: Tracer | None = None,
    ) -> None:
        """`topic_config` returns a topic's log settings: the broker's, overridden by
        /config/topics. `topic_config` must not block. The broker sets `quotas` from the
        configuration in ZooKeeper. If a bug ends a task, `on_failure` is called with the task's
        name. `on_failure` should stop the broker.
        """
        self._config = config
        self._quotas = quotas
        self._time = time
        self._trace = trace
        self._on_failure = on_failure
        self.log_manager = log_manager
        self._partitions = partitions = Partitions(metadata_cache, log_manager, trace)
        self._isr_updates = isr_updates = IsrUpdates(partitions, time)
        self._isr_writer = IsrWriter(isr_store, isr_updates, time, on_failure)
        self._checkpoints = checkpoints
        self.fetchers = ReplicaFetcherManager(
            config,
            time,
            transport,
            log_manager,
            partitions,
            metadata_cache,
            quotas.follower,
            on_failure,
            trace,
        )
        self.moves = ReplicaAlterLogDirsManager(
            config,
            time,
            log_manager,
            partitions,
            quotas.log_dirs,
            run_blocking,
            on_failure,
            trace,
        )
        replica_logs = ReplicaLogs(log_manager, checkpoints, topic_config)
        self.log_dirs = ReplicaLogDirs(partitions, log_manager, replica_logs, self.moves)
        self.replicas = ReplicaManager(
            config,
            time,
            metadata_cache,
            partitions,
            isr_updates,
            replica_logs,
            self.fetchers,
            self.moves,
            self._isr_writer.propose,
            quotas,
            trace,
        )
        self._reapers = [
            ExpiredOperationReaper(part.purgatory, time)
            for part in (self.replicas.append, self.replicas.fetch, self.replicas.delete_records)
        ]

    async def startup(self, scheduler: Scheduler) -> None:
        """Start the purgatories' reapers and the periodic work.

        The periodic work is: ISR expiration, propagation of ISR changes, HW checkpoints, and checks
        of the throttles.
        """
        for reaper in self._reapers:
            report_failure(reaper.start(), self._on_failure)
        config = self._config
        scheduler.schedule(
            "isr-expiration",
            self._isr_updates.maybe_shrink_isr,
            period_ms=config.replica_lag_time_max_ms // 2,
        )
        scheduler.schedule(
            "isr-change-propagation",
            self._propagate_isr_changes,
            period_ms=ISR_CHANGE_PROPAGATION_PERIOD_MS,
        )
        scheduler.schedule(
            "replication-throttles",
            lambda: self._quotas.check(self._time.hi_res_clock_ms()),
            period_ms=config.replication_quota_window_size_seconds * 1000,
        )
        interval_ms = config.replica_high_watermark_checkpoint_interval_ms
        scheduler.schedule(
            "highwatermark-checkpoint",
            self._checkpoint_high_watermarks,
            delay_ms=interval_ms,
            period_ms=interval_ms,
        )

    def resize_fetchers(self, num_replica_fetchers: int) -> None:
        """Set num.replica.fetchers: the number of fetchers for each leader."""
        followed = [partition for partition in self._partitions if not partition.is_leader]
        self.fetchers.resize(num_replica_fetchers, followed)

    async def _propagate_isr_changes(self) -> None:
        propagated = await self._isr_writer.propagate(self._time.hi_res_clock_ms())
        if propagated and self._trace:
            self._trace(IsrChangesPropagated(partitions=tuple(map(str, propagated))))

    async def _checkpoint_high_watermarks(self) -> None:
        """Write the high watermarks. A log dir whose file cannot be written goes offline."""
        await self._checkpoints.write(self._partitions, self.log_manager.handle_log_dir_failure)

    def begin_shutdown(self) -> None:
        """Follow no new partition from now on, because the broker will stop soon."""
        self.fetchers.begin_shutdown()

    async def shutdown(self) -> None:
        """Stop the fetchers, end the waiting requests, and write the high watermarks. Stop the
        scheduler before this call.
        """
        await self.fetchers.shutdown()
        await self.moves.shutdown()
        await self._isr_writer.shutdown()
        for reaper in self._reapers:
            await reaper.shutdown()
        await self._checkpoint_high_watermarks()
