"""Deletes topics. If a topic cannot be deleted now, the deletion waits until it is possible.

(Kafka: TopicDeletionManager.scala; spec C4.) The znode `/admin/delete_topics/<topic>` is the order
to delete a topic. The event task then does these steps:

1. The topic is *queued*. Its partitions become Offline, then NonExistent. The brokers get metadata
   with leader -2, which means "being deleted".
2. The replicas on live brokers become Offline, then DeletionStarted, and StopReplica with delete is
   sent to their brokers. The deletion has *started*.
3. Each broker's response moves its replicas to DeletionSuccessful or DeletionIneligible. A replica
   on a dead broker becomes DeletionIneligible at once.
4. When all replicas are DeletionSuccessful, the topic's znodes are deleted, and finally the order.
   The deletion is *complete*. If a replica is DeletionIneligible, the topic is *ineligible* and
   waits.
   When the replica's broker comes back, or the topic's reassignment ends, the ineligible replicas
   become Offline, and the deletion continues with step 2.

With delete.topic.enable=false the orders are removed, and nothing is deleted.

Next: `ZkReplicaStateMachine.handle_state_changes` (zk_replica_state_machine.py).
"""

from collections.abc import Callable, Iterable

from kafka_edu.controller.controller_brokers_request_batch import ControllerBrokersRequestBatch
from kafka_edu.controller.controller_context import ControllerContext, PartitionAndReplica
from kafka_edu.controller.partition_state_machine import PartitionState
from kafka_edu.controller.replica_state_machine import ReplicaState
from kafka_edu.controller.zk_partition_state_machine import ZkPartitionStateMachine
from kafka_edu.controller.zk_replica_state_machine import ZkReplicaStateMachine
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.controller import TopicDeletionChanged
from kafka_edu.zk.kafka_zk_client import KafkaZkClient


class TopicDeletionManager:
    """The topics that are being deleted; only the event task of KafkaController uses it."""

    def __init__(
        self,
        delete_topic_enable: bool,
        context: ControllerContext,
        zk: KafkaZkClient,
        partition_state_machine: ZkPartitionStateMachine,
        replica_state_machine: ZkReplicaStateMachine,
        batch: ControllerBrokersRequestBatch,
        tell: Callable[[Event], int] | None,
    ) -> None:
        self._delete_topic_enable = delete_topic_enable
        self._context = context
        self._zk = zk
        self._partition_state_machine = partition_state_machine
        self._replica_state_machine = replica_state_machine
        self._batch = batch
        self._tell = tell

    async def init(self, ordered: Iterable[str]) -> None:
        """Record the topics that a new controller finds in /admin/delete_topics.

        Nothing is deleted before the state machines have started; then `resume_deletions` begins.
        """
        context = self._context
        topics = sorted(ordered)
        if not self._delete_topic_enable:
            await self._zk.delete_topic_deletions(topics, context.epoch_zk_version)
            return
        for topic in topics:
            context.topics_to_be_deleted.add(topic)
            dead = [
                r
                for r in context.replicas_for_topic(topic)
                if not context.is_replica_online(r.replica, r.topic_partition)
            ]
            if dead:
                self.mark_ineligible([topic], f"broker {dead[0].replica} is dead")
            if context.is_topic_being_reassigned(topic):
                self.mark_ineligible([topic], "its replicas are being reassigned")

    async def order(self, ordered: Iterable[str]) -> None:
        """Accept the new orders in /admin/delete_topics; `ordered` are all topics named there."""
        context = self._context
        topics = sorted(ordered)
        unknown = [topic for topic in topics if not context.has_topic(topic)]
        forbidden = [] if self._delete_topic_enable else topics
        if unknown or forbidden:
            await self._zk.delete_topic_deletions(
                sorted({*unknown, *forbidden}), context.epoch_zk_version
            )
        for topic in topics:
            if (
                topic not in context.topics_to_be_deleted
                and topic not in unknown
                and topic not in forbidden
            ):
                context.topics_to_be_deleted.add(topic)
                self._step(topic, "queued", "it was ordered")
                if context.is_topic_being_reassigned(topic):
                    self.mark_ineligible([topic], "its replicas are being reassigned")
        await self.resume_deletions()

    async def resume_deletion_for_topics(self, topics: Iterable[str]) -> None:
        """Try again to delete the given topics that wait and are not being reassigned."""
        context = self._context
        waiting = [
            t
            for t in sorted(set(topics) & context.topics_to_be_deleted)
            if not context.is_topic_being_reassigned(t)
        ]
        if waiting:
            context.topics_ineligible_for_deletion.difference_update(waiting)
            await self.resume_deletions()

    async def fail_replica_deletion(
        self, replicas: Iterable[PartitionAndReplica], reason: str
    ) -> None:
        """Record that these replicas could not be deleted. The deletion of their topics must
        wait.
        """
        failed = [
            r
            for r in replicas
            if self._context.is_topic_queued_up_for_deletion(r.topic_partition.topic)
        ]
        if failed:
            await self._replica_state_machine.handle_state_changes(
                failed, ReplicaState.DELETION_INELIGIBLE, reason
            )
            self.mark_ineligible(sorted({r.topic_partition.topic for r in failed}), reason)
            await self.resume_deletions()

    async def complete_replica_deletion(self, replicas: Iterable[PartitionAndReplica]) -> None:
        """Record that these replicas are deleted, and continue the deletion of their topics."""
        deleted = [
            r
            for r in replicas
            if self._context.is_topic_queued_up_for_deletion(r.topic_partition.topic)
        ]
        await self._replica_state_machine.handle_state_changes(
            deleted, ReplicaState.DELETION_SUCCESSFUL, "its broker has deleted it"
        )
        await self.resume_deletions()

    def mark_ineligible(self, topics: Iterable[str], reason: str) -> None:
        """Stop the deletion of these topics until `resume_deletion_for_topics` is called."""
        for topic in topics:
            if topic in self._context.topics_to_be_deleted:
                self._context.topics_ineligible_for_deletion.add(topic)
                self._step(topic, "ineligible", reason)

    async def resume_deletions(self) -> None:
        """Continue the deletion of every queued topic as far as it is possible now."""
        context = self._context
        for topic in sorted(context.topics_to_be_deleted):
            states = {
                context.replica_state(replica) for replica in context.replicas_for_topic(topic)
            }
            if states <= {ReplicaState.DELETION_SUCCESSFUL}:
                await self._complete_delete_topic(topic)
                continue
            if (
                ReplicaState.DELETION_STARTED in states
                or topic in context.topics_ineligible_for_deletion
            ):
                continue
            ineligible = context.replicas_in_state(topic, ReplicaState.DELETION_INELIGIBLE)
            await self._replica_state_machine.handle_state_changes(
                ineligible, ReplicaState.OFFLINE, "its deletion is tried again"
            )
            await self._start(topic)

    async def _start(self, topic: str) -> None:
        context = self._context
        partitions = context.partitions_for_topic(topic)
        if topic not in context.topics_with_deletion_started:
            for state in (PartitionState.OFFLINE, PartitionState.NON_EXISTENT):
                await self._partition_state_machine.handle_state_changes(
                    partitions, state, "its topic is being deleted"
                )
            context.topics_with_deletion_started.add(topic)
            self._step(topic, "started", "")
        self._batch.new_batch()
        self._batch.add_update_metadata_request(
            context.live_or_shutting_down_broker_ids, partitions
        )
        self._batch.send_requests_to_brokers()
        todo = [
            r
            for r in context.replicas_for_topic(topic)
            if context.replica_state(r) is not ReplicaState.DELETION_SUCCESSFUL
        ]
        alive = [
            r
            for r in todo
            if context.is_replica_online(r.replica, r.topic_partition, include_shutting_down=True)
        ]
        dead = [r for r in todo if r not in alive]
        change = self._replica_state_machine.handle_state_changes
        await change(todo, ReplicaState.OFFLINE, "its topic is being deleted")
        await change(dead, ReplicaState.DELETION_INELIGIBLE, "its broker is dead")
        await change(alive, ReplicaState.DELETION_STARTED, "its topic is being deleted")
        if dead:
            self.mark_ineligible([topic], f"broker {dead[0].replica} is dead")

    async def _complete_delete_topic(self, topic: str) -> None:
        """Delete the znodes of a topic whose replicas are all deleted."""
        context = self._context
        deleted = context.replicas_in_state(topic, ReplicaState.DELETION_SUCCESSFUL)
        context.topic_ids.pop(topic, None)
        await self._replica_state_machine.handle_state_changes(
            deleted, ReplicaState.NON_EXISTENT, "its topic is deleted"
        )
        await self._zk.delete_topic(topic, context.epoch_zk_version)
        context.remove_topic(topic)
        self._step(topic, "complete", "")

    def _step(self, topic: str, step: str, reason: str) -> None:
        if self._tell:
            self._tell(TopicDeletionChanged(topic=topic, step=step, reason=reason))
