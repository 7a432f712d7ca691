"""The sets of replicas in a reassignment, and which requests for reassignments are accepted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.cluster.broker import Broker
from kafka_edu.cluster.topic_assignment import ReplicaAssignment, TopicAssignment
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_context import ControllerContext
from kafka_edu.controller.partition_reassignment_plan import (
    list_reassignments,
    missing_replicas,
    plan_reassignments,
)

T0, T1, NOPE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("nope", 0)


def test_a_reassignment_a_new_target_over_it_and_its_cancellation() -> None:
    """The worked example of the module."""
    moving = ReplicaAssignment((1, 2, 3)).reassign_to((3, 4, 5))
    assert moving == ReplicaAssignment((3, 4, 5, 1, 2), (4, 5), (1, 2))
    assert (moving.target_replicas, moving.origin_replicas) == ((3, 4, 5), (3, 1, 2))
    assert moving.reassign_to((1, 2, 6)) == ReplicaAssignment((1, 2, 6, 3), (6,), (3,))
    cancelled = moving.reassign_to(moving.origin_replicas)
    assert cancelled == ReplicaAssignment((3, 1, 2))
    assert not cancelled.is_being_reassigned


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ((2, 1), ReplicaAssignment((2, 1))),  # another order, but no broker is added or removed
        ((1,), ReplicaAssignment((1, 2), (), (2,))),
        ((1, 2, 3), ReplicaAssignment((1, 2, 3), (3,), ())),
    ],
)
def test_order_and_replication_factor_change_the_same_way(
    target: tuple[int, ...], expected: ReplicaAssignment
) -> None:
    assert ReplicaAssignment((1, 2)).reassign_to(target) == expected


def test_a_replica_leaves_every_set() -> None:
    assert ReplicaAssignment((3, 1, 2), (3,), (1, 2)).remove_replica(1) == ReplicaAssignment(
        (3, 2), (3,), (2,)
    )


def test_no_replica_is_removed_before_the_whole_target_is_in_sync() -> None:
    moving = ReplicaAssignment((1, 2)).reassign_to((3, 4))
    assert missing_replicas(moving, (1, 2)) == (3, 4)
    assert missing_replicas(moving, (1, 2, 4)) == (3,)
    assert missing_replicas(moving, (4, 3)) == ()
    assert missing_replicas(ReplicaAssignment((1, 2)), (1,)) == (), "at rest nothing is waited for"


BROKER_LISTS = st.lists(st.integers(0, 7), min_size=1, max_size=5, unique=True)


@given(origin=BROKER_LISTS, targets=st.lists(BROKER_LISTS, max_size=4))
def test_after_any_sequence_of_targets_the_origin_and_the_last_target_are_known(
    origin: list[int], targets: list[list[int]]
) -> None:
    assignment = ReplicaAssignment(tuple(origin))
    for target in targets:
        assignment = assignment.reassign_to(target)
        replicas, adding, removing = map(set, assignment)
        assert list(assignment.target_replicas) == target
        assert list(assignment.replicas[: len(target)]) == target, (
            "the preferred leader is the target's"
        )
        assert set(assignment.origin_replicas) == set(origin)
        assert replicas == set(origin) | set(target)
        assert (adding, removing) == (set(target) - set(origin), set(origin) - set(target))
        assert len(assignment.replicas) == len(replicas), "nobody is named twice"
    cancelled = assignment.reassign_to(assignment.origin_replicas)
    assert set(cancelled.replicas) == set(origin)
    assert not cancelled.is_being_reassigned


@pytest.fixture
def context() -> ControllerContext:
    context = ControllerContext(1, 1)
    context.set_live_brokers(Broker(broker_id, (), None, 1) for broker_id in (1, 2, 3))
    context.add_topic(
        "t",
        TopicAssignment(
            None, {0: ReplicaAssignment((1, 2)), 1: ReplicaAssignment((3, 1), (3,), ())}
        ),
    )
    return context


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ((), Errors.INVALID_REPLICA_ASSIGNMENT),
        ((1, 1), Errors.INVALID_REPLICA_ASSIGNMENT),
        ((1, -1), Errors.INVALID_REPLICA_ASSIGNMENT),
        ((1, 9), Errors.INVALID_REPLICA_ASSIGNMENT),
        (None, Errors.NO_REASSIGNMENT_IN_PROGRESS),
    ],
)
def test_requests_that_are_refused(
    context: ControllerContext, target: tuple[int, ...] | None, error: Errors
) -> None:
    plan = plan_reassignments(context, {T0: target}, new_replicas_must_live=True)
    assert (plan.accepted, plan.refused[T0].error) == ({}, error)


def test_an_order_by_znode_may_name_brokers_that_are_dead(context: ControllerContext) -> None:
    plan = plan_reassignments(context, {T0: (1, 9)}, new_replicas_must_live=False)
    assert plan.accepted == {T0: ReplicaAssignment((1, 9, 2), (9,), (2,))}


def test_a_replica_that_stays_may_be_dead(context: ControllerContext) -> None:
    context.remove_live_brokers([2])
    assert plan_reassignments(context, {T0: (2, 3)}, new_replicas_must_live=True).refused == {}


def test_unknown_and_deleted_partitions_are_refused(context: ControllerContext) -> None:
    unknown = Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert (
        plan_reassignments(context, {NOPE: (1,)}, new_replicas_must_live=True).refused[NOPE].error
        is unknown
    )
    context.topics_to_be_deleted.add("t")
    assert (
        plan_reassignments(context, {T0: (1,)}, new_replicas_must_live=True).refused[T0].error
        is unknown
    )


def test_only_running_reassignments_are_listed_and_can_be_cancelled(
    context: ControllerContext,
) -> None:
    plan = plan_reassignments(context, {T0: None, T1: None}, new_replicas_must_live=True)
    assert plan.accepted == {T1: ReplicaAssignment((1,))}
    assert plan.refused[T0].error is Errors.NO_REASSIGNMENT_IN_PROGRESS
    moving = {T1: ReplicaAssignment((3, 1), (3,), ())}
    assert list_reassignments(context, None) == moving
    assert list_reassignments(context, [T0, T1, NOPE]) == moving
    assert list_reassignments(context, [T0]) == {}
