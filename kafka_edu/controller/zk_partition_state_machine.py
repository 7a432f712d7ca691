"""Takes partitions through their states, and writes the results to ZooKeeper.

(Kafka: ZkPartitionStateMachine; book 000 §6.4.2, §6.4.3.) The table of the allowed transitions is
in `partition_state_machine`, and the choice of leaders is in `leader_election`. This module does
the steps in their order: check the table, decide, write the state znodes, update the context, send
requests to the brokers. Each write checks the znode's version, because a leader may have written
its new ISR there; `leadership_update` handles that case. Every step is done for all partitions at
once. A step with many partitions pauses sometimes, so that the broker can serve clients in
between.

Next: `ControllerBrokersRequestBatch.send_requests_to_brokers`
(controller_brokers_request_batch.py).
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from kafka_edu.cluster.leader_and_isr import (
    INITIAL_LEADER_EPOCH,
    INITIAL_ZK_VERSION,
    NO_LEADER,
    LeaderAndIsr,
    LeaderIsrAndControllerEpoch,
)
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.turns import Turn
from kafka_edu.controller.controller_brokers_request_batch import ControllerBrokersRequestBatch
from kafka_edu.controller.controller_context import ControllerContext
from kafka_edu.controller.leader_election import (
    ElectionStrategy,
    Explanation,
    elect,
    explain,
    first_leader,
)
from kafka_edu.controller.leadership_update import LeadershipUpdate
from kafka_edu.controller.partition_state_machine import PartitionState, may_become
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.controller import (
    LeaderElected,
    LeaderElectionFailed,
    StateChangeRefused,
)
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_data import TopicPartitionStateZNode

UNCLEAN_ELECTION_KEY = "unclean.leader.election.enable"


class ZkPartitionStateMachine:
    """The state machine of all partitions; only the event task of KafkaController uses it."""

    def __init__(
        self,
        context: ControllerContext,
        zk: KafkaZkClient,
        batch: ControllerBrokersRequestBatch,
        unclean_leader_election_enable: Callable[[], bool],
        turn: Turn,
        tell: Callable[[Event], int] | None,
    ) -> None:
        self._context = context
        self._zk = zk
        self._batch = batch
        self._unclean_leader_election_enable = unclean_leader_election_enable
        self._turn = turn
        self._tell = tell

    async def startup(self) -> None:
        """Set each partition's first state, from its state in ZooKeeper and the live brokers.

        Then elect leaders for the partitions that have none.
        """
        for tp in self._context.all_partitions:
            leadership = self._context.partition_leadership_info(tp)
            if leadership is None:
                state = PartitionState.NEW
            elif self._context.is_replica_online(leadership.leader_and_isr.leader, tp):
                state = PartitionState.ONLINE
            else:
                state = PartitionState.OFFLINE
            self._context.put_partition_state(tp, state, "this is its state in ZooKeeper")
            await self._turn.pause()
        await self.trigger_online_partition_state_change("the controller started")

    async def trigger_online_partition_state_change(
        self, reason: str, topic: str | None = None
    ) -> None:
        """Try to elect a leader for every New or Offline partition (of `topic`, if given).

        Topics that are being deleted are left out.
        """
        waiting = self._context.partitions_in_states(PartitionState.NEW, PartitionState.OFFLINE)
        chosen = [
            tp
            for tp in waiting
            if not self._context.is_topic_queued_up_for_deletion(tp.topic)
            and topic in (None, tp.topic)
        ]
        await self.handle_state_changes(
            chosen, PartitionState.ONLINE, reason, ElectionStrategy.OFFLINE_PARTITION
        )

    async def handle_state_changes(
        self,
        partitions: Iterable[TopicPartition],
        target: PartitionState,
        reason: str,
        strategy: ElectionStrategy = ElectionStrategy.OFFLINE_PARTITION,
        *,
        allow_unclean: bool = False,
    ) -> list[TopicPartition]:
        """Take `partitions` to the state `target`; return the partitions that reached it.

        `strategy` is used for partitions that become Online and have had a leader before. With
        `allow_unclean`, a replica outside the ISR may be elected, even if the topic's config
        forbids it. A transition that is not in the table is not done; an event reports it.
        """
        chosen = list(dict.fromkeys(partitions))
        if not chosen:
            return []
        self._batch.new_batch()
        try:
            arrived = await self._change(chosen, target, reason, strategy, allow_unclean)
        except BaseException:
            self._batch.clear()
            raise
        self._batch.send_requests_to_brokers()
        return arrived

    async def _change(
        self,
        partitions: Sequence[TopicPartition],
        target: PartitionState,
        reason: str,
        strategy: ElectionStrategy,
        allow_unclean: bool,
    ) -> list[TopicPartition]:
        valid = []
        for tp in partitions:
            if may_become(self._context.partition_state(tp), target):
                valid.append(tp)
            else:
                self._refuse(tp, target, "the table has no such transition")
        if target is not PartitionState.ONLINE:
            for tp in valid:
                self._context.put_partition_state(tp, target, reason)
                await self._turn.pause()
            return valid
        new = [tp for tp in valid if self._context.partition_state(tp) is PartitionState.NEW]
        arrived = await self._initialize_leader_and_isr(new) if new else []
        existing = [
            tp for tp in valid if self._context.partition_state(tp) is not PartitionState.NEW
        ]
        arrived += await self._elect_leaders(existing, strategy, allow_unclean) if existing else []
        for tp in arrived:
            self._context.put_partition_state(tp, PartitionState.ONLINE, reason)
            await self._turn.pause()
        return arrived

    async def _initialize_leader_and_isr(
        self, partitions: Sequence[TopicPartition]
    ) -> list[TopicPartition]:
        """Create the state znodes of new partitions; return the partitions that have one now.

        The first live replica leads, and all live replicas are the ISR.
        """
        states = {}
        for tp in partitions:
            replicas = self._context.partition_replica_assignment(tp)
            live = tuple(
                replica for replica in replicas if self._context.is_replica_online(replica, tp)
            )
            if live:
                states[tp] = LeaderIsrAndControllerEpoch(
                    LeaderAndIsr(live[0], INITIAL_LEADER_EPOCH, live, INITIAL_ZK_VERSION),
                    self._context.epoch,
                )
            else:
                self._fail(
                    tp, ElectionStrategy.OFFLINE_PARTITION, (), (), first_leader(replicas, ())
                )
        arrived = []
        created = await self._zk.create_topic_partition_states(
            states, self._context.epoch_zk_version
        )
        for tp, error in created.items():
            await self._turn.pause()
            if error is not None:
                self._refuse(tp, PartitionState.ONLINE, str(error))
                continue
            state = states[tp]
            self._lead(
                tp, ElectionStrategy.OFFLINE_PARTITION, None, state, state.leader_and_isr.isr, False
            )
            self._batch.add_leader_and_isr_request(state.leader_and_isr.isr, tp, state, is_new=True)
            arrived.append(tp)
        return arrived

    async def _elect_leaders(
        self, partitions: Sequence[TopicPartition], strategy: ElectionStrategy, allow_unclean: bool
    ) -> list[TopicPartition]:
        """Elect leaders until each partition has one or cannot get one.

        Return the partitions with a new leader.
        """
        context, going = self._context, self._context.shutting_down_broker_ids
        live = {tp: self._live_replicas(tp, strategy) for tp in partitions}
        arrived: list[TopicPartition] = []
        update = LeadershipUpdate(context, self._zk, partitions)
        while update.remaining:
            states = await update.states()
            unclean: Collection[str] = frozenset()
            if strategy is ElectionStrategy.OFFLINE_PARTITION:
                unclean = (
                    {tp.topic for tp in states}
                    if allow_unclean
                    else await self._unclean_allowed(states, live)
                )
            elected = {
                tp: elect(
                    strategy,
                    state,
                    self._candidates(tp, strategy),
                    live[tp],
                    going,
                    tp.topic in unclean,
                )
                for tp, state in states.items()
            }
            written, unchanged, failed = await update.write(
                {tp: new for tp, new in elected.items() if new is not None}
            )
            for tp in unchanged:
                if tp in states:
                    self._fail(tp, strategy, states[tp].isr, live[tp], None, tp.topic in unclean)
                else:
                    self._fail(
                        tp, strategy, (), live[tp], Explanation("it has no state in ZooKeeper", ())
                    )
            for tp, error in failed.items():
                self._refuse(tp, PartitionState.ONLINE, str(error))
            for tp, state in written.items():
                await self._turn.pause()
                self._lead(tp, strategy, states[tp], state, live[tp], tp.topic in unclean)
                self._batch.add_leader_and_isr_request(live[tp], tp, state, is_new=False)
            arrived += written
        return arrived

    def _candidates(self, tp: TopicPartition, strategy: ElectionStrategy) -> tuple[int, ...]:
        assignment = self._context.partition_full_replica_assignment(tp)
        return (
            assignment.target_replicas
            if strategy is ElectionStrategy.REASSIGN_PARTITION
            else assignment.replicas
        )

    def _live_replicas(self, tp: TopicPartition, strategy: ElectionStrategy) -> tuple[int, ...]:
        """Return the broker ids of the live replicas, in the order of AR.

        At a controlled shutdown, brokers that are shutting down are included, because they must
        receive the change.
        """
        going_too = strategy is ElectionStrategy.CONTROLLED_SHUTDOWN
        return tuple(
            r
            for r in self._candidates(tp, strategy)
            if self._context.is_replica_online(r, tp, include_shutting_down=going_too)
        )

    async def _unclean_allowed(
        self,
        states: dict[TopicPartition, LeaderAndIsr],
        live: dict[TopicPartition, tuple[int, ...]],
    ) -> frozenset[str]:
        """Return the topics that need an unclean election and allow it.

        The topic's own config decides. Without one, the broker's setting decides (KIP-106).
        """
        needy = {tp.topic for tp, state in states.items() if not set(state.isr) & set(live[tp])}
        default = "true" if self._unclean_leader_election_enable() else "false"
        configs = await self._zk.get_topic_configs(needy)
        return frozenset(
            topic
            for topic, config in configs.items()
            if config.get(UNCLEAN_ELECTION_KEY, default).strip().lower() == "true"
        )

    def _lead(
        self,
        tp: TopicPartition,
        strategy: ElectionStrategy,
        before: LeaderAndIsr | None,
        state: LeaderIsrAndControllerEpoch,
        live: tuple[int, ...],
        unclean_allowed: bool,
    ) -> None:
        """Record the new leader of a partition in the context, and emit the event.

        The leader is already written to ZooKeeper. Every new leader is recorded by this method.
        """
        self._context.put_partition_leadership_info(tp, state)
        leader, leader_epoch, isr, zk_version = state.leader_and_isr
        unclean = before is not None and leader not in before.isr
        self._context.unclean_elections += unclean
        if self._tell:
            isr_before, going = (
                (before.isr if before else ()),
                self._context.shutting_down_broker_ids,
            )
            if before is None:
                why, passed_over = first_leader(
                    self._context.partition_replica_assignment(tp), live
                )
            else:
                why, passed_over = explain(
                    strategy,
                    isr_before,
                    self._candidates(tp, strategy),
                    live,
                    going,
                    unclean_allowed,
                    leader,
                )
            self._tell(
                LeaderElected(
                    topic=tp.topic,
                    partition=tp.partition,
                    strategy=strategy.value,
                    replicas=self._context.partition_replica_assignment(tp),
                    isr_before=isr_before,
                    live=live,
                    old_leader=before.leader if before else NO_LEADER,
                    new_leader=leader,
                    isr=isr,
                    leader_epoch=leader_epoch,
                    unclean=unclean,
                    controller_epoch=state.controller_epoch,
                    zk_path=TopicPartitionStateZNode.path(tp),
                    zk_version=zk_version,
                    shutting_down=tuple(sorted(going)),
                    why=why,
                    passed_over=passed_over,
                )
            )

    def _fail(
        self,
        tp: TopicPartition,
        strategy: ElectionStrategy,
        isr: tuple[int, ...],
        live: tuple[int, ...],
        explanation: Explanation | None,
        unclean_allowed: bool = False,
    ) -> None:
        """Emit the event that no leader was elected for a partition.

        If `explanation` is None, `explain` gives the reasons.
        """
        if self._tell:
            candidates, going = (
                self._candidates(tp, strategy),
                self._context.shutting_down_broker_ids,
            )
            why, passed_over = explanation or explain(
                strategy, isr, candidates, live, going, unclean_allowed, None
            )
            self._tell(
                LeaderElectionFailed(
                    topic=tp.topic,
                    partition=tp.partition,
                    strategy=strategy.value,
                    replicas=candidates,
                    isr=isr,
                    live=live,
                    reason=why,
                    shutting_down=tuple(sorted(going)),
                    passed_over=passed_over,
                )
            )

    def _refuse(self, tp: TopicPartition, target: PartitionState, reason: str) -> None:
        if self._tell:
            self._tell(
                StateChangeRefused(
                    topic=tp.topic,
                    partition=tp.partition,
                    replica=-1,
                    before=self._context.partition_state(tp).value,
                    after=target.value,
                    reason=reason,
                )
            )
