"""The active controller: how it reacts to each event.

(Kafka: the `process…` and `on…` methods of KafkaController.scala; book 000 §6.4.) The broker
creates an ActiveController when it wins an election, and drops the object when it resigns. The
context, the state machines and the channels are dropped at the same time.

All methods run in the event task, one after the other. They wait only for ZooKeeper, through the
given client. The decisions themselves are plain functions and tables: `leader_election`,
`partition_reassignment_plan` and the tables of the two state machines.

Next: `ZkPartitionStateMachine.handle_state_changes` (zk_partition_state_machine.py) and
`ZkReplicaStateMachine.handle_state_changes` (zk_replica_state_machine.py).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random
from typing import Final, NamedTuple

from kafka_edu.cluster.broker import Broker
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.turns import Turn
from kafka_edu.controller.controller_brokers_request_batch import ControllerBrokersRequestBatch
from kafka_edu.controller.controller_channel_manager import ControllerChannels
from kafka_edu.controller.controller_context import ControllerContext, PartitionAndReplica
from kafka_edu.controller.isr_alterations import AlteredIsr, alter_isrs
from kafka_edu.controller.leader_election import ElectionStrategy
from kafka_edu.controller.partition_reassignment_plan import list_reassignments
from kafka_edu.controller.partition_reassignments import PartitionReassignments
from kafka_edu.controller.partition_state_machine import PartitionState
from kafka_edu.controller.replica_state_machine import ReplicaState
from kafka_edu.controller.requested_elections import (
    ElectionResult,
    ElectionTrigger,
    ElectionType,
    elect_leaders,
    measure_imbalance,
)
from kafka_edu.controller.shutdown_rule import Concerned, ShutdownRule
from kafka_edu.controller.topic_deletion_manager import TopicDeletionManager
from kafka_edu.controller.zk_partition_state_machine import ZkPartitionStateMachine
from kafka_edu.controller.zk_replica_state_machine import ZkReplicaStateMachine
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.controller import (
    BrokerFailed,
    BrokerJoined,
    BrokerListenersChanged,
    ControlledShutdownProcessed,
    ElectionsHeld,
    LeaderImbalanceMeasured,
)
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_data import TOPIC_IDS, ReplicaAssignment, TopicAssignment, random_uuid

LEADERSHIPS_A_STEP: Final = 100
"""The maximum number of leaderships that move in one step when a broker shuts down."""


class ControllerConfig(NamedTuple):
    """The broker's settings that concern the controller; each field names its key."""

    inter_broker_listener_name: str
    """The listener for connections between brokers (inter.broker.listener.name)."""
    control_plane_listener_name: str | None
    """The listener only for the controller's requests, if any (control.plane.listener.name)."""
    unclean_leader_election_enable: bool
    """Whether a replica outside the ISR may lead (unclean.leader.election.enable).

    A topic may override the value.
    """
    delete_topic_enable: bool
    """Whether topics can be deleted (delete.topic.enable)."""
    auto_leader_rebalance_enable: bool
    """Whether a timer returns leadership to preferred replicas (auto.leader.rebalance.enable)."""
    leader_imbalance_check_interval_seconds: int
    """Seconds between two rebalances (leader.imbalance.check.interval.seconds)."""
    leader_imbalance_per_broker_percentage: int
    """Allowed imbalance of a broker in percent (leader.imbalance.per.broker.percentage)."""
    controller_socket_timeout_ms: int

    @property
    def listener_name(self) -> str:
        """The name of the listener through which the controller connects to brokers.

        (Kafka: controllerToBrokerListenerName.)
        """
        return self.control_plane_listener_name or self.inter_broker_listener_name


class ActiveController:
    """One broker's term of office as the active controller."""

    def __init__(
        self,
        broker_id: int,
        config: ControllerConfig,
        epoch: int,
        epoch_zk_version: int,
        zk: KafkaZkClient,
        channels: ControllerChannels,
        random: Random,
        time: Time,
        tell: Callable[[Event], int] | None,
    ) -> None:
        self._config = config
        self._zk = zk
        self._channels = channels
        self._random = random
        self._tell = tell
        self._shutdown_rule = ShutdownRule()
        self._unclean_by_default = config.unclean_leader_election_enable
        self.context = context = ControllerContext(epoch, epoch_zk_version, tell)
        self._batch = batch = ControllerBrokersRequestBatch(
            broker_id,
            context,
            zk.inter_broker_protocol,
            config.inter_broker_listener_name,
            channels.send_request,
        )
        turn = Turn(time)
        self._partition_machine = ZkPartitionStateMachine(
            context, zk, batch, lambda: self._unclean_by_default, turn, tell
        )
        self._replica_machine = ZkReplicaStateMachine(context, zk, batch, turn, tell)
        self._deletions = TopicDeletionManager(
            config.delete_topic_enable,
            context,
            zk,
            self._partition_machine,
            self._replica_machine,
            batch,
            tell,
        )
        self.reassignments = PartitionReassignments(
            context,
            zk,
            batch,
            self._partition_machine,
            self._replica_machine,
            self._deletions,
            tell,
        )

    # The beginning and the end of the term of office.

    async def take_office(self) -> None:
        """Read and watch the whole cluster in ZooKeeper; then update every partition and broker.

        (Kafka: onControllerFailover.) Notifications about ISRs and log dirs that an earlier
        controller has left in ZooKeeper are deleted without being read, because this method reads
        the current state anyway.
        """
        context, zk = self.context, self._zk
        version = context.epoch_zk_version
        await zk.delete_log_dir_event_notifications(
            await zk.get_log_dir_event_notifications(watch=True), version
        )
        await zk.delete_isr_change_notifications(
            await zk.get_isr_change_notifications(watch=True), version
        )
        brokers = await zk.get_all_brokers_in_cluster(watch=True, watch_each=True)
        context.set_live_brokers(brokers.values())
        for topic, assignment in (
            await self._read_topics(await zk.get_all_topics_in_cluster(watch=True))
        ).items():
            context.add_topic(topic, assignment)
        await self._update_leadership(context.all_partitions)
        for broker in brokers.values():
            self._channels.add_broker(broker)
        await self._deletions.init(await zk.get_topic_deletions(watch=True))
        self._send_update_metadata(context.live_or_shutting_down_broker_ids, ())
        await self._replica_machine.startup()
        await self._partition_machine.startup()
        await self.reassignments.resume()
        await self._deletions.resume_deletions()
        await self.preferred_replica_election()

    async def leave_office(self) -> None:
        """Close all channels, and drop the requests that are not sent yet.

        The next controller reads the state from ZooKeeper and sends its own requests.
        """
        self._batch.clear()
        await self._channels.shutdown()

    async def _read_topics(self, topics: Iterable[str]) -> Mapping[str, TopicAssignment]:
        """Return topic → assignment as read from ZooKeeper, and watch each topic.

        From inter.broker.protocol.version 2.8 on, every topic has an id. A topic that an older tool
        created gets its id here (KIP-516).
        """
        found = await self._zk.get_assignment_for_topics(topics, watch=True)
        if self._zk.inter_broker_protocol >= TOPIC_IDS:
            for topic, assignment in found.items():
                if assignment.topic_id is None:
                    found[topic] = assignment._replace(topic_id=random_uuid(self._random))
                    await self._zk.set_topic_assignment(
                        topic, found[topic], self.context.epoch_zk_version
                    )
        return found

    async def _update_leadership(self, partitions: Iterable[TopicPartition]) -> None:
        for tp, state in (await self._zk.get_topic_partition_states(partitions)).items():
            self.context.put_partition_leadership_info(tp, state)

    def _send_update_metadata(
        self, broker_ids: Iterable[int], partitions: Iterable[TopicPartition]
    ) -> None:
        self._batch.new_batch()
        self._batch.add_update_metadata_request(broker_ids, partitions)
        self._batch.send_requests_to_brokers()

    # Brokers.

    async def broker_change(self) -> None:
        """Compare the brokers in ZooKeeper with the known brokers, and react to each difference.

        If a known broker has a higher epoch now, it has restarted in the meantime. The controller
        handles such a broker first as a failed broker, and then as a started broker.
        """
        context = self.context
        current = await self._zk.get_all_brokers_in_cluster(watch=True, watch_each=True)
        known = {broker.id: broker for broker in context.live_or_shutting_down_brokers}
        started = [broker for broker_id, broker in current.items() if broker_id not in known]
        bounced = [
            broker
            for broker_id, broker in current.items()
            if broker_id in known and broker.epoch > known[broker_id].epoch
        ]
        dead = [broker_id for broker_id in known if broker_id not in current]
        for broker_id in [*dead, *(broker.id for broker in bounced)]:
            self._channels.remove_broker(broker_id)
        for broker in sorted([*started, *bounced]):
            self._channels.add_broker(broker)
        if started:
            context.add_live_brokers(started)
            await self._on_broker_startup(started, bounced=False)
        if bounced:
            context.remove_live_brokers(broker.id for broker in bounced)
            await self._on_broker_failure([broker.id for broker in bounced])
            context.add_live_brokers(bounced)
            await self._on_broker_startup(bounced, bounced=True)
        if dead:
            context.remove_live_brokers(dead)
            await self._on_broker_failure(dead)

    async def broker_modifications(self, broker_id: int) -> None:
        """Send a broker's new listeners to all brokers, and connect to its new address.

        The context keeps the broker's known epoch. A changed epoch means that the broker has
        restarted in the meantime; `broker_change` handles that.
        """
        broker, known = (
            await self._zk.get_broker(broker_id, watch=True),
            self.context.live_broker(broker_id),
        )
        if broker is None or known is None or broker.end_points == known.end_points:
            return
        self.context.add_live_brokers([broker._replace(epoch=known.epoch)])
        self._channels.update_broker(broker)
        if self._tell:
            before, after = tuple(map(str, known.end_points)), tuple(map(str, broker.end_points))
            self._tell(
                BrokerListenersChanged(
                    broker_id=broker_id, broker_epoch=known.epoch, before=before, after=after
                )
            )
        self._send_update_metadata(self.context.live_or_shutting_down_broker_ids, ())

    async def _on_broker_startup(self, brokers: list[Broker], bounced: bool) -> None:
        """Bring started brokers into the cluster.

        The other brokers get the addresses of the started ones, and the started ones get all
        metadata. The replicas on the started brokers go online. Then each partition without a
        leader may elect one of these replicas.
        """
        context = self.context
        new_ids = [broker.id for broker in brokers]
        if self._tell:
            for broker in brokers:
                self._tell(
                    BrokerJoined(broker_id=broker.id, broker_epoch=broker.epoch, bounced=bounced)
                )
        for broker_id in new_ids:
            context.replicas_on_offline_dirs.pop(broker_id, None)
        self._send_update_metadata(
            [b for b in context.live_or_shutting_down_broker_ids if b not in new_ids], ()
        )
        self._send_update_metadata(new_ids, context.partitions_with_leaders)
        replicas = context.replicas_on_brokers(new_ids)
        await self._replica_machine.handle_state_changes(
            replicas, ReplicaState.ONLINE, "its broker has started"
        )
        await self._partition_machine.trigger_online_partition_state_change("a broker has started")
        await self.reassignments.brokers_started(new_ids)
        await self._deletions.resume_deletion_for_topics(
            {replica.topic_partition.topic for replica in replicas}
        )

    async def _on_broker_failure(self, broker_ids: list[int]) -> None:
        context = self.context
        for broker_id in broker_ids:
            context.replicas_on_offline_dirs.pop(broker_id, None)
            if self._tell:
                self._tell(
                    BrokerFailed(
                        broker_id=broker_id,
                        shutting_down=broker_id in context.shutting_down_broker_ids,
                    )
                )
            context.shutting_down_broker_ids.discard(broker_id)
        await self._on_replicas_become_offline(
            context.replicas_on_brokers(broker_ids), "its broker has failed"
        )

    async def _on_replicas_become_offline(
        self, replicas: list[PartitionAndReplica], reason: str
    ) -> None:
        """Elect new leaders where a lost replica led; then remove lost replicas from the ISRs.

        First, each partition whose leader is gone becomes Offline. Then all partitions that are New
        or Offline elect leaders. After that the lost replicas are removed from the ISRs of all
        other partitions.
        """
        context = self.context
        leaderless = context.partitions_with_offline_leader
        await self._partition_machine.handle_state_changes(
            leaderless, PartitionState.OFFLINE, "its leader is gone"
        )
        await self._partition_machine.trigger_online_partition_state_change("its leader is gone")
        staying: list[PartitionAndReplica] = []
        being_deleted: list[PartitionAndReplica] = []
        for replica in replicas:
            (
                being_deleted
                if context.is_topic_queued_up_for_deletion(replica.topic_partition.topic)
                else staying
            ).append(replica)
        await self._replica_machine.handle_state_changes(staying, ReplicaState.OFFLINE, reason)
        await self._deletions.fail_replica_deletion(being_deleted, reason)
        if not leaderless:
            self._send_update_metadata(context.live_or_shutting_down_broker_ids, ())

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> list[TopicPartition]:
        """Move the leaderships of a broker that is about to stop (book 000 §6.4.2).

        The broker's follower replicas are stopped too. Returns the partitions that the broker still
        leads. `ShutdownRule` decides what happens to each partition: it has the book's three cases.

        Kafka moves all leaderships at once; here they move in steps. The brokers take over the
        partitions of one step while the next step is still being written to ZooKeeper. So no
        partition is without a leader for longer than its own step takes.

        Raises KafkaException if the broker is not alive, or has a newer epoch than `broker_epoch`.
        """
        context, rule = self.context, self._shutdown_rule
        broker = context.live_broker(broker_id)
        refusal = rule.refusal(broker_epoch, None if broker is None else broker.epoch)
        if broker is None or refusal is not Errors.NONE:
            raise KafkaException(
                refusal,
                f"broker {broker_id} is not alive"
                if broker is None
                else f"broker {broker_id} now has epoch {broker.epoch}, not {broker_epoch}",
            )
        context.shutting_down_broker_ids.add(broker_id)
        led, followed = rule.sort(broker_id, self._concerned(broker_id))
        reason = f"broker {broker_id} is shutting down"
        for start in range(0, len(led), LEADERSHIPS_A_STEP):
            step = led[start : start + LEADERSHIPS_A_STEP]
            await self._partition_machine.handle_state_changes(
                step, PartitionState.ONLINE, reason, ElectionStrategy.CONTROLLED_SHUTDOWN
            )
        self._batch.new_batch()
        for tp in followed:
            self._batch.add_stop_replica_request([broker_id], tp, delete=False)
        self._batch.send_requests_to_brokers()
        await self._replica_machine.handle_state_changes(
            [PartitionAndReplica(tp, broker_id) for tp in followed], ReplicaState.OFFLINE, reason
        )
        remaining = rule.remaining(broker_id, self._concerned(broker_id))
        if self._tell:
            self._tell(
                ControlledShutdownProcessed(
                    broker_id=broker_id,
                    broker_epoch=broker.epoch,
                    led=len(led),
                    followed=len(followed),
                    remaining=len(remaining),
                )
            )
        return remaining

    def _concerned(self, broker_id: int) -> list[Concerned]:
        """Return the state of each partition with a replica on the broker. O(partitions)."""
        context = self.context
        found = []
        for tp in context.partitions_on_broker(broker_id):
            state = context.partition_leadership_info(tp)
            found.append(
                Concerned(
                    tp,
                    context.partition_replica_assignment(tp),
                    None if state is None else state.leader_and_isr.leader,
                    context.is_topic_queued_up_for_deletion(tp.topic),
                )
            )
        return found

    # Topics and partitions.

    async def topic_change(self) -> None:
        """Add the topics that are new in ZooKeeper, and forget the topics that no longer exist
        there.
        """
        context = self.context
        current = await self._zk.get_all_topics_in_cluster(watch=True)
        for topic in sorted(set(context.all_topics) - set(current)):
            context.remove_topic(topic)
        new = await self._read_topics([topic for topic in current if not context.has_topic(topic)])
        for topic, assignment in new.items():
            context.add_topic(topic, assignment)
        await self._on_new_partition_creation(
            [tp for topic in new for tp in context.partitions_for_topic(topic)]
        )

    async def partition_modifications(self, topic: str) -> None:
        """Add the new partitions of a topic after its assignment in ZooKeeper was written.

        If the topic is being deleted, the old assignment is written back instead.
        """
        context = self.context
        found = (await self._zk.get_assignment_for_topics([topic], watch=True)).get(topic)
        if found is None or not context.has_topic(topic):
            return
        added = {
            TopicPartition(topic, n): a
            for n, a in found.partitions.items()
            if not context.has_partition(TopicPartition(topic, n))
        }
        if added and context.is_topic_queued_up_for_deletion(topic):
            known = {
                tp.partition: context.partition_full_replica_assignment(tp)
                for tp in context.partitions_for_topic(topic)
            }
            await self._zk.set_topic_assignment(
                topic, TopicAssignment(found.topic_id, known), context.epoch_zk_version
            )
            return
        for tp, assignment in added.items():
            context.update_assignment(tp, assignment)
        await self._on_new_partition_creation(list(added))

    async def _on_new_partition_creation(self, partitions: list[TopicPartition]) -> None:
        """Take new partitions from NonExistent through New to Online.

        First the partitions become New, then their replicas. After that the partitions become
        Online, and then their replicas. A replica can become New only before its partition has a
        leader.
        """
        reason = "the partition is new"
        replicas = self.context.replicas_for_partitions(partitions)
        await self._partition_machine.handle_state_changes(partitions, PartitionState.NEW, reason)
        await self._replica_machine.handle_state_changes(replicas, ReplicaState.NEW, reason)
        await self._partition_machine.handle_state_changes(
            partitions, PartitionState.ONLINE, reason
        )
        await self._replica_machine.handle_state_changes(replicas, ReplicaState.ONLINE, reason)

    async def topic_deletion(self) -> None:
        await self._deletions.order(await self._zk.get_topic_deletions(watch=True))

    async def isr_change_notification(self) -> None:
        """Read the new ISRs that leaders wrote to ZooKeeper, and send them to all brokers.

        After that, clients can get the new ISRs from any broker.
        """
        sequences = await self._zk.get_isr_change_notifications(watch=True)
        named = await self._zk.get_partitions_from_isr_change_notifications(sequences)
        partitions = [tp for tp in named if self.context.has_partition(tp)]
        if partitions:
            await self._update_leadership(partitions)
            self._send_update_metadata(self.context.live_or_shutting_down_broker_ids, partitions)
            await self.reassignments.isr_changed(partitions)
        await self._zk.delete_isr_change_notifications(sequences, self.context.epoch_zk_version)

    # Disks.

    async def log_dir_event_notification(self) -> None:
        """Find out which replicas were in the log dirs that have failed.

        The controller sends LeaderAndIsr again to the brokers that lost log dirs. Their responses
        name the lost replicas.
        """
        sequences = await self._zk.get_log_dir_event_notifications(watch=True)
        broker_ids = await self._zk.get_brokers_from_log_dir_events(sequences)
        online = [
            r
            for r in self.context.replicas_on_brokers(broker_ids)
            if self.context.is_replica_online(r.replica, r.topic_partition)
        ]
        await self._replica_machine.handle_state_changes(
            online, ReplicaState.ONLINE, "its broker has lost a log dir"
        )
        await self._zk.delete_log_dir_event_notifications(sequences, self.context.epoch_zk_version)

    async def leader_and_isr_response(
        self, broker_id: int, offline: Iterable[TopicPartition], online: Iterable[TopicPartition]
    ) -> None:
        """Record which replicas of a broker are on failed disks.

        Replicas that the controller did not know to be on failed disks go offline.
        """
        known = self.context.replicas_on_offline_dirs.get(broker_id, set())
        found = sorted(set(offline) - known)
        current = (known | set(found)) - set(online)
        if current:
            self.context.replicas_on_offline_dirs[broker_id] = current
        else:
            self.context.replicas_on_offline_dirs.pop(broker_id, None)
        if found:
            await self._on_replicas_become_offline(
                [PartitionAndReplica(tp, broker_id) for tp in found], "its log dir has failed"
            )

    async def stop_replica_response(
        self, broker_id: int, deleted: Iterable[TopicPartition], failed: Iterable[TopicPartition]
    ) -> None:
        """Continue the deletion of topics with the results of a StopReplica request.

        Replicas that a reassignment removed are no longer known, and their results are ignored.
        """

        def started(partitions: Iterable[TopicPartition]) -> list[PartitionAndReplica]:
            replicas = [PartitionAndReplica(tp, broker_id) for tp in partitions]
            return [
                replica
                for replica in replicas
                if self.context.replica_state(replica) is ReplicaState.DELETION_STARTED
            ]

        await self._deletions.fail_replica_deletion(
            started(failed), "its broker could not delete it"
        )
        await self._deletions.complete_replica_deletion(started(deleted))

    # Elections on request.

    async def preferred_replica_election(self) -> None:
        """Hold the elections listed in /admin/preferred_replica_election, if that znode exists.

        Then delete the znode. The controller still watches the znode's path, so it notices when a
        client requests the next election.
        """
        ordered = await self._zk.get_preferred_replica_election(watch=True)
        if ordered is not None:
            await self.elect_leaders(ordered, ElectionType.PREFERRED, ElectionTrigger.ZOOKEEPER)
            await self._zk.delete_preferred_replica_election(self.context.epoch_zk_version)

    async def auto_leader_rebalance(self) -> None:
        """Give leaderships back to preferred replicas where other brokers lead too many of them.

        A broker is out of balance if other brokers lead more than 10 %
        (leader.imbalance.per.broker.percentage) of the partitions whose preferred replica is on it.
        A leadership is given back only where the preferred replica is in sync.
        """
        allowed = self._config.leader_imbalance_per_broker_percentage
        for imbalance in measure_imbalance(self.context, allowed):
            if self._tell:
                broker_id, preferred, elsewhere, to_give_back = imbalance
                self._tell(
                    LeaderImbalanceMeasured(
                        broker_id=broker_id,
                        preferred_here=preferred,
                        led_elsewhere=elsewhere,
                        allowed_percentage=allowed,
                        given_back=len(to_give_back),
                    )
                )
            if imbalance.to_give_back:
                await self.elect_leaders(
                    imbalance.to_give_back, ElectionType.PREFERRED, ElectionTrigger.AUTO
                )

    async def elect_leaders(
        self,
        partitions: Iterable[TopicPartition],
        election_type: ElectionType,
        trigger: ElectionTrigger,
    ) -> dict[TopicPartition, ElectionResult]:
        """Hold the requested elections; return each partition's result."""
        results = await elect_leaders(
            self.context, self._partition_machine, partitions, election_type
        )
        if self._tell:
            refused = tuple(
                (str(tp), result.error.name)
                for tp, result in results.items()
                if result.error is not Errors.NONE
            )
            self._tell(
                ElectionsHeld(
                    trigger=trigger,
                    election_type=election_type.name.lower(),
                    asked=len(results),
                    elected=len(results) - len(refused),
                    refused=refused,
                )
            )
        return results

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        return list_reassignments(self.context, partitions)

    async def alter_isrs(
        self, broker_id: int, broker_epoch: int, wanted: Mapping[TopicPartition, LeaderAndIsr]
    ) -> dict[TopicPartition, AlteredIsr]:
        """Write the ISRs that a leader requests, and send them to all brokers."""
        results = await alter_isrs(
            self.context, self._zk, broker_id, broker_epoch, wanted, self._tell
        )
        altered = [tp for tp, result in results.items() if result.error is Errors.NONE]
        if altered:
            self._send_update_metadata(self.context.live_or_shutting_down_broker_ids, altered)
            await self.reassignments.isr_changed(altered)
        return results

    async def unclean_leader_election_enable(self, topic: str | None = None) -> None:
        """Elect leaders after unclean.leader.election.enable was set to true (spec L2).

        If `topic` is given, only its partitions elect leaders; otherwise all partitions do.
        """
        await self._partition_machine.trigger_online_partition_state_change(
            "unclean election is now allowed", topic
        )

    def set_unclean_by_default(self, enabled: bool) -> None:
        """Set whether a topic without its own setting allows unclean elections."""
        self._unclean_by_default = enabled

    def snapshot(self) -> Iterator[Event]:
        yield from self.context.snapshot()
        yield from self.reassignments.snapshot()
