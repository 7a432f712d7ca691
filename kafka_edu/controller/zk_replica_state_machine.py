"""Takes replicas through their states, and writes the results to ZooKeeper.

(Kafka: ZkReplicaStateMachine; book 000 §6.4.) The table of the allowed transitions is in
`replica_state_machine`. These transitions do more than change the state:

    → New              send LeaderAndIsr if the partition already has a leader (a reassignment)
    → Online           send LeaderAndIsr again
    → Offline          send StopReplica; remove the replica from the ISR in ZooKeeper
                       (leader -1 if it led), and send the new ISR to the others
    → DeletionStarted  send StopReplica with delete
    → NonExistent      remove the replica from the assignment

The other transitions only change the state. A step with many replicas pauses sometimes, so that
the broker can serve clients in between.

Next: `ControllerBrokersRequestBatch.send_requests_to_brokers`
(controller_brokers_request_batch.py).
"""

from collections.abc import Callable, Iterable, Sequence

from kafka_edu.cluster.leader_and_isr import NO_LEADER, LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.turns import Turn
from kafka_edu.controller.controller_brokers_request_batch import ControllerBrokersRequestBatch
from kafka_edu.controller.controller_context import ControllerContext, PartitionAndReplica
from kafka_edu.controller.leadership_update import LeadershipUpdate
from kafka_edu.controller.replica_state_machine import ReplicaState, may_become
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.controller import ReplicaRemovedFromIsr, StateChangeRefused
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_data import TopicPartitionStateZNode


class ZkReplicaStateMachine:
    """The state machine of all replicas; only the event task of KafkaController uses it."""

    def __init__(
        self,
        context: ControllerContext,
        zk: KafkaZkClient,
        batch: ControllerBrokersRequestBatch,
        turn: Turn,
        tell: Callable[[Event], int] | None,
    ) -> None:
        self._context = context
        self._zk = zk
        self._batch = batch
        self._turn = turn
        self._tell = tell

    async def startup(self) -> None:
        """Set the replicas on live brokers to Online, and all other replicas to Offline.

        The online replicas receive LeaderAndIsr. As in Kafka, the replicas on dead brokers are
        DeletionIneligible first. If the topic of such a replica is being deleted, the deletion must
        wait for its broker.
        """
        online, offline = [], []
        for replica in self._context.replicas_for_partitions(self._context.all_partitions):
            if self._context.is_replica_online(replica.replica, replica.topic_partition):
                self._context.put_replica_state(replica, ReplicaState.ONLINE, "its broker is alive")
                online.append(replica)
            else:
                self._context.put_replica_state(
                    replica, ReplicaState.DELETION_INELIGIBLE, "its broker is dead"
                )
                offline.append(replica)
            await self._turn.pause()
        await self.handle_state_changes(online, ReplicaState.ONLINE, "the controller started")
        await self.handle_state_changes(offline, ReplicaState.OFFLINE, "the controller started")

    async def handle_state_changes(
        self, replicas: Iterable[PartitionAndReplica], target: ReplicaState, reason: str
    ) -> None:
        """Take `replicas` to the state `target`.

        A transition that is not in the table is not done; an event reports it.
        """
        by_broker: dict[int, list[PartitionAndReplica]] = {}
        for replica in replicas:
            by_broker.setdefault(replica.replica, []).append(replica)
        if not by_broker:
            return
        self._batch.new_batch()
        try:
            for broker_id in sorted(by_broker):
                await self._change(broker_id, by_broker[broker_id], target, reason)
        except BaseException:
            self._batch.clear()
            raise
        self._batch.send_requests_to_brokers()

    async def _change(
        self,
        broker_id: int,
        replicas: Sequence[PartitionAndReplica],
        target: ReplicaState,
        reason: str,
    ) -> None:
        valid = []
        for replica in replicas:
            if may_become(self._context.replica_state(replica), target):
                valid.append(replica)
            else:
                self._refuse(replica, target, "the table has no such transition")
        match target:
            case ReplicaState.NEW:
                valid = [replica for replica in valid if self._become_new(replica)]
            case ReplicaState.ONLINE:
                for replica in valid:
                    self._become_online(replica)
                    await self._turn.pause()
            case ReplicaState.OFFLINE:
                await self._become_offline(broker_id, valid, reason)
                return
            case ReplicaState.DELETION_STARTED:
                for replica in valid:
                    self._batch.add_stop_replica_request(
                        [broker_id], replica.topic_partition, delete=True
                    )
                    await self._turn.pause()
            case ReplicaState.NON_EXISTENT:
                for replica in valid:
                    self._leave_assignment(replica)
                    await self._turn.pause()
        for replica in valid:
            self._context.put_replica_state(replica, target, reason)
            await self._turn.pause()

    def _become_new(self, replica: PartitionAndReplica) -> bool:
        tp, broker_id = replica
        state = self._context.partition_leadership_info(tp)
        if state is not None and state.leader_and_isr.leader == broker_id:
            self._refuse(replica, ReplicaState.NEW, "it is the leader")
            return False
        if state is not None:
            self._batch.add_leader_and_isr_request([broker_id], tp, state, is_new=True)
        return True

    def _become_online(self, replica: PartitionAndReplica) -> None:
        tp, broker_id = replica
        state = self._context.partition_leadership_info(tp)
        if self._context.replica_state(replica) is not ReplicaState.NEW and state is not None:
            self._batch.add_leader_and_isr_request([broker_id], tp, state, is_new=False)

    async def _become_offline(
        self, broker_id: int, replicas: Sequence[PartitionAndReplica], reason: str
    ) -> None:
        context = self._context
        for replica in replicas:
            self._batch.add_stop_replica_request([broker_id], replica.topic_partition, delete=False)
            await self._turn.pause()
        ever_led = [
            replica.topic_partition
            for replica in replicas
            if context.partition_leadership_info(replica.topic_partition) is not None
        ]
        for tp, state in (await self._remove_replicas_from_isr(broker_id, ever_led)).items():
            if not context.is_topic_queued_up_for_deletion(tp.topic):
                others = [
                    replica
                    for replica in context.partition_replica_assignment(tp)
                    if replica != broker_id
                ]
                self._batch.add_leader_and_isr_request(others, tp, state, is_new=False)
            await self._turn.pause()
        for replica in replicas:
            if context.partition_leadership_info(replica.topic_partition) is None:
                self._batch.add_update_metadata_request(
                    context.live_or_shutting_down_broker_ids, [replica.topic_partition]
                )
            context.put_replica_state(replica, ReplicaState.OFFLINE, reason)
            await self._turn.pause()

    async def _remove_replicas_from_isr(
        self, broker_id: int, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, LeaderIsrAndControllerEpoch]:
        """Remove `broker_id` from the partitions' ISRs, and return the new states.

        The last replica of an ISR stays in it, but no longer leads. Only this replica has all
        acknowledged records, and it may come back.
        """
        context = self._context
        update = LeadershipUpdate(context, self._zk, partitions)
        while update.remaining:
            states = await update.states()
            written, _, failed = await update.write(
                {
                    tp: _without(broker_id, state)
                    for tp, state in states.items()
                    if broker_id in state.isr
                }
            )
            for tp, error in failed.items():
                self._refuse(PartitionAndReplica(tp, broker_id), ReplicaState.OFFLINE, str(error))
            for tp, state in written.items():
                await self._turn.pause()
                context.put_partition_leadership_info(tp, state)
                if self._tell:
                    leader, leader_epoch, isr, zk_version = state.leader_and_isr
                    path = TopicPartitionStateZNode.path(tp)
                    self._tell(
                        ReplicaRemovedFromIsr(
                            topic=tp.topic,
                            partition=tp.partition,
                            replica=broker_id,
                            isr_before=states[tp].isr,
                            isr=isr,
                            leader=leader,
                            leader_epoch=leader_epoch,
                            zk_path=path,
                            zk_version=zk_version,
                        )
                    )
        stand = ((tp, context.partition_leadership_info(tp)) for tp in partitions)
        return {tp: state for tp, state in stand if state is not None}

    def _leave_assignment(self, replica: PartitionAndReplica) -> None:
        tp, broker_id = replica
        self._context.update_assignment(
            tp, self._context.partition_full_replica_assignment(tp).remove_replica(broker_id)
        )

    def _refuse(self, replica: PartitionAndReplica, target: ReplicaState, reason: str) -> None:
        if self._tell:
            before = self._context.replica_state(replica).value
            self._tell(
                StateChangeRefused(
                    topic=replica.topic_partition.topic,
                    partition=replica.topic_partition.partition,
                    replica=replica.replica,
                    before=before,
                    after=target.value,
                    reason=reason,
                )
            )


def _without(broker_id: int, state: LeaderAndIsr) -> LeaderAndIsr:
    """Return `state` after the broker is removed from its ISR and from its leadership.

    If the broker is the last member of the ISR, it stays in the ISR.
    """
    leader = NO_LEADER if state.leader == broker_id else state.leader
    return state.with_leader(
        leader,
        (
            state.isr
            if len(state.isr) == 1
            else tuple(replica for replica in state.isr if replica != broker_id)
        ),
    )
