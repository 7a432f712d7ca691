"""The ZooKeeper operations that replication needs (KafkaZkClient has them), and a change of an ISR
as a value.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kafka_edu.cluster.leader_and_isr import LeaderIsrAndControllerEpoch
from kafka_edu.common.topic_partition import TopicPartition


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


class IsrProposal(NamedTuple):
    """An ISR to be written. The znode must still have the version
    `state.leader_and_isr.zk_version`.
    """

    topic_partition: TopicPartition
    state: LeaderIsrAndControllerEpoch
    before: tuple[int, ...]
    reason: str

    @property
    def after(self) -> tuple[int, ...]:
        return self.state.leader_and_isr.isr
