"""A change of the leaders and ISRs of many partitions at once.

The controller decides and writes by version. Where another writer was faster, it reads and decides
again. (Kafka: the common part of doElectLeaderForPartitions, doRemoveReplicasFromIsr and
updateLeaderEpoch. They read every znode first.)

The context knows the states and the versions of their znodes. So the first round decides on these
and reads nothing. Each write names the version that its decision is based on. If the znode has
another version by now, the write is refused.

If the decision is to write nothing, no version protects it. So that decision is trusted only for a
state that was just read. For example, a leader may have added a follower to the ISR and died before
its notification was processed. By the context, no replica may lead then, although that follower
could.

An example of the cost: a controller takes over 3,000 partitions. Its dead predecessor led 1,000 of
them and was in every ISR. The controller reads 3,000 states, removes it from 3,000 ISRs and holds
1,000 elections: 7,000 requests. With a read before each write it was 11,000.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_context import ControllerContext
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import ZkError
from kafka_edu.zk.zk_requests import ControllerMovedError


class UpdateRound(NamedTuple):
    """The result of one round; partitions that are in no field come again in the next round."""

    written: dict[TopicPartition, LeaderIsrAndControllerEpoch]
    """The states as they are in ZooKeeper now. The caller must put them into the context."""
    unchanged: list[TopicPartition]
    """Nothing had to be written, by a state that was just read; or there is no state."""
    failed: dict[TopicPartition, ZkError]


class LeadershipUpdate:
    """One change, in rounds, as long as there are `remaining` partitions.

    Each round calls `states`, decides, and calls `write`. The object lives within one event.
    """

    def __init__(
        self, context: ControllerContext, zk: KafkaZkClient, partitions: Iterable[TopicPartition]
    ) -> None:
        self._context = context
        self._zk = zk
        self.remaining = list(partitions)
        self._is_first = True

    async def states(self) -> dict[TopicPartition, LeaderAndIsr]:
        """Return the states of the remaining partitions.

        In the first round they come from the context; later they are read from ZooKeeper and put
        into the context. A partition without a state is left out. Raises ControllerMovedError if a
        later controller has written one.
        """
        context = self._context
        if self._is_first:
            known = ((tp, context.partition_leadership_info(tp)) for tp in self.remaining)
            states = {tp: state for tp, state in known if state is not None}
        else:
            states = await self._zk.get_topic_partition_states(self.remaining)
        for tp, state in states.items():
            if state.controller_epoch > context.epoch:
                raise ControllerMovedError(
                    f"{tp} was written by the controller of epoch {state.controller_epoch}; ours is"
                    f" {context.epoch}"
                )
            context.put_partition_leadership_info(tp, state)
        return {tp: state.leader_and_isr for tp, state in states.items()}

    async def write(self, wanted: Mapping[TopicPartition, LeaderAndIsr]) -> UpdateRound:
        """Write the decided states. Raises ControllerMovedError."""
        context = self._context
        result = await self._zk.update_leader_and_isr(
            wanted, context.epoch, context.epoch_zk_version
        )
        written = {
            tp: LeaderIsrAndControllerEpoch(state, context.epoch)
            for tp, state in result.finished.items()
        }
        unchanged = [tp for tp in self.remaining if tp not in wanted]
        if self._is_first:
            self._is_first = False
            self.remaining = [*result.bad_version, *unchanged]
            return UpdateRound(written, [], result.failed)
        self.remaining = result.bad_version
        return UpdateRound(written, unchanged, result.failed)
