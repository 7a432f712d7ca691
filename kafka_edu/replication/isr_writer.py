"""Writes proposed ISRs to ZooKeeper (Kafka: ReplicationUtils.updateLeaderAndIsr, which blocks;
AlterIsrManager since 2.7, which does not).

A shell: the only place in replication that waits for ZooKeeper. Each proposal is a task, so many
are on their way at once (spec Z6).
"""

import asyncio
from typing import Final

from kafka_edu.common.tasks import OnFailure, report_failure
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.isr_store import IsrProposal, IsrStore
from kafka_edu.replication.isr_updates import IsrUpdates
from kafka_edu.zk.zk_client import ZkError

#: Pause after ZooKeeper gave no answer. The proposal stays pending: it may have been written.
RETRY_MS: Final = 500


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
