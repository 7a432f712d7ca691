"""The controller's knowledge of the cluster."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster


def test_the_snapshot_is_the_whole_context(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2])
    snapshot = [envelope.event for envelope in cluster.controller.tracer.snapshot()]
    assert [type(event).__name__ for event in snapshot] == [
        *["StateMachineSnapshot"] * 2,
        "ControllerSnapshot",
        *["ControllerBrokerSnapshot"] * 2,
        "ControllerPartitionSnapshot",
    ]
    assert snapshot[-1] == (
        "t",
        0,
        "OnlinePartition",
        (1, 2),
        ("OnlineReplica", "OnlineReplica"),
        1,
        0,
        (1, 2),
        0,
    )
    (sample,) = [envelope.event for envelope in cluster.controller.tracer.gauges()]
    assert sample == (True, 0, 0, 2, 1, 1, 0, 0, 0, 0)
