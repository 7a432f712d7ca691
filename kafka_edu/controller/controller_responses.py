"""Turn a broker's response into an event for the controller, with pure functions.

(Kafka: the callbacks that KafkaController hands to the channel manager.)

Next: `KafkaController._on_response` (kafka_controller.py) queues the event.
"""

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_events import (
    ControllerEvent,
    LeaderAndIsrResponseReceived,
    TopicDeletionStopReplicaResponseReceived,
)
from kafka_edu.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from kafka_edu.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from kafka_edu.protocol.schema import Message


def event_of_response(
    broker_id: int, request: Message, response: Message
) -> ControllerEvent | None:
    """Return the event that a response leads to; None if the controller need not react.

    None is returned for a response to UpdateMetadata, for example.
    """
    if isinstance(request, LeaderAndIsrRequest) and isinstance(response, LeaderAndIsrResponse):
        errors = leader_and_isr_errors(request, response)
        offline = tuple(
            sorted(tp for tp, error in errors.items() if error == Errors.KAFKA_STORAGE_ERROR)
        )
        online = tuple(sorted(tp for tp, error in errors.items() if error == Errors.NONE))
        return LeaderAndIsrResponseReceived(broker_id, offline, online)
    if isinstance(request, StopReplicaRequest) and isinstance(response, StopReplicaResponse):
        to_delete = partitions_to_delete(request)
        if to_delete:
            failed = {
                TopicPartition(e.topic_name, e.partition_index)
                for e in response.partition_errors
                if e.error_code != Errors.NONE
            }
            if response.error_code != Errors.NONE:
                failed = set(to_delete)
            gone = tuple(tp for tp in to_delete if tp not in failed)
            return TopicDeletionStopReplicaResponseReceived(
                broker_id, gone, tuple(tp for tp in to_delete if tp in failed)
            )
    return None


def leader_and_isr_errors(
    request: LeaderAndIsrRequest, response: LeaderAndIsrResponse
) -> dict[TopicPartition, int]:
    """Return partition → error code, from a response to LeaderAndIsr.

    From version 5 on, the response has topic ids instead of names. The names come from the request.
    """
    errors = {
        TopicPartition(e.topic_name, e.partition_index): e.error_code
        for e in response.partition_errors
    }
    names = {topic.topic_id: topic.topic_name for topic in request.topic_states}
    for topic in response.topics:
        name = names.get(topic.topic_id)
        if name is not None:
            errors |= {
                TopicPartition(name, e.partition_index): e.error_code
                for e in topic.partition_errors
            }
    return errors


def partitions_to_delete(request: StopReplicaRequest) -> list[TopicPartition]:
    """Return the partitions that a StopReplica request of any version deletes, sorted."""
    listed = [
        TopicPartition(t.topic_name, p.partition_index)
        for t in request.topic_states
        for p in t.partition_states
        if p.delete_partition
    ]
    if request.delete_partitions:
        listed += [
            TopicPartition(p.topic_name, p.partition_index) for p in request.ungrouped_partitions
        ]
        listed += [
            TopicPartition(t.name, number) for t in request.topics for number in t.partition_indexes
        ]
    return sorted(listed)
