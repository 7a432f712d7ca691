"""Shrink ISRs, and take ZooKeeper's answers to proposed ISRs (Kafka: ReplicaManager.maybeShrinkIsr;
Partition.expandIsr and shrinkIsr).

These are the decisions for all partitions. `IsrWriter` carries the proposals to ZooKeeper.
"""

from kafka_edu.common.time import Time
from kafka_edu.replication.isr_change_propagation import IsrChangePropagation
from kafka_edu.replication.isr_store import IsrProposal
from kafka_edu.replication.partitions import Partitions


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
