"""The two tables, and elections, for all inputs."""

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.controller import partition_state_machine, replica_state_machine
from kafka_edu.controller.leader_election import ElectionStrategy, elect
from kafka_edu.controller.partition_state_machine import PartitionState
from kafka_edu.controller.replica_state_machine import ReplicaState

BROKERS = st.integers(0, 5)


def test_the_tables_name_every_state_and_every_state_can_be_reached() -> None:
    assert set(partition_state_machine.VALID_PREVIOUS_STATES) == set(PartitionState)
    assert set(replica_state_machine.VALID_PREVIOUS_STATES) == set(ReplicaState)
    for start, table in (
        (PartitionState.NON_EXISTENT, partition_state_machine.VALID_PREVIOUS_STATES),
        (ReplicaState.NON_EXISTENT, replica_state_machine.VALID_PREVIOUS_STATES),
    ):
        reached = {str(start)}
        while more := {str(to) for to, froms in table.items() if reached & set(map(str, froms))} - reached:
            reached |= more
        assert reached == set(map(str, table))


@given(st.lists(st.sampled_from(ReplicaState)))
def test_a_replica_is_never_deleted_unless_it_was_offline(path: list[ReplicaState]) -> None:
    state, seen = ReplicaState.NON_EXISTENT, [ReplicaState.NON_EXISTENT]
    for target in path:
        if replica_state_machine.may_become(state, target):
            state = target
            seen.append(state)
    for before, after in pairwise(seen):
        if after is ReplicaState.DELETION_STARTED:
            assert before is ReplicaState.OFFLINE
        if after is ReplicaState.NON_EXISTENT:
            assert before is ReplicaState.DELETION_SUCCESSFUL


@given(st.lists(st.sampled_from(PartitionState)))
def test_a_partition_is_forgotten_only_when_offline(path: list[PartitionState]) -> None:
    state, seen = PartitionState.NON_EXISTENT, [PartitionState.NON_EXISTENT]
    for target in path:
        if partition_state_machine.may_become(state, target):
            state = target
            seen.append(state)
    for before, after in pairwise(seen):
        if after is PartitionState.NON_EXISTENT:
            assert before is PartitionState.OFFLINE
        if after is PartitionState.NEW:
            assert before is PartitionState.NON_EXISTENT


@given(
    st.sampled_from(ElectionStrategy),
    st.lists(BROKERS, unique=True, min_size=1),
    st.randoms(use_true_random=False),
    st.sets(BROKERS),
    st.sets(BROKERS),
    st.booleans(),
)
def test_whoever_is_elected_may_be(
    strategy: ElectionStrategy, assignment: list[int], random: Random, live: set[int], going: set[int], unclean: bool
) -> None:

    isr = tuple(random.sample(assignment, random.randrange(len(assignment) + 1)))
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
