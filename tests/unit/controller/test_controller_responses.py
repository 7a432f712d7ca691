"""Which event the controller gets when a broker has answered a request."""

from uuid import UUID

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_events import (
    LeaderAndIsrResponseReceived,
    TopicDeletionStopReplicaResponseReceived,
)
from kafka_edu.controller.controller_responses import event_of_response
from kafka_edu.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    LeaderAndIsrTopicState,
)
from kafka_edu.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaResponse,
)
from kafka_edu.protocol.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)

A0, A1, A2 = (TopicPartition("a", number) for number in range(3))
ERRORS = {0: Errors.NONE, 1: Errors.KAFKA_STORAGE_ERROR, 2: Errors.STALE_CONTROLLER_EPOCH}


def test_replicas_on_a_failed_disk_are_offline_and_those_that_answered_well_are_online() -> None:
    response = LeaderAndIsrResponse(
        partition_errors=[
            LeaderAndIsrPartitionError(topic_name="a", partition_index=number, error_code=error)
            for number, error in ERRORS.items()
        ]
    )
    event = event_of_response(7, LeaderAndIsrRequest(), response)
    assert event == LeaderAndIsrResponseReceived(7, offline=(A1,), online=(A0,))


def test_topic_ids_of_a_newer_response_are_turned_into_the_names_of_the_request() -> None:
    topic_id = UUID(int=5)
    request = LeaderAndIsrRequest(
        topic_states=[LeaderAndIsrTopicState(topic_name="a", topic_id=topic_id)]
    )
    response = LeaderAndIsrResponse(
        topics=[
            LeaderAndIsrTopicError(
                topic_id=one,
                partition_errors=[
                    LeaderAndIsrPartitionError(partition_index=1, error_code=Errors.NONE)
                ],
            )
            for one in (topic_id, UUID(int=6))
        ]
    )
    assert event_of_response(7, request, response) == LeaderAndIsrResponseReceived(7, (), (A1,))


def deletion(*numbers: int) -> StopReplicaRequest:
    return StopReplicaRequest(
        delete_partitions=True,
        ungrouped_partitions=[
            StopReplicaPartitionV0(topic_name="a", partition_index=number) for number in numbers
        ],
    )


def test_a_broker_deletes_some_replicas_and_fails_at_others() -> None:
    response = StopReplicaResponse(
        partition_errors=[
            StopReplicaPartitionError(topic_name="a", partition_index=number, error_code=error)
            for number, error in ERRORS.items()
        ]
    )
    event = event_of_response(7, deletion(0, 1, 2), response)
    assert event == TopicDeletionStopReplicaResponseReceived(7, deleted=(A0,), failed=(A1, A2))


def test_an_error_of_the_whole_response_fails_every_deletion() -> None:
    response = StopReplicaResponse(error_code=Errors.STALE_BROKER_EPOCH)
    event = event_of_response(7, deletion(0, 1), response)
    assert event == TopicDeletionStopReplicaResponseReceived(7, deleted=(), failed=(A0, A1))


def test_nothing_follows_from_a_stop_without_deletion_or_from_update_metadata() -> None:
    assert event_of_response(7, StopReplicaRequest(), StopReplicaResponse()) is None
    assert event_of_response(7, UpdateMetadataRequest(), UpdateMetadataResponse()) is None
