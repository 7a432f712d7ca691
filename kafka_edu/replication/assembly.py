"""Puts replication together for one broker: the core, its shells, its periodic work (Kafka:
ReplicaManager's constructor and startup).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.files import FileSystem
from kafka_edu.common.time import Time
from kafka_edu.common.transport import Transport
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_manager import LogManager
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.purgatory.expired_operation_reaper import ExpiredOperationReaper
from kafka_edu.replication.delayed_delete_records import DelayedDeleteRecords
from kafka_edu.replication.delayed_fetch import DelayedFetch
from kafka_edu.replication.delayed_produce import DelayedProduce
from kafka_edu.replication.high_watermark_checkpoints import HighWatermarkCheckpoints
from kafka_edu.replication.isr_change_propagation import ISR_CHANGE_PROPAGATION_PERIOD_MS
from kafka_edu.replication.isr_store import IsrStore
from kafka_edu.replication.isr_writer import IsrWriter
from kafka_edu.replication.replica_fetcher_manager import ReplicaFetcherManager
from kafka_edu.replication.replica_manager import ReplicaManager
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.trace.events.replication import IsrChangesPropagated
from kafka_edu.trace.tracer import Tracer


class Scheduler(Protocol):
    """Runs periodic work (KafkaScheduler)."""

    def schedule(
        self,
        name: str,
        work: Callable[[], Awaitable[None] | None],
        *,
        delay_ms: int = 0,
        period_ms: int = -1,
    ) -> None: ...


class Replication:
    """One broker's replication: `replica_manager` is what requests are given to; this object starts
    and stops it.
    """

    def __init__(
        self,
        config: ReplicationConfig,
        time: Time,
        transport: Transport,
        log_manager: LogManager,
        metadata_cache: MetadataCache,
        isr_store: IsrStore,
        log_dirs: list[str],
        file_system: FileSystem,
        run_blocking: Callable[[Callable[[], None]], Awaitable[None]],
        topic_config: Callable[[str], LogConfig],
        on_failure: Callable[[str, BaseException], None],
        trace: Tracer | None = None,
    ) -> None:
        """`topic_config` gives a topic's log settings (the broker's, overridden by /config/topics);
        it must not wait. `on_failure` is told of a task that died of a bug, by name; it is expected
        to stop the broker.
        """
        self._config = config
        self._time = time
        self._trace = trace
        self._on_failure = on_failure
        now_ms = time.hi_res_clock_ms
        produce = DelayedOperationPurgatory[DelayedProduce](
            "Produce", now_ms, trace, config.producer_purgatory_purge_interval_requests
        )
        fetch = DelayedOperationPurgatory[DelayedFetch](
            "Fetch", now_ms, trace, config.fetch_purgatory_purge_interval_requests
        )
        purge_interval = config.delete_records_purgatory_purge_interval_requests
        delete_records = DelayedOperationPurgatory[DelayedDeleteRecords](
            "DeleteRecords", now_ms, trace, purge_interval
        )
        self._reapers = [
            ExpiredOperationReaper(purgatory, time)
            for purgatory in (produce, fetch, delete_records)
        ]
        self._isr_writer = IsrWriter(isr_store, time, on_failure)
        self.fetchers = ReplicaFetcherManager(
            config, time, transport, log_manager, metadata_cache, on_failure, trace
        )
        self.replica_manager = ReplicaManager(
            config,
            time,
            log_manager,
            metadata_cache,
            produce,
            fetch,
            delete_records,
            HighWatermarkCheckpoints(log_dirs, file_system, run_blocking, trace),
            self.fetchers,
            self._isr_writer.propose,
            topic_config,
            trace,
        )
        self.fetchers.connect(self.replica_manager.on_storage_error)
        self._isr_writer.connect(self.replica_manager.wants_isr, self.replica_manager.isr_written)

    async def startup(self, scheduler: Scheduler) -> None:
        """Start the purgatories' reapers and the periodic work: ISR expiration, telling of ISR
        changes, HW checkpoints.
        """
        for reaper in self._reapers:
            reaper.start().add_done_callback(self._reaper_ended)
        manager, config = self.replica_manager, self._config
        scheduler.schedule(
            "isr-expiration",
            manager.maybe_shrink_isr,
            period_ms=config.replica_lag_time_max_ms // 2,
        )
        scheduler.schedule(
            "isr-change-propagation",
            self._propagate_isr_changes,
            period_ms=ISR_CHANGE_PROPAGATION_PERIOD_MS,
        )
        interval_ms = config.replica_high_watermark_checkpoint_interval_ms
        scheduler.schedule(
            "highwatermark-checkpoint",
            manager.checkpoint_high_watermarks,
            delay_ms=interval_ms,
            period_ms=interval_ms,
        )

    def resize_fetchers(self, num_replica_fetchers: int) -> None:
        """num.replica.fetchers from now on."""
        followed = [
            partition
            for partition in self.replica_manager.all_partitions.values()
            if not partition.is_leader
        ]
        self.fetchers.resize(num_replica_fetchers, followed)

    def _reaper_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_failure(task.get_name(), error)

    async def _propagate_isr_changes(self) -> None:
        told = await self._isr_writer.propagate(
            self.replica_manager.isr_changes, self._time.hi_res_clock_ms()
        )
        if told and self._trace:
            self._trace(IsrChangesPropagated(partitions=tuple(map(str, told))))

    def begin_shutdown(self) -> None:
        """The broker is about to stop: no partition is followed anew."""
        self.fetchers.begin_shutdown()

    async def shutdown(self) -> None:
        """Stop fetching, stop waiting, and write the high watermarks. The scheduler has been
        stopped before.
        """
        await self.fetchers.shutdown()
        await self._isr_writer.shutdown()
        for reaper in self._reapers:
            await reaper.shutdown()
        await self.replica_manager.checkpoint_high_watermarks()
