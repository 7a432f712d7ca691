"""The states of a partition."""

from typing import TYPE_CHECKING

import pytest

from kafka_edu.controller.partition_state_machine import PartitionState, may_become
from kafka_edu.trace.events.controller import (
    StateMachineSnapshot,
)

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster


def test_the_snapshot_has_the_tables_of_both_machines(cluster: "ControllerCluster") -> None:
    """Of every broker, because each may become the controller."""
    cluster.start(1, 2)
    for broker in (1, 2):
        told = [e.event for e in cluster.brokers[broker].tracer.snapshot()]
        partition, replica = [e for e in told if isinstance(e, StateMachineSnapshot)]
        assert partition == StateMachineSnapshot(
            machine="partition",
            states=(
                "NewPartition",
                "OnlinePartition",
                "OfflinePartition",
                "NonExistentPartition",
            ),
            transitions=(
                ("NonExistentPartition", "NewPartition"),
                ("NewPartition", "OnlinePartition"),
                ("OnlinePartition", "OnlinePartition"),
                ("OfflinePartition", "OnlinePartition"),
                ("NewPartition", "OfflinePartition"),
                ("OnlinePartition", "OfflinePartition"),
                ("OfflinePartition", "OfflinePartition"),
                ("OfflinePartition", "NonExistentPartition"),
            ),
        )
        assert replica.machine == "replica"
        assert len(replica.states) == 7
        assert ("ReplicaDeletionSuccessful", "NonExistentReplica") in replica.transitions


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        (PartitionState.NON_EXISTENT, PartitionState.NEW, True),
        (PartitionState.NEW, PartitionState.ONLINE, True),
        (PartitionState.ONLINE, PartitionState.OFFLINE, True),
        (PartitionState.OFFLINE, PartitionState.ONLINE, True),
        (PartitionState.OFFLINE, PartitionState.NON_EXISTENT, True),
        (PartitionState.NON_EXISTENT, PartitionState.ONLINE, False),
        (PartitionState.ONLINE, PartitionState.NON_EXISTENT, False),
        (PartitionState.ONLINE, PartitionState.NEW, False),
    ],
)
def test_which_state_may_follow_which(
    before: PartitionState, after: PartitionState, allowed: bool
) -> None:
    assert may_become(before, after) is allowed
