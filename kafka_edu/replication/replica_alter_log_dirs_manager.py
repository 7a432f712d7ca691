"""Begin, resume and give up the moves of replicas between the log dirs of this broker.

Kafka: ReplicaAlterLogDirsManager.scala, alterReplicaLogDirs in ReplicaManager.scala; KIP-113.

A move survives a restart of the broker, because the future log stays on the disk. When the
controller names the replica again after the start, the move continues where it stopped.
"""

import asyncio
from collections.abc import Coroutine, Iterable
from functools import partial
from typing import NamedTuple

from kafka_edu.common.run_blocking import RunBlocking
from kafka_edu.common.tasks import OnFailure, report_failure
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log import Log
from kafka_edu.log.log_manager import LogManager
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.replica_alter_log_dirs_thread import (
    ReplicaAlterLogDirsThread,
    ReplicaMove,
)
from kafka_edu.replication.replica_fetcher_manager import fetcher_id
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.replication.replication_quota_manager import ReplicationQuotaManager
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.replication import (
    ReplicaMoveCompleted,
    ReplicaMoveEnded,
    ReplicaMoveProgress,
    ReplicaMoveStarted,
)
from kafka_edu.trace.tracer import Tracer


class _Running(NamedTuple):
    thread: ReplicaAlterLogDirsThread
    task: asyncio.Task[None]


class ReplicaAlterLogDirsManager:
    """Runs at most num.replica.alter.log.dirs.threads copying tasks.

    A task starts with its first replica. A task that has no replicas left stops at the controller's
    next LeaderAndIsr or StopReplica request, as in Kafka. Owned by the broker's loop.
    """

    def __init__(
        self,
        config: ReplicationConfig,
        time: Time,
        log_manager: LogManager,
        partitions: Partitions,
        quota: ReplicationQuotaManager,
        run_blocking: RunBlocking,
        on_failure: OnFailure,
        trace: Tracer | None = None,
    ) -> None:
        """`quota` limits the bytes per second of all moves together."""
        self._config = config
        self._time = time
        self._log_manager = log_manager
        self._partitions = partitions
        self._run_blocking = run_blocking
        self._on_failure = on_failure
        self._trace = trace
        self._quota = quota
        self._threads: dict[int, _Running] = {}
        self._of: dict[TopicPartition, ReplicaAlterLogDirsThread] = {}
        self._ending: dict[asyncio.Task[None], None] = {}
        """Tasks that are ending: cancelled tasks, and tasks that delete a copy."""
        log_manager.on_truncation(self.mark_for_truncation)
        log_manager.on_future_log_lost(self._future_log_lost)
        partitions.on_offline(partial(self.stop, reason="the log dir of the replica has failed"))
        if trace:
            trace.on_gauges(self._progress)

    def is_moving(self, topic_partition: TopicPartition) -> bool:
        """Return whether the replica is being copied."""
        return topic_partition in self._of

    def start(self, partition: Partition, future: Log, *, resumed: bool = False) -> None:
        """Copy a replica to its future log from now on.

        Cleaning and retention of the current log pause until the move is over.
        """
        tp, current = partition.topic_partition, partition.local_log()
        self._log_manager.pause_cleaning(tp)
        move = ReplicaMove(partition, current, future, self._time.hi_res_clock_ms())
        if self._trace:
            move.event = self._trace(
                ReplicaMoveStarted(
                    topic=tp.topic,
                    partition=tp.partition,
                    from_dir=current.log_dir,
                    to_dir=future.log_dir,
                    size=current.size,
                    log_end_offset=current.log_end_offset,
                    future_log_end_offset=future.log_end_offset,
                    resumed=resumed,
                )
            )
        thread = self._of[tp] = self._thread(tp)
        thread.add(move)

    def resume(self, partition: Partition) -> None:
        """Continue a move whose future log was found when the broker started, or that a StopReplica
        has stopped. If the copy is in the dir of the current log, delete it, because it is useless.
        """
        tp, future = partition.topic_partition, partition.future_log
        if future is None or self.is_moving(tp):
            return
        if future.log_dir == partition.local_log().log_dir:
            partition.future_log = None
            giving_up = self._spawn(self._log_manager.delete_future_log(tp), "delete-future-log")
            self._ending[giving_up] = None
            return
        self.start(partition, future, resumed=True)

    def stop(self, topic_partition: TopicPartition, reason: str) -> None:
        """Stop copying a replica. Its future log stays as it is."""
        thread = self._of.pop(topic_partition, None)
        move = thread.remove(topic_partition) if thread is not None else None
        if move is not None:
            self._tell_ended(move, reason)

    async def cancel(self, partition: Partition, reason: str) -> None:
        """Stop copying a replica, and give up its future log. Cleaning resumes."""
        tp = partition.topic_partition
        self.stop(tp, reason)
        partition.future_log = None
        self._log_manager.resume_cleaning(tp)
        await self._log_manager.delete_future_log(tp)

    def mark_for_truncation(self, topic_partition: TopicPartition, offset: int) -> None:
        """Mark the future log to be truncated to `offset`, because the current log was truncated
        there.
        """
        thread = self._of.get(topic_partition)
        if thread is not None:
            thread.mark_for_truncation(topic_partition, offset)

    def shutdown_idle_threads(self) -> None:
        """Stop the tasks that have nothing to copy."""
        for number, running in list(self._threads.items()):
            if not len(running.thread):
                self._stop_thread(number)

    async def shutdown(self) -> None:
        """Stop all copying, and return when it has stopped. Future logs stay on the disk."""
        for number in list(self._threads):
            self._stop_thread(number)
        self._of.clear()
        await asyncio.gather(*list(self._ending), return_exceptions=True)

    def _thread(self, tp: TopicPartition) -> ReplicaAlterLogDirsThread:
        config = self._config
        number = fetcher_id(tp, config.num_replica_alter_log_dirs_threads)
        running = self._threads.get(number)
        if running is None:
            thread = ReplicaAlterLogDirsThread(
                config.broker_id,
                config.replica_fetch_max_bytes,
                config.replica_fetch_backoff_ms,
                self._log_manager,
                self._quota,
                self._time,
                self._run_blocking,
                self._swapped,
                self._trace,
            )
            task = self._spawn(thread.run(), f"ReplicaAlterLogDirsThread-{number}")
            running = self._threads[number] = _Running(thread, task)
        return running.thread

    def _stop_thread(self, number: int) -> None:
        task = self._threads.pop(number).task
        self._ending[task] = None
        task.cancel()

    def _spawn(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        task.add_done_callback(lambda done: self._ending.pop(done, None))
        report_failure(task, self._on_failure)
        return task

    def _future_log_lost(self, topic_partition: TopicPartition, reason: OSError) -> None:
        """Forget a copy whose log dir has failed. The replica stays where it is."""
        self.stop(topic_partition, f"the log dir of the copy has failed: {reason}")
        partition = self._partitions.get(topic_partition)
        if partition is not None:
            partition.future_log = None
        self._log_manager.resume_cleaning(topic_partition)

    def _swapped(self, move: ReplicaMove) -> None:
        tp = move.topic_partition
        del self._of[tp]
        if self._trace:
            with self._trace.because(move.event):
                self._trace(
                    ReplicaMoveCompleted(
                        topic=tp.topic,
                        partition=tp.partition,
                        from_dir=move.from_dir,
                        to_dir=move.to_dir,
                        log_end_offset=move.future.log_end_offset,
                        copied_bytes=move.copied_bytes,
                        took_ms=self._time.hi_res_clock_ms() - move.began_ms,
                    )
                )

    def _tell_ended(self, move: ReplicaMove, reason: str) -> None:
        if self._trace:
            topic, partition = move.topic_partition
            self._trace(
                ReplicaMoveEnded(
                    topic=topic,
                    partition=partition,
                    from_dir=move.from_dir,
                    to_dir=move.to_dir,
                    reason=reason,
                )
            )

    def _progress(self) -> Iterable[Event]:
        return [
            ReplicaMoveProgress(
                topic=move.topic_partition.topic,
                partition=move.topic_partition.partition,
                to_dir=move.to_dir,
                log_end_offset=move.current.log_end_offset,
                future_log_end_offset=move.future.log_end_offset,
                copied_bytes=move.copied_bytes,
                throttled=move.throttled,
            )
            for running in self._threads.values()
            for move in running.thread.moves
        ]
