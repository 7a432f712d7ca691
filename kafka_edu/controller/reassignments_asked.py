"""AlterPartitionReassignments and its list, as far as they go (Kafka: KafkaController.processApiPartitionReassignment …; KIP-455).

A wish is checked wholly, as Kafka does. One that changes nothing is fulfilled; one that would move replicas is refused: the move itself is not built yet. So
there is nothing to be cancelled, unless a Java controller has left something in the topics' znodes; that is listed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_context import ControllerContext
from kafka_edu.zk.zk_data import ReplicaAssignment


class ReassignmentResult(NamedTuple):
    """What came of one partition's wish."""

    error: Errors
    message: str = ""


def alter_reassignments(
    context: ControllerContext, wanted: Mapping[TopicPartition, Sequence[int] | None]
) -> dict[TopicPartition, ReassignmentResult]:
    """The outcome of each wish; None is the wish to cancel."""
    return {tp: _outcome(context, tp, replicas) for tp, replicas in wanted.items()}


def _outcome(context: ControllerContext, tp: TopicPartition, replicas: Sequence[int] | None) -> ReassignmentResult:
    current = context.partition_full_replica_assignment(tp)
    moving = bool(current.adding_replicas or current.removing_replicas)
    if replicas is None and not moving:
        return ReassignmentResult(Errors.NO_REASSIGNMENT_IN_PROGRESS)
    if replicas is not None and (reason := _reason_against(context, current, replicas)):
        return ReassignmentResult(Errors.INVALID_REPLICA_ASSIGNMENT, reason)
    if not context.has_partition(tp) or context.is_topic_queued_up_for_deletion(tp.topic):
        return ReassignmentResult(Errors.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    if not moving and replicas is not None and tuple(replicas) == current.replicas:
        return ReassignmentResult(Errors.NONE)
    return ReassignmentResult(Errors.INVALID_REQUEST, "replicas cannot be moved from broker to broker yet")


def _reason_against(context: ControllerContext, current: ReplicaAssignment, replicas: Sequence[int]) -> str:
    if not replicas:
        return "a partition needs at least one replica"
    if len(set(replicas)) < len(replicas):
        return f"a broker is named twice: {list(replicas)}"
    if any(broker_id < 0 for broker_id in replicas):
        return f"a broker's id is not negative: {list(replicas)}"
    dead = [broker_id for broker_id in replicas if broker_id not in current.replicas and broker_id not in context.live_broker_ids]
    return f"these brokers are not alive: {dead}" if dead else ""


def list_reassignments(context: ControllerContext, partitions: Iterable[TopicPartition] | None) -> dict[TopicPartition, ReplicaAssignment]:
    """Those of `partitions` (None: of all) that are being reassigned."""
    listed = {tp: context.partition_full_replica_assignment(tp) for tp in (context.all_partitions if partitions is None else partitions)}
    return {tp: assignment for tp, assignment in listed.items() if assignment.adding_replicas or assignment.removing_replicas}
