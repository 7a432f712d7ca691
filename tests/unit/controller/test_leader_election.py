"""The election strategies, compared with the book's words (000 §6.4.3, 003)."""

import pytest

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.controller.leader_election import (
    ElectionStrategy,
    controlled_shutdown_partition_leader_election,
    elect,
    offline_partition_leader_election,
    preferred_replica_partition_leader_election,
    reassign_partition_leader_election,
)


@pytest.mark.parametrize(
    ("assignment", "isr", "live", "clean", "unclean"),
    [
        ([1, 2, 0], [2, 0, 1], {0, 2}, 2, 2),  # by AR order
        ([1, 2, 0], [0, 2, 1], {0, 2}, 2, 2),  # not by ISR order
        ([2, 0, 1], [0, 1], {0, 1, 2}, 0, 0),  # 2 is alive, but not in sync
        ([1, 2, 0], [1], {0, 2}, None, 2),  # no replica of the ISR is alive
        ([1, 2, 0], [], {0}, None, 0),
        ([1, 2, 0], [1, 2, 0], set(), None, None),  # no replica is alive
        ([], [], {1}, None, None),
    ],
)
def test_offline_partition(
    assignment: list[int], isr: list[int], live: set[int], clean: int | None, unclean: int | None
) -> None:
    assert offline_partition_leader_election(assignment, isr, live, False) == clean
    assert offline_partition_leader_election(assignment, isr, live, True) == unclean


def test_reassign_takes_the_first_of_the_new_replicas_that_is_in_sync() -> None:
    assert reassign_partition_leader_election([4, 5, 6], [1, 6, 5], {1, 4, 5, 6}) == 5
    assert reassign_partition_leader_election([4, 5, 6], [1, 2], {1, 2, 4, 5, 6}) is None


def test_preferred_is_the_first_of_ar_or_nobody() -> None:
    assert preferred_replica_partition_leader_election([1, 2], [2, 1], {1, 2}) == 1
    assert preferred_replica_partition_leader_election([1, 2], [2], {1, 2}) is None
    assert preferred_replica_partition_leader_election([1, 2], [1, 2], {2}) is None
    assert preferred_replica_partition_leader_election([], [1, 2], {2}) is None


def test_controlled_shutdown_passes_over_those_that_are_going() -> None:
    assert controlled_shutdown_partition_leader_election([1, 2, 3], [3, 2, 1], {1, 2, 3}, {1}) == 2
    assert (
        controlled_shutdown_partition_leader_election([1, 2, 3], [3, 2, 1], {1, 2, 3}, {1, 2}) == 3
    )
    assert (
        controlled_shutdown_partition_leader_election([1, 2, 3], [1, 2], {1, 2, 3}, {1, 2}) is None
    )


def test_the_isr_after_an_election() -> None:
    before = LeaderAndIsr(1, 7, (1, 3, 2), 40)
    offline = elect(ElectionStrategy.OFFLINE_PARTITION, before, (1, 2, 3), {2, 3})
    assert offline == LeaderAndIsr(2, 8, (3, 2), 40)
    alone = elect(
        ElectionStrategy.OFFLINE_PARTITION,
        before._replace(isr=(1,)),
        (1, 2, 3),
        {2, 3},
        unclean_leader_election_enabled=True,
    )
    assert alone == LeaderAndIsr(2, 8, (2,), 40)
    assert (
        elect(ElectionStrategy.OFFLINE_PARTITION, before._replace(isr=(1,)), (1, 2, 3), {2, 3})
        is None
    )
    assert elect(ElectionStrategy.PREFERRED_REPLICA, before, (2, 1, 3), {1, 2, 3}) == LeaderAndIsr(
        2, 8, (1, 3, 2), 40
    )
    assert elect(ElectionStrategy.REASSIGN_PARTITION, before, (3, 4), {1, 2, 3}) == LeaderAndIsr(
        3, 8, (1, 3, 2), 40
    )
    going = elect(ElectionStrategy.CONTROLLED_SHUTDOWN, before, (1, 2, 3), {1, 2, 3}, {1})
    assert going == LeaderAndIsr(2, 8, (3, 2), 40)
