"""Tools that ask the controller: how a broker answers that another broker is the controller."""

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.controlled_shutdown import ControlledShutdownResponse
from kafka_edu.protocol.messages.elect_leaders import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from kafka_edu.tools import controlled_shutdown, leader_election


def test_a_controlled_shutdown() -> None:
    assert (
        controlled_shutdown.error_of(
            ControlledShutdownResponse(error_code=Errors.STALE_CONTROLLER_EPOCH)
        )
        is Errors.NOT_CONTROLLER
    )
    for error in (Errors.NONE, Errors.BROKER_NOT_AVAILABLE, Errors.STALE_BROKER_EPOCH):
        assert controlled_shutdown.error_of(ControlledShutdownResponse(error_code=error)) is error


def election(top: Errors, *partitions: Errors) -> Errors:
    results = [
        PartitionResult(partition_id=number, error_code=error)
        for number, error in enumerate(partitions)
    ]
    return leader_election.error_of(
        ElectLeadersResponse(
            error_code=top,
            replica_election_results=[ReplicaElectionResult(partition_result=results)],
        )
    )


def test_an_election() -> None:
    assert election(Errors.NONE, Errors.NONE, Errors.NOT_CONTROLLER) is Errors.NOT_CONTROLLER
    assert election(Errors.NOT_CONTROLLER) is Errors.NOT_CONTROLLER
    assert election(Errors.NONE, Errors.ELECTION_NOT_NEEDED) is Errors.NONE
    assert election(Errors.CLUSTER_AUTHORIZATION_FAILED) is Errors.CLUSTER_AUTHORIZATION_FAILED
