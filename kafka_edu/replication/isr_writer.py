"""Bring changed ISRs to ZooKeeper and to the controller's knowledge (Kafka: ReplicaManager's
maybeShrinkIsr and maybePropagateIsrChanges; ReplicationUtils.updateLeaderAndIsr, which blocks;
AlterIsrManager since 2.7, which does not).

    IsrUpdates              the decisions for all partitions; they wait for nothing
    IsrChangePropagation    the moment to report changed ISRs to the controller
    IsrStore                the operations of ZooKeeper that this needs (KafkaZkClient has them)
    IsrWriter               the shell: the only place in replication that waits for ZooKeeper. Each
                            proposal is a task, so many are on their way at once (spec Z6)
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

#: The time between two checks.
ISR_CHANGE_PROPAGATION_PERIOD_MS: Final = 2_500
ISR_CHANGE_PROPAGATION_BLACK_OUT_MS: Final = 5_000
ISR_CHANGE_PROPAGATION_INTERVAL_MS: Final = 60_000
#: Pause after ZooKeeper gave no answer. The proposal stays pending: it may have been written.
RETRY_MS: Final = 500


class IsrStore(Protocol):
    """The partition-state znodes and the controller's mailbox."""

    async def conditional_update_partition_state(
        self,
        topic_partition: TopicPartition,
        state: LeaderIsrAndControllerEpoch,
        expected_zk_version: int,
        /,
    ) -> int | None:
        """Write the state znode if it has that version. Return the new version, or None if it has
        another. Raises ZkError.

        A znode that already holds this very state, one version later, is our own earlier write
        whose answer was lost: success.
        """
        ...

    async def propagate_isr_changes(self, topic_partitions: Sequence[TopicPartition], /) -> None:
        """Leave a sequential znode in /isr_change_notification for the controller. Raises
        ZkError.
        """
        ...


class IsrChangePropagation:
    """Gathers partitions whose ISR changed here, and decides when to report them. It reports many
    at once, because for each report the controller reads all of them.

    A report is due when nothing has changed for 5 s, or when the last report was 60 s ago. The
    check runs every 2.5 s, so a single change is reported after 5 to 7.5 s. Times are monotonic ms.
    O(1) a change.
    """

    def __init__(self, now_ms: int) -> None:
        self._changed: dict[TopicPartition, None] = {}
        self._last_change_ms = now_ms
        self._last_propagation_ms = now_ms

    def record(self, topic_partition: TopicPartition, now_ms: int) -> None:
        self._changed[topic_partition] = None
        self._last_change_ms = now_ms

    def take_due(self, now_ms: int) -> list[TopicPartition]:
        """Take out the partitions to report now, sorted. Empty if it is not yet time, or nothing
        changed.
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
        """Put back partitions that could not be reported. They are due at the next check after 5 s
        without a change.
        """
        self._changed.update(dict.fromkeys(topic_partitions))


class IsrUpdates:
    """Owner of the list of changed ISRs (`changes`) that the controller does not know yet."""

    def __init__(self, partitions: Partitions, time: Time) -> None:
        self._partitions = partitions
        self._time = time
        self.changes = IsrChangePropagation(time.hi_res_clock_ms())

    def maybe_shrink_isr(self) -> None:
        """Propose smaller ISRs where followers lag. Every replica.lag.time.max.ms / 2.

        O(partitions).
        """
        now_ms = self._time.hi_res_clock_ms()
        for partition in self._partitions:
            partition.maybe_shrink_isr(now_ms)

    def written(self, proposal: IsrProposal, zk_version: int | None) -> None:
        """Hand ZooKeeper's answer to the partition: the new version, or None if ZooKeeper refused.

        A changed ISR is noted for the controller.
        """
        now_ms = self._time.hi_res_clock_ms()
        partition = self._partitions.get(proposal.topic_partition)
        if partition is not None and partition.isr_written(proposal, zk_version, now_ms):
            self.changes.record(proposal.topic_partition, now_ms)

    def still_wanted(self, proposal: IsrProposal) -> bool:
        """Return whether the proposal still stands: this broker leads the partition, and the
        controller has not spoken since.
        """
        partition = self._partitions.get(proposal.topic_partition)
        return partition is not None and partition.isr_state.proposal is proposal


class IsrWriter:
    """Owner of the writes under way."""

    def __init__(
        self,
        store: IsrStore,
        updates: IsrUpdates,
        time: Time,
        on_failure: OnFailure,
    ) -> None:
        """`on_failure` is called with the name of a task that died of a bug, and with the bug."""
        self._store = store
        self._time = time
        self._on_failure = on_failure
        self._updates = updates
        self._tasks: dict[asyncio.Task[None], None] = {}

    def propose(self, proposal: IsrProposal) -> None:
        """Begin to write. Return at once."""
        task = asyncio.get_running_loop().create_task(
            self._write(proposal), name=f"isr-write-{proposal.topic_partition}"
        )
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))
        report_failure(task, self._on_failure)

    async def _write(self, proposal: IsrProposal) -> None:
        """Write until there is an answer, or the controller has sent a newer ISR. After a lost
        connection nobody knows whether the write was done.

        A second write of the same is safe: for the store, a znode that already holds it is a
        success.
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
        """Notify the controller of changed ISRs if it is time, and return which. They stay due if
        ZooKeeper does not answer.
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
        """Give up the writes under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
