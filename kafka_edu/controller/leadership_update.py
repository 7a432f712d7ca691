"""A change of the leaders and ISRs of many partitions at once.

The controller decides, and writes each state with a check of its znode's version. If another writer
has changed the znode first, the controller reads the new state and decides again. (Kafka: the
common part of doElectLeaderForPartitions, doRemoveReplicasFromIsr and updateLeaderEpoch. Kafka
reads every znode before it decides.)

The context has the states and the versions of their znodes. So the first round uses the states in
the context and reads nothing from ZooKeeper. Each write names the version on which its decision is
based. If the znode has a different version by now, the write is refused.

If the controller decides to write nothing, no write checks the version. So the controller accepts
this decision only if it has just read the state from ZooKeeper. For example, a leader may add a
follower to the ISR and die before the controller has processed the notification. According to the
context, no replica can become leader then. In fact, that follower can.

An example of the cost: a controller takes over 3,000 partitions. Its dead predecessor led 1,000 of
them and was in every ISR. The controller reads 3,000 states, removes the predecessor from 3,000
ISRs and holds 1,000 elections: 7,000 requests. With a read before each write there would be 11,000
requests.

Next: the caller (a state machine or PartitionReassignments) puts the result into
ControllerBrokersRequestBatch (controller_brokers_request_batch.py).
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
    """The result of one round of a LeadershipUpdate.

    A partition that is in none of these fields is processed again in the next round.
    """

    written: dict[TopicPartition, LeaderIsrAndControllerEpoch]
    """Partition → its state in ZooKeeper now. The caller must put the states into the context."""
    unchanged: list[TopicPartition]
    """The partitions whose state was just read and needs no change, or that have no state."""
    failed: dict[TopicPartition, ZkError]


class LeadershipUpdate:
    """One change of many partitions. It takes rounds until no partitions are `remaining`.

    In each round the caller calls `states`, decides, and calls `write`. The object lives only while
    one event is processed.
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
        controller with a higher epoch has written one of the states.
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
        """Write the decided states, and return the result of this round.

        Raises ControllerMovedError if another broker has become the controller.
        """
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
