"""The two state tables, and elections, for all inputs."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.controller import partition_state_machine, replica_state_machine
from kafka_edu.controller.leader_election import ElectionStrategy, elect, explain
from kafka_edu.controller.partition_state_machine import PartitionState
from kafka_edu.controller.replica_state_machine import ReplicaState

BROKERS = st.integers(0, 5)
State = TypeVar("State")


def test_the_tables_name_every_state_and_every_state_can_be_reached() -> None:
    assert set(partition_state_machine.VALID_PREVIOUS_STATES) == set(PartitionState)
    assert set(replica_state_machine.VALID_PREVIOUS_STATES) == set(ReplicaState)
    for start, table in (
        (PartitionState.NON_EXISTENT, partition_state_machine.VALID_PREVIOUS_STATES),
        (ReplicaState.NON_EXISTENT, replica_state_machine.VALID_PREVIOUS_STATES),
    ):
        reached = {str(start)}
        while (
            more := {str(to) for to, froms in table.items() if reached & set(map(str, froms))}
            - reached
        ):
            reached |= more
        assert reached == set(map(str, table))


def changes(
    start: State, may_become: Callable[[State, State], bool], path: list[State]
) -> Iterator[tuple[State, State]]:
    """Request the states of `path` one after the other from a state machine, and yield the changes
    that are allowed.
    """
    seen = [start]
    for target in path:
        if may_become(seen[-1], target):
            seen.append(target)
    return pairwise(seen)


@given(st.lists(st.sampled_from(ReplicaState)))
def test_a_replica_is_never_deleted_unless_it_was_offline(path: list[ReplicaState]) -> None:
    for before, after in changes(ReplicaState.NON_EXISTENT, replica_state_machine.may_become, path):
        if after is ReplicaState.DELETION_STARTED:
            assert before is ReplicaState.OFFLINE
        if after is ReplicaState.NON_EXISTENT:
            assert before is ReplicaState.DELETION_SUCCESSFUL


@given(st.lists(st.sampled_from(PartitionState)))
def test_a_partition_is_forgotten_only_when_offline(path: list[PartitionState]) -> None:
    may_become = partition_state_machine.may_become
    for before, after in changes(PartitionState.NON_EXISTENT, may_become, path):
        if after is PartitionState.NON_EXISTENT:
            assert before is PartitionState.OFFLINE
        if after is PartitionState.NEW:
            assert before is PartitionState.NON_EXISTENT


def isr_of(assignment: list[int], random: Random) -> tuple[int, ...]:
    """Draw some replicas, in any order."""
    return tuple(random.sample(assignment, random.randrange(len(assignment) + 1)))


ELECTIONS = given(
    st.sampled_from(ElectionStrategy),
    st.lists(BROKERS, unique=True, min_size=1),
    st.randoms(use_true_random=False),
    st.sets(BROKERS),
    st.sets(BROKERS),
    st.booleans(),
)


@ELECTIONS
def test_whoever_is_elected_may_be(
    strategy: ElectionStrategy,
    assignment: list[int],
    random: Random,
    live: set[int],
    going: set[int],
    unclean: bool,
) -> None:

    isr = isr_of(assignment, random)
    before = LeaderAndIsr(assignment[0], 3, isr, 9)
    alive = [replica for replica in assignment if replica in live]
    result = elect(strategy, before, assignment, alive, going, unclean)
    clean = [replica for replica in alive if replica in isr]
    if result is None:
        if strategy is ElectionStrategy.OFFLINE_PARTITION:
            assert not clean
            assert not (unclean and alive)
        return
    assert result.leader in alive
    assert result.leader in result.isr
    assert result.leader_epoch == 4
    assert result.zk_version == 9
    if result.leader not in isr:
        assert (strategy, unclean, clean) == (ElectionStrategy.OFFLINE_PARTITION, True, [])
        assert result.isr == (result.leader,)
    else:
        assert set(result.isr) <= set(isr)
    if strategy is ElectionStrategy.CONTROLLED_SHUTDOWN:
        assert not set(result.isr) & going
    if strategy is ElectionStrategy.PREFERRED_REPLICA:
        assert result.leader == assignment[0]


@ELECTIONS
def test_what_is_said_of_an_election_is_so(
    strategy: ElectionStrategy,
    assignment: list[int],
    random: Random,
    live: set[int],
    going: set[int],
    unclean: bool,
) -> None:
    """Each replica of AR appears once, and each reason given for it is true.

    If the reason says that a replica could lead too, this replica would be elected if all replicas
    before it were dead.
    """
    isr = isr_of(assignment, random)
    alive = [replica for replica in assignment if replica in live]
    before = LeaderAndIsr(assignment[0], 3, isr, 9)
    result = elect(strategy, before, assignment, alive, going, unclean)
    leader = result.leader if result else None
    why, passed_over = explain(strategy, isr, assignment, alive, going, unclean, leader)
    assert [replica for replica, _ in passed_over] == [
        replica for replica in assignment if replica != leader
    ]
    assert why.startswith(f"{leader} is ") or "no replica" in why or "the leader stays" in why
    assert ("lost" in why) == (leader is not None and leader not in isr)
    for replica, reason in passed_over:
        if "not alive" in reason:
            assert replica not in live
        elif "shutting down" in reason:
            assert replica in going
            assert strategy is ElectionStrategy.CONTROLLED_SHUTDOWN or replica not in live
        elif "not in the ISR" in reason:
            assert replica not in isr
        elif "not the first" in reason:
            assert (strategy, assignment[0] != replica) == (
                ElectionStrategy.PREFERRED_REPLICA,
                True,
            )
        else:
            assert "could lead too" in reason
            others = [each for each in alive if assignment.index(each) >= assignment.index(replica)]
            instead = elect(strategy, before, assignment, others, going, unclean)
            assert instead is not None
            assert instead.leader == replica


@ELECTIONS
def test_elections_do_not_look_at_the_order_of_the_isr_nor_of_the_live(
    strategy: ElectionStrategy,
    assignment: list[int],
    random: Random,
    live: set[int],
    going: set[int],
    unclean: bool,
) -> None:
    isr = isr_of(assignment, random)
    shuffled = tuple(random.sample(isr, len(isr)))
    results = [
        elect(strategy, LeaderAndIsr(0, 3, each, 9), assignment, sorted(live), going, unclean)
        for each in (isr, shuffled)
    ]
    leaders = [None if result is None else (result.leader, set(result.isr)) for result in results]
    assert leaders[0] == leaders[1]
