"""Leader elections that a client requests: preferred or unclean elections.

(Kafka: KafkaController.processReplicaLeaderElection; KIP-460.)

    preferred   The first of AR takes over from another leader. It must be alive and in sync.
    unclean     A partition without a live leader gets one, in sync or not.

A client that requests an unclean election accepts that records may be lost.

Next: `ZkPartitionStateMachine.handle_state_changes` (zk_partition_state_machine.py).
"""

from collections.abc import Iterable
from enum import IntEnum, StrEnum
from typing import NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_context import ControllerContext
from kafka_edu.controller.leader_election import ElectionStrategy, explain
from kafka_edu.controller.partition_state_machine import PartitionState
from kafka_edu.controller.zk_partition_state_machine import ZkPartitionStateMachine


class ElectionType(IntEnum):
    """The type of a requested election; the values are the numbers in ElectLeaders requests."""

    PREFERRED = 0
    UNCLEAN = 1


class ElectionTrigger(StrEnum):
    """The source of a request for elections."""

    ADMIN = "admin client"
    ZOOKEEPER = "/admin/preferred_replica_election"
    AUTO = "auto.leader.rebalance"


class ElectionResult(NamedTuple):
    """The result of a requested election for one partition."""

    error: Errors
    leader: int = -1
    """The broker id of the new leader, which brokers learn a little later; -1 if none."""
    message: str = ""
    """The reason why there is no new leader; it begins with Kafka's wording."""


async def elect_leaders(
    context: ControllerContext,
    machine: ZkPartitionStateMachine,
    partitions: Iterable[TopicPartition],
    election_type: ElectionType,
) -> dict[TopicPartition, ElectionResult]:
    """Hold elections where they are needed, and return the result of each partition.

    The errors are UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION (the topic is being deleted)
    and ELECTION_NOT_NEEDED. If no replica may lead, the error is PREFERRED_LEADER_NOT_AVAILABLE or
    ELIGIBLE_LEADERS_NOT_AVAILABLE.
    """
    results: dict[TopicPartition, ElectionResult] = {}
    chosen: list[TopicPartition] = []
    for tp in dict.fromkeys(partitions):
        if not context.has_partition(tp):
            results[tp] = ElectionResult(
                Errors.UNKNOWN_TOPIC_OR_PARTITION, message="The partition does not exist."
            )
        elif context.is_topic_queued_up_for_deletion(tp.topic):
            results[tp] = ElectionResult(
                Errors.INVALID_TOPIC_EXCEPTION, message="The topic is being deleted"
            )
        elif not _is_needed(context, tp, election_type):
            results[tp] = ElectionResult(
                Errors.ELECTION_NOT_NEEDED,
                message="Leader election not needed for topic partition.",
            )
        else:
            chosen.append(tp)
    preferred = election_type is ElectionType.PREFERRED
    strategy = (
        ElectionStrategy.PREFERRED_REPLICA if preferred else ElectionStrategy.OFFLINE_PARTITION
    )
    reason = f"a {election_type.name.lower()} election was requested"
    elected = await machine.handle_state_changes(
        chosen, PartitionState.ONLINE, reason, strategy, allow_unclean=not preferred
    )
    for tp in chosen:
        state = context.partition_leadership_info(tp)
        if tp in elected and state is not None:
            results[tp] = ElectionResult(Errors.NONE, state.leader_and_isr.leader)
        else:
            error = (
                Errors.PREFERRED_LEADER_NOT_AVAILABLE
                if preferred
                else Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE
            )
            results[tp] = ElectionResult(error, message=_why_not(context, tp, strategy))
    return results


def _why_not(context: ControllerContext, tp: TopicPartition, strategy: ElectionStrategy) -> str:
    state, assignment = (
        context.partition_leadership_info(tp),
        context.partition_replica_assignment(tp),
    )
    live = [replica for replica in assignment if context.is_replica_online(replica, tp)]
    isr = state.leader_and_isr.isr if state is not None else ()
    why = explain(strategy, isr, assignment, live, context.shutting_down_broker_ids, True, None).why
    name = "OfflinePartitionLeaderElectionStrategy(true)"
    if strategy is ElectionStrategy.PREFERRED_REPLICA:
        name = "PreferredReplicaPartitionLeaderElectionStrategy"
    return f"Failed to elect leader for partition {tp} under strategy {name}: {why}"


def _is_needed(context: ControllerContext, tp: TopicPartition, election_type: ElectionType) -> bool:
    state = context.partition_leadership_info(tp)
    leader = state.leader_and_isr.leader if state is not None else -1
    if election_type is ElectionType.PREFERRED:
        return context.partition_replica_assignment(tp)[:1] != (leader,)
    return not context.is_replica_online(leader, tp)


class LeaderImbalance(NamedTuple):
    """How many of the partitions that one broker should lead are led by other brokers.

    `preferred` counts the partitions whose preferred replica is on the broker. `elsewhere` counts
    how many of these partitions other brokers lead.
    """

    broker_id: int
    preferred: int
    elsewhere: int
    to_give_back: tuple[TopicPartition, ...]
    """The partitions whose leadership returns to this broker; empty if the imbalance is within the
    limit.
    """


def measure_imbalance(context: ControllerContext, allowed_percentage: int) -> list[LeaderImbalance]:
    """Return the imbalance of each broker that has preferred replicas. Pure. O(partitions).

    (Kafka: checkAndTriggerAutoLeaderRebalance.) With leader.imbalance.per.broker.percentage 10,
    other brokers may lead one of a broker's 10 partitions. When they lead two, the controller gives
    the leadership of both back. A leadership is not given back if the preferred replica is not
    alive or not in sync. Nothing is given back while any partition is being reassigned, because its
    leader is about to change.
    """
    preferred: dict[int, list[TopicPartition]] = {}
    for tp in context.all_partitions:
        assignment = context.partition_full_replica_assignment(tp)
        if assignment.replicas and not context.is_topic_queued_up_for_deletion(tp.topic):
            preferred.setdefault(assignment.replicas[0], []).append(tp)
    measured = []
    for broker_id, own in sorted(preferred.items()):
        states = [
            (tp, state.leader_and_isr)
            for tp in own
            if (state := context.partition_leadership_info(tp)) is not None
        ]
        elsewhere = [(tp, state) for tp, state in states if state.leader != broker_id]
        to_give_back: tuple[TopicPartition, ...] = ()
        if (
            len(elsewhere) * 100 > len(own) * allowed_percentage
            and not context.partitions_being_reassigned
        ):
            to_give_back = tuple(
                tp
                for tp, state in elsewhere
                if broker_id in state.isr and context.is_replica_online(broker_id, tp)
            )
        measured.append(LeaderImbalance(broker_id, len(own), len(elsewhere), to_give_back))
    return measured
