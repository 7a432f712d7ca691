"""A change of leaders and ISRs, of many partitions at once: decide, write by version, and where
somebody else wrote first, read and decide again.

(Kafka: what doElectLeaderForPartitions, doRemoveReplicasFromIsr and updateLeaderEpoch have in
common; those read every znode first.)

The context knows the states and the versions of their znodes, so the first round is decided on
these, and reads nothing: each write names the version that its decision rests on, and is refused if
it is not the znode's any more. That *nothing* is to be written no version vouches for; so that is
believed only of a state that was just read. A leader may have taken a follower into the ISR, and
died, before its notification was looked at: by the context nobody may lead.

A controller that takes over 3,000 partitions, whose dead predecessor led 1,000 and was in every
ISR, so asks for 3,000 states, takes it out of 3,000 ISRs and elects 1,000 times: 7,000 requests,
where reading before each write made it 11,000.
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
    """What came of one round; partitions that are in none of these come again in the next."""

    written: dict[TopicPartition, LeaderIsrAndControllerEpoch]
    """As they stand in ZooKeeper now. The context is not told: that is for the caller's doors."""
    unchanged: list[TopicPartition]
    """Nothing was to be written, by what was just read; or there is no state."""
    failed: dict[TopicPartition, ZkError]


class LeadershipUpdate:
    """One change, in rounds, while there are any `remaining`: `states`, then `write` what is to be
    made of them. Lives within one event.
    """

    def __init__(
        self, context: ControllerContext, zk: KafkaZkClient, partitions: Iterable[TopicPartition]
    ) -> None:
        self._context = context
        self._zk = zk
        self.remaining = list(partitions)
        self._is_first = True

    async def states(self) -> dict[TopicPartition, LeaderAndIsr]:
        """Of those that remain: as the context knows them in the first round, later as they stand
        in ZooKeeper; the context then knows that too.

        A partition without a state is left out. Raises ControllerMovedError if a later controller
        has written one.
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
        """Write what was made of the states. Raises ControllerMovedError."""
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
