"""Moves partitions from broker to broker while clients write and read these partitions.

(Kafka: KafkaController.onPartitionReassignment; KIP-455; spec C5.) `partition_reassignment_plan`
and `cluster.topic_assignment` define the requests and the sets of replicas. RS are all replicas, AR
those being added, and RR those being removed. (AR has this meaning only in this module, as in
Kafka's comments. Elsewhere AR are the assigned replicas.) Each phase is done for all partitions at
once:

    U1  Write the new assignment (RS, AR, RR) into the topics' znodes.
        From now on, a new controller would find the reassignment and continue it.
    U2  Put it into the context; stop replicas that a new target no longer needs.
    A   While the ISR lacks a replica of the target:
    A1    Send a new leader epoch to every replica of RS,
          so that the leader lets the new ones fetch and join.
    A2    AR become New: they fetch from the leader. Then wait; the state znode is watched.
    B   When the target is in the ISR:
    B1    AR become Online.
    B2    RS = target; AR and RR are empty, in the context.
    B3    Make sure that the leader is in the target: elect a leader (ReassignPartition)
          if the leader is removed or dead; otherwise keep the leader in a new epoch.
    B4    RR become Offline and leave the ISR.
    B5    RR become DeletionStarted, DeletionSuccessful, NonExistent:
          their brokers delete them, and we do not wait for the responses.
    B6    Write the assignment of B2 into the topics' znodes.
    B7    Remove the entry from /admin/reassign_partitions; delete the znode with the last one.
    B8    Send the metadata to every broker.

No acknowledged record is lost during a reassignment. No replica is removed before the whole target
is in the ISR, and each replica of the ISR has every acknowledged record.

The work may be interrupted at any point. The next controller reads AR and RR in the topics' znodes.
It also reads the order that is still in /admin/reassign_partitions. (Below
inter.broker.protocol.version 2.4 it finds only the order.) Then it begins again with U or A, and it
is safe to do a step twice. When a broker of a target starts, the reassignments to that broker also
begin again. A topic that is to be deleted waits until its reassignments end.

The watch on a state znode fires when a leader changes the ISR. Many watches may fire within a short
time. Their partitions are collected, and one event processes all of them.

Next: `ZkReplicaStateMachine.handle_state_changes` (zk_replica_state_machine.py).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kafka_edu.cluster.topic_assignment import ReplicaAssignment
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_brokers_request_batch import ControllerBrokersRequestBatch
from kafka_edu.controller.controller_context import ControllerContext, PartitionAndReplica
from kafka_edu.controller.leader_election import ElectionStrategy
from kafka_edu.controller.leadership_update import LeadershipUpdate
from kafka_edu.controller.partition_reassignment_plan import (
    ReassignmentPlan,
    ReassignmentResult,
    missing_replicas,
    plan_reassignments,
)
from kafka_edu.controller.partition_state_machine import PartitionState
from kafka_edu.controller.replica_state_machine import ReplicaState
from kafka_edu.controller.topic_deletion_manager import TopicDeletionManager
from kafka_edu.controller.zk_partition_state_machine import ZkPartitionStateMachine
from kafka_edu.controller.zk_replica_state_machine import ZkReplicaStateMachine
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.controller import StateChangeRefused
from kafka_edu.trace.events.reassignment import (
    LeaderEpochIncremented,
    ReassignmentCaughtUp,
    ReassignmentCompleted,
    ReassignmentOrderShrunk,
    ReassignmentRefused,
    ReassignmentReplicasStopped,
    ReassignmentSnapshot,
    ReassignmentStarted,
    ReassignmentWaits,
)
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_data import TopicPartitionStateZNode

Assignments = Mapping[TopicPartition, ReplicaAssignment]
REASON = "its replicas are being reassigned"
STOPPED = "it was reassigned"


class PartitionReassignments:
    """The running reassignments; only the event task of KafkaController uses this object."""

    def __init__(
        self,
        context: ControllerContext,
        zk: KafkaZkClient,
        batch: ControllerBrokersRequestBatch,
        partition_state_machine: ZkPartitionStateMachine,
        replica_state_machine: ZkReplicaStateMachine,
        deletions: TopicDeletionManager,
        tell: Callable[[Event], int] | None,
    ) -> None:
        self._context = context
        self._zk = zk
        self._batch = batch
        self._partition_state_machine = partition_state_machine
        self._replica_state_machine = replica_state_machine
        self._deletions = deletions
        self._tell = tell
        self._isr_changes: dict[TopicPartition, None] = {}

    # The beginning of reassignments, and their continuation after an interruption.

    async def resume(self) -> None:
        """Continue the running reassignments, and begin those that /admin/reassign_partitions
        orders.

        A new controller calls this method at its election. The running reassignments are in the
        topics' znodes.
        """
        await self._reassign(self._running(), "controller")
        await self.order()

    async def brokers_started(self, broker_ids: Iterable[int]) -> None:
        """Begin again the reassignments that wait for one of these brokers.

        A broker that was dead may never have received the request to create its new replicas.
        """
        started = set(broker_ids)
        await self._reassign(
            {tp: a for tp, a in self._running().items() if started.intersection(a.target_replicas)},
            "controller",
        )

    async def order(self) -> None:
        """Process the reassignments in /admin/reassign_partitions, and watch the znode.

        Entries that are refused are removed from the znode.
        """
        ordered = await self._zk.get_partition_reassignment(watch=True) or {}
        new = {
            tp: target for tp, target in ordered.items() if not self._is_on_its_way_to(tp, target)
        }
        plan = plan_reassignments(self._context, new, new_replicas_must_live=False)
        self._refuse(plan, new)
        if plan.refused:
            await self._shrink_order(lambda tp, _: tp in plan.refused)
        await self._reassign(plan.accepted, "znode")

    async def alter(
        self, wanted: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, ReassignmentResult]:
        """Process the requests of AlterPartitionReassignments, and return the result of each.

        `wanted` has each partition's future brokers, or None to cancel. The latest request counts,
        so entries for the same partitions are removed from /admin/reassign_partitions.
        """
        plan = plan_reassignments(self._context, wanted, new_replicas_must_live=True)
        self._refuse(plan, wanted)
        if plan.accepted:
            await self._shrink_order(lambda tp, _: tp in plan.accepted)
        cancelled = {
            tp: assignment for tp, assignment in plan.accepted.items() if wanted[tp] is None
        }
        await self._reassign(cancelled, "cancellation")
        await self._reassign(
            {tp: assignment for tp, assignment in plan.accepted.items() if tp not in cancelled},
            "api",
        )
        return {tp: plan.refused.get(tp, ReassignmentResult(Errors.NONE)) for tp in wanted}

    def note_isr_change(self, tp: TopicPartition) -> bool:
        """Record that the watch of a partition's state znode has fired.

        Returns whether the caller must queue an event. That is true only for the first call since
        the last `isr_changed`.
        """
        first = not self._isr_changes
        self._isr_changes[tp] = None
        return first

    async def isr_changed(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Complete each reassignment whose whole target is in the ISR now.

        The method checks `partitions`, and the partitions recorded by `note_isr_change`.
        """
        changed = dict.fromkeys([*self._isr_changes, *partitions])
        self._isr_changes.clear()
        running = [tp for tp in changed if tp in self._context.partitions_being_reassigned]
        if running:
            await self._complete(await self._in_sync(running))

    def snapshot(self) -> Iterator[Event]:
        for tp, assignment in self._running().items():
            yield ReassignmentSnapshot(
                topic=tp.topic,
                partition=tp.partition,
                replicas=assignment.replicas,
                adding=assignment.adding_replicas,
                removing=assignment.removing_replicas,
            )

    def _running(self) -> dict[TopicPartition, ReplicaAssignment]:
        return {
            tp: self._context.partition_full_replica_assignment(tp)
            for tp in sorted(self._context.partitions_being_reassigned)
        }

    def _is_on_its_way_to(self, tp: TopicPartition, target: tuple[int, ...]) -> bool:
        return (
            tp in self._context.partitions_being_reassigned
            and self._context.partition_full_replica_assignment(tp).target_replicas == target
        )

    def _refuse(
        self, plan: ReassignmentPlan, wanted: Mapping[TopicPartition, Sequence[int] | None]
    ) -> None:
        if self._tell:
            for tp, (error, message) in plan.refused.items():
                self._tell(
                    ReassignmentRefused(
                        topic=tp.topic,
                        partition=tp.partition,
                        target=tuple(wanted[tp] or ()),
                        error_code=error,
                        reason=message or error.message,
                    )
                )

    # The phases that the module's docstring lists.

    async def _reassign(self, assignments: Assignments, ordered_by: str) -> None:
        """Begin the given reassignments, and do all their phases that are possible now."""
        if not assignments:
            return
        self._deletions.mark_ineligible(sorted({tp.topic for tp in assignments}), REASON)
        there = await self._assign(assignments, ordered_by)
        self._context.partitions_being_reassigned.update(there)
        complete = dict.fromkeys(await self._in_sync(there))
        await self._start_new_replicas([tp for tp in there if tp not in complete])
        await self._complete(list(complete))

    async def _assign(self, assignments: Assignments, ordered_by: str) -> list[TopicPartition]:
        """Do phases U1 and U2: write the new assignments, and stop replicas no longer needed.

        Return the partitions whose topics still exist. The other topics are forgotten when the
        watch on /brokers/topics fires.
        """
        context = self._context
        before = {tp: context.partition_full_replica_assignment(tp) for tp in assignments}
        changes = {
            tp: assignment for tp, assignment in assignments.items() if before[tp] != assignment
        }
        gone = await self._zk.update_replica_assignments(changes, context.epoch_zk_version)
        there = [tp for tp in assignments if tp.topic not in gone]
        unneeded: dict[TopicPartition, tuple[int, ...]] = {}
        for tp in there:
            context.update_assignment(tp, assignments[tp])
            unneeded[tp] = tuple(
                r for r in before[tp].replicas if r not in assignments[tp].replicas
            )
            if self._tell:
                self._tell(
                    ReassignmentStarted(
                        topic=tp.topic,
                        partition=tp.partition,
                        ordered_by=ordered_by,
                        before=before[tp].replicas,
                        replicas=assignments[tp].replicas,
                        adding=assignments[tp].adding_replicas,
                        removing=assignments[tp].removing_replicas,
                    )
                )
        await self._stop_replicas(unneeded, "the new target does not need it")
        return there

    async def _in_sync(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions whose whole target is in the ISR, according to ZooKeeper.

        The state znode of each partition is also watched for its next change.
        """
        context = self._context
        states = await self._zk.get_topic_partition_states(partitions, watch=True)
        complete = []
        for tp in partitions:
            assignment = context.partition_full_replica_assignment(tp)
            if tp in states:
                context.put_partition_leadership_info(tp, states[tp])
            isr = states[tp].leader_and_isr.isr if tp in states else ()
            missing = missing_replicas(assignment, isr)
            if not missing:
                complete.append(tp)
            if self._tell:
                target = assignment.target_replicas
                self._tell(
                    ReassignmentWaits(
                        topic=tp.topic,
                        partition=tp.partition,
                        isr=isr,
                        target=target,
                        missing=missing,
                    )
                    if missing
                    else ReassignmentCaughtUp(
                        topic=tp.topic,
                        partition=tp.partition,
                        isr=isr,
                        target=target,
                        removing=assignment.removing_replicas,
                    )
                )
        return complete

    async def _start_new_replicas(self, partitions: Sequence[TopicPartition]) -> None:
        """Do phases A1 and A2: send a new leader epoch, and let the added replicas become New."""
        context = self._context
        adding = {
            tp: context.partition_full_replica_assignment(tp).adding_replicas for tp in partitions
        }
        new = {PartitionAndReplica(tp, r) for tp in partitions for r in adding[tp]}
        new = {
            replica
            for replica in new
            if context.replica_state(replica) is ReplicaState.NON_EXISTENT
        }
        await self._increment_leader_epoch(partitions, new)
        await self._replica_state_machine.handle_state_changes(
            sorted(new), ReplicaState.NEW, REASON
        )

    async def _complete(self, partitions: Sequence[TopicPartition]) -> None:
        """Do phases B1 to B8: finish the reassignments whose target is in the ISR."""
        if not partitions:
            return
        context = self._context
        assignments = {tp: context.partition_full_replica_assignment(tp) for tp in partitions}
        await self._bring_online(assignments)
        completed = {
            tp: ReplicaAssignment(assignment.target_replicas)
            for tp, assignment in assignments.items()
        }
        for tp, assignment in completed.items():
            context.update_assignment(tp, assignment)
        moving = [tp for tp in partitions if not self._leader_stays(tp)]
        await self._increment_leader_epoch([tp for tp in partitions if self._leader_stays(tp)])
        await self._elect(moving)
        await self._stop_replicas(
            {tp: assignment.removing_replicas for tp, assignment in assignments.items()}, STOPPED
        )
        await self._finish(completed)

    async def _bring_online(self, assignments: Assignments) -> None:
        """Do phase B1: the added replicas become Online."""
        added = [
            PartitionAndReplica(tp, r)
            for tp, assignment in assignments.items()
            for r in assignment.adding_replicas
        ]
        await self._replica_state_machine.handle_state_changes(
            added, ReplicaState.ONLINE, "it has caught up"
        )

    async def _elect(self, partitions: Sequence[TopicPartition]) -> None:
        """Do phase B3 for the partitions whose leader is removed or dead: elect a leader."""
        await self._partition_state_machine.handle_state_changes(
            partitions,
            PartitionState.ONLINE,
            "its replicas have been reassigned",
            ElectionStrategy.REASSIGN_PARTITION,
        )

    async def _finish(self, completed: Assignments) -> None:
        """Do phases B6 to B8: write the final assignments, and send the metadata to all brokers."""
        context, partitions = self._context, list(completed)
        await self._zk.update_replica_assignments(completed, context.epoch_zk_version)
        context.partitions_being_reassigned.difference_update(partitions)
        await self._shrink_order(
            lambda tp, target: tp in completed and target == completed[tp].replicas
        )
        self._batch.new_batch()
        self._batch.add_update_metadata_request(
            context.live_or_shutting_down_broker_ids, partitions
        )
        self._batch.send_requests_to_brokers()
        if self._tell:
            for tp in partitions:
                self._tell(
                    ReassignmentCompleted(
                        topic=tp.topic,
                        partition=tp.partition,
                        replicas=completed[tp].replicas,
                        leader=self._leader(tp),
                    )
                )
        await self._deletions.resume_deletion_for_topics({tp.topic for tp in partitions})

    def _leader(self, tp: TopicPartition) -> int:
        state = self._context.partition_leadership_info(tp)
        return state.leader_and_isr.leader if state is not None else -1

    def _leader_stays(self, tp: TopicPartition) -> bool:
        leader = self._leader(tp)
        return leader in self._context.partition_replica_assignment(
            tp
        ) and self._context.is_replica_online(leader, tp)

    async def _increment_leader_epoch(
        self, partitions: Sequence[TopicPartition], new: Iterable[PartitionAndReplica] = ()
    ) -> None:
        """Keep each leader and ISR, raise the leader epoch by one, and send it to all replicas.

        The same request brings the new assignment to the replicas. A partition that never had a
        leader has no state, and is left out.
        """
        if not partitions:
            return
        context, is_new = self._context, set(new)
        self._batch.new_batch()
        update = LeadershipUpdate(context, self._zk, partitions)
        try:
            while update.remaining:
                states = await update.states()
                written, _, failed = await update.write(
                    {tp: state.with_leader(state.leader, state.isr) for tp, state in states.items()}
                )
                for tp, state in written.items():
                    context.put_partition_leadership_info(tp, state)
                    replicas = context.partition_replica_assignment(tp)
                    if self._tell:
                        leader, leader_epoch, isr, zk_version = state.leader_and_isr
                        self._tell(
                            LeaderEpochIncremented(
                                topic=tp.topic,
                                partition=tp.partition,
                                leader=leader,
                                leader_epoch=leader_epoch,
                                isr=isr,
                                replicas=replicas,
                                zk_path=TopicPartitionStateZNode.path(tp),
                                zk_version=zk_version,
                            )
                        )
                    for replica in replicas:
                        self._batch.add_leader_and_isr_request(
                            [replica], tp, state, is_new=PartitionAndReplica(tp, replica) in is_new
                        )
                if self._tell:
                    for tp, error in failed.items():
                        before = context.partition_state(tp).value
                        self._tell(
                            StateChangeRefused(
                                topic=tp.topic,
                                partition=tp.partition,
                                replica=-1,
                                before=before,
                                after=PartitionState.ONLINE.value,
                                reason=str(error),
                            )
                        )
        except BaseException:
            self._batch.clear()
            raise
        self._batch.send_requests_to_brokers()

    async def _stop_replicas(
        self, removed: Mapping[TopicPartition, Iterable[int]], reason: str
    ) -> None:
        """Remove replicas from the ISR, stop them, delete them, and forget them."""
        replicas = [PartitionAndReplica(tp, r) for tp, brokers in removed.items() for r in brokers]
        for state in (
            ReplicaState.OFFLINE,
            ReplicaState.DELETION_STARTED,
            ReplicaState.DELETION_SUCCESSFUL,
            ReplicaState.NON_EXISTENT,
        ):
            await self._replica_state_machine.handle_state_changes(replicas, state, reason)
        if self._tell:
            for tp, brokers in removed.items():
                if stopped := tuple(brokers):
                    self._tell(
                        ReassignmentReplicasStopped(
                            topic=tp.topic, partition=tp.partition, replicas=stopped, reason=reason
                        )
                    )

    async def _shrink_order(self, done: Callable[[TopicPartition, tuple[int, ...]], bool]) -> None:
        """Do phase B7: remove the entries for which `done` returns true.

        The entries are in the znode /admin/reassign_partitions. Only this method changes that
        znode.
        """
        left = await self._zk.remove_from_partition_reassignment(
            done, self._context.epoch_zk_version
        )
        if self._tell and left is not None:
            self._tell(ReassignmentOrderShrunk(left=len(left)))
