"""Write changed ISRs to ZooKeeper, and report them to the controller (Kafka: ReplicaManager's
maybeShrinkIsr and maybePropagateIsrChanges; ReplicationUtils.updateLeaderAndIsr, which blocks;
AlterIsrManager since 2.7, which does not).

    IsrUpdates              decides for all partitions which ISRs must change, without waiting
    IsrChangePropagation    decides when to report changed ISRs to the controller
    IsrStore                the operations on ZooKeeper that are needed (KafkaZkClient has them)
    IsrWriter               the only place in replication that waits for ZooKeeper. Each proposal
                            is a separate task, so many writes can be under way (spec Z6)
"""

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

from kafka_edu.cluster.leader_and_isr import LeaderIsrAndControllerEpoch
from kafka_edu.common.tasks import OnFailure, report_failure
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.isr import IsrProposal
from kafka_edu.replication.partitions import Partitions
from kafka_edu.zk.zk_client import ZkError

#: The ms between two checks whether a report to the controller is due.
ISR_CHANGE_PROPAGATION_PERIOD_MS: Final = 2_500
ISR_CHANGE_PROPAGATION_BLACK_OUT_MS: Final = 5_000
ISR_CHANGE_PROPAGATION_INTERVAL_MS: Final = 60_000
#: The pause in ms after a write that ZooKeeper did not answer. The proposal stays pending, because
#: the write may have been done.
RETRY_MS: Final = 500


class IsrStore(Protocol):
    """The operations on ZooKeeper that the ISR writer needs: partition-state znodes, and the znodes
    that report changed ISRs to the controller.
    """

    async def conditional_update_partition_state(
        self,
        topic_partition: TopicPartition,
        state: LeaderIsrAndControllerEpoch,
        expected_zk_version: int,
        /,
    ) -> int | None:
        """Write the state to the partition's znode if the znode still has the expected version.

        Return the new version, or None if the znode has a different version. Raises ZkError. If the
        znode already has exactly this state and its version is one higher, it was our own earlier
        write, whose answer was lost. This counts as success.
        """
        ...

    async def propagate_isr_changes(self, topic_partitions: Sequence[TopicPartition], /) -> None:
        """Create a sequential znode in /isr_change_notification, which the controller reads.

        Raises ZkError.
        """
        ...


class IsrChangePropagation:
    """Collects the partitions whose ISR was changed by this broker, and decides when to report
    them.

    Many partitions are reported at once, because for each report the controller reads all its
    partitions. A report is due when no ISR has changed for 5 s, or when the last report was 60 s
    ago. The check runs every 2.5 s, so a single change is reported after 5 to 7.5 s. Times are
    monotonic ms. O(1) for each change.
    """

    def __init__(self, now_ms: int) -> None:
        self._changed: dict[TopicPartition, None] = {}
        self._last_change_ms = now_ms
        self._last_propagation_ms = now_ms

    def record(self, topic_partition: TopicPartition, now_ms: int) -> None:
        self._changed[topic_partition] = None
        self._last_change_ms = now_ms

    def take_due(self, now_ms: int) -> list[TopicPartition]:
        """Remove and return the partitions to report now, sorted.

        Empty if no report is due, or no ISR has changed.
        """
        quiet = self._last_change_ms + ISR_CHANGE_PROPAGATION_BLACK_OUT_MS < now_ms
        late = self._last_propagation_ms + ISR_CHANGE_PROPAGATION_INTERVAL_MS < now_ms
        if not self._changed or not (quiet or late):
            return []
        due = sorted(self._changed)
        self._changed.clear()
        self._last_propagation_ms = now_ms
        return due

    def put_back(self, topic_partitions: list[TopicPartition]) -> None:
        """Take back partitions that could not be reported.

        They are due at the first check at which no ISR has changed for 5 s.
        """
        self._changed.update(dict.fromkeys(topic_partitions))


class IsrUpdates:
    """Propose smaller ISRs, and record in `changes` the changed ISRs to report to the
    controller.
    """

    def __init__(self, partitions: Partitions, time: Time) -> None:
        self._partitions = partitions
        self._time = time
        self.changes = IsrChangePropagation(time.hi_res_clock_ms())

    def maybe_shrink_isr(self) -> None:
        """Propose smaller ISRs where followers lag. O(partitions).

        Called every replica.lag.time.max.ms / 2.
        """
        now_ms = self._time.hi_res_clock_ms()
        for partition in self._partitions:
            partition.maybe_shrink_isr(now_ms)

    def written(self, proposal: IsrProposal, zk_version: int | None) -> None:
        """Pass ZooKeeper's answer to the partition: the new version, or None if ZooKeeper refused.

        If the ISR changed, record it for the next report to the controller.
        """
        now_ms = self._time.hi_res_clock_ms()
        partition = self._partitions.get(proposal.topic_partition)
        if partition is not None and partition.isr_written(proposal, zk_version, now_ms):
            self.changes.record(proposal.topic_partition, now_ms)

    def still_wanted(self, proposal: IsrProposal) -> bool:
        """Return whether the proposal is still to be written.

        True if this broker still leads the partition, and the controller has sent no newer ISR.
        """
        partition = self._partitions.get(proposal.topic_partition)
        return partition is not None and partition.isr_state.proposal is proposal


class IsrWriter:
    """Writes proposed ISRs to ZooKeeper. Each write is a separate task."""

    def __init__(
        self,
        store: IsrStore,
        updates: IsrUpdates,
        time: Time,
        on_failure: OnFailure,
    ) -> None:
        """`on_failure` is called if a bug ends a task, with the task's name and the exception."""
        self._store = store
        self._time = time
        self._on_failure = on_failure
        self._updates = updates
        self._tasks: dict[asyncio.Task[None], None] = {}

    def propose(self, proposal: IsrProposal) -> None:
        """Start a task that writes the proposal. Return at once."""
        task = asyncio.get_running_loop().create_task(
            self._write(proposal), name=f"isr-write-{proposal.topic_partition}"
        )
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))
        report_failure(task, self._on_failure)

    async def _write(self, proposal: IsrProposal) -> None:
        """Write until ZooKeeper answers, or until the controller has sent a newer ISR.

        If the connection is lost, the write may or may not have been done. Writing the same state
        again is safe: if the znode already has this state, the store reports success.
        """
        while self._updates.still_wanted(proposal):
            try:
                version = await self._store.conditional_update_partition_state(
                    proposal.topic_partition,
                    proposal.state,
                    proposal.state.leader_and_isr.zk_version,
                )
            except ZkError:
                await self._time.sleep(RETRY_MS)
            else:
                self._updates.written(proposal, version)
                return

    async def propagate(self, now_ms: int) -> list[TopicPartition]:
        """Report changed ISRs to the controller if a report is due. Return the reported partitions.

        If ZooKeeper does not answer, the partitions will be reported later.
        """
        changes = self._updates.changes
        due = changes.take_due(now_ms)
        if due:
            try:
                await self._store.propagate_isr_changes(due)
            except ZkError:
                changes.put_back(due)
                return []
        return due

    async def shutdown(self) -> None:
        """Cancel the writes under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
