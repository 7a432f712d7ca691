"""The states of a replica: which may follow which."""

from itertools import pairwise

import pytest

from kafka_edu.controller.replica_state_machine import ReplicaState, may_become

NEW, ONLINE, OFFLINE, STARTED, SUCCESSFUL, INELIGIBLE, NON_EXISTENT = (
    ReplicaState.NEW,
    ReplicaState.ONLINE,
    ReplicaState.OFFLINE,
    ReplicaState.DELETION_STARTED,
    ReplicaState.DELETION_SUCCESSFUL,
    ReplicaState.DELETION_INELIGIBLE,
    ReplicaState.NON_EXISTENT,
)


@pytest.mark.parametrize(
    "life",
    [
        (NON_EXISTENT, NEW, ONLINE, OFFLINE, ONLINE),
        (ONLINE, OFFLINE, STARTED, SUCCESSFUL, NON_EXISTENT, NEW),
        (STARTED, INELIGIBLE, OFFLINE, STARTED),
        (STARTED, INELIGIBLE, ONLINE),
    ],
)
def test_a_replica_may_live_so(life: tuple[ReplicaState, ...]) -> None:
    for before, after in pairwise(life):
        assert may_become(before, after), (before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (NON_EXISTENT, ONLINE),  # it must be assigned first
        (ONLINE, STARTED),  # a replica that takes part is not deleted
        (OFFLINE, SUCCESSFUL),  # nobody has been asked to delete it
        (SUCCESSFUL, ONLINE),  # it is gone
        (OFFLINE, NON_EXISTENT),  # its files are still there
    ],
)
def test_it_may_not_live_so(before: ReplicaState, after: ReplicaState) -> None:
    assert not may_become(before, after)
