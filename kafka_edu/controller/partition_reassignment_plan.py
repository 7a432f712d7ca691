"""Decide which requests to move partitions to other brokers are accepted; pure functions.

(Kafka: validateReplicas, maybeBuildReassignment, isReassignmentComplete of KafkaController.scala;
KIP-455.) A request lists the ids of the partition's future brokers, the preferred one first. The
value None requests to cancel the partition's running reassignment. A new request during a
reassignment replaces the target. The original replicas remain recorded, so that a cancellation can
restore them (`ReplicaAssignment.reassign_to`).

There are two ways to request a move. The API (AlterPartitionReassignments) refuses new brokers that
are not alive. An order in the znode /admin/reassign_partitions may name dead brokers, and waits
until they are alive. Both ways refuse an empty target, and a target that names a broker twice.
Kafka does not check this in the znode's orders, where an empty target would delete the partition's
last replica.

Next: `PartitionReassignments._reassign` (partition_reassignments.py).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_edu.cluster.topic_assignment import ReplicaAssignment
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_context import ControllerContext


class ReassignmentResult(NamedTuple):
    """The result of a request to reassign one partition."""

    error: Errors
    message: str = ""


class ReassignmentPlan(NamedTuple):
    """The reassignments that are accepted, and the errors of the refused reassignments."""

    accepted: dict[TopicPartition, ReplicaAssignment]
    refused: dict[TopicPartition, ReassignmentResult]


def plan_reassignments(
    context: ControllerContext,
    wanted: Mapping[TopicPartition, Sequence[int] | None],
    *,
    new_replicas_must_live: bool,
) -> ReassignmentPlan:
    """Decide which requests are accepted.

    The errors are INVALID_REPLICA_ASSIGNMENT, NO_REASSIGNMENT_IN_PROGRESS (there is nothing to
    cancel) and UNKNOWN_TOPIC_OR_PARTITION (even if the topic is being deleted).
    """
    plan = ReassignmentPlan({}, {})
    for tp, target in wanted.items():
        current = context.partition_full_replica_assignment(tp)
        reason = (
            ""
            if target is None
            else reason_against(
                current, target, context.live_broker_ids if new_replicas_must_live else None
            )
        )
        if reason:
            plan.refused[tp] = ReassignmentResult(Errors.INVALID_REPLICA_ASSIGNMENT, reason)
        elif target is None and not current.is_being_reassigned:
            plan.refused[tp] = ReassignmentResult(Errors.NO_REASSIGNMENT_IN_PROGRESS)
        elif not context.has_partition(tp) or context.is_topic_queued_up_for_deletion(tp.topic):
            plan.refused[tp] = ReassignmentResult(
                Errors.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."
            )
        else:
            plan.accepted[tp] = current.reassign_to(
                current.origin_replicas if target is None else target
            )
    return plan


def reason_against(
    current: ReplicaAssignment, target: Sequence[int], live: Collection[int] | None
) -> str:
    """Return why the partition cannot be moved to the brokers in `target`; "" if it can.

    `live` are the ids of the live brokers. If it is None, new brokers need not be alive.
    """
    if not target:
        return "a partition needs at least one replica"
    if len(set(target)) < len(target):
        return f"a broker is named twice: {list(target)}"
    if any(broker_id < 0 for broker_id in target):
        return f"a broker id must not be negative: {list(target)}"
    dead = (
        []
        if live is None
        else [
            broker_id
            for broker_id in current.reassign_to(target).adding_replicas
            if broker_id not in live
        ]
    )
    return f"these brokers are not alive: {dead}" if dead else ""


def missing_replicas(assignment: ReplicaAssignment, isr: Collection[int]) -> tuple[int, ...]:
    """Return the replicas of the reassignment's target that are not in the ISR yet.

    While replicas are missing, no replica may be removed. The result is empty for a partition that
    is not being reassigned.
    """
    return (
        tuple(r for r in assignment.target_replicas if r not in isr)
        if assignment.is_being_reassigned
        else ()
    )


def list_reassignments(
    context: ControllerContext, partitions: Iterable[TopicPartition] | None
) -> dict[TopicPartition, ReplicaAssignment]:
    """Return the assignments of those `partitions` (None: of all) that are being reassigned."""
    chosen = sorted(context.partitions_being_reassigned) if partitions is None else partitions
    listed = {tp: context.partition_full_replica_assignment(tp) for tp in chosen}
    return {tp: assignment for tp, assignment in listed.items() if assignment.is_being_reassigned}
