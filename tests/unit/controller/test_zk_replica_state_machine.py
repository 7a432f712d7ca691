"""Replicas change their states, and leave the ISR in ZooKeeper."""

from typing import TYPE_CHECKING

from kafka_edu.controller.replica_state_machine import ReplicaState
from kafka_edu.trace.events.controller import (
    StateChangeRefused,
)

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster


def test_a_refused_transition_emits_an_event(cluster: "ControllerCluster") -> None:
    cluster.start(1)
    cluster.create_topic("t", [1])
    term = cluster.controller.controller._term
    assert term is not None
    replicas = term.context.replicas_for_topic("t")
    cluster.run(
        term._replica_machine.handle_state_changes(
            replicas, ReplicaState.DELETION_STARTED, "a test"
        )
    )
    assert cluster.controller.facts("StateChangeRefused") == [
        StateChangeRefused(
            topic="t",
            partition=0,
            replica=1,
            before="OnlineReplica",
            after="ReplicaDeletionStarted",
            reason="the table has no such transition",
        )
    ]
    assert term.context.replica_state(replicas[0]) is ReplicaState.ONLINE
