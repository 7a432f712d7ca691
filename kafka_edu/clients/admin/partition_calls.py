"""The admin client's calls about partitions: their offsets, records, leaders and replicas."""

from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from kafka_edu.clients.admin.admin_call import (
    CONTROLLER,
    AdminCall,
    Form,
    LeaderOf,
    Requested,
    Results,
    by_topic,
    expect,
    failed,
    need_version,
    results_of,
)
from kafka_edu.clients.admin.cluster_calls import CLUSTER
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.consumer.offset_lookups import FoundOffset
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_edu.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafka_edu.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafka_edu.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from kafka_edu.protocol.schema import Message

_CONSUMER: Final = -1
_FIRST_WITH_ONE_OFFSET: Final = 1


class ElectionType(IntEnum):
    """The type of an election. The value is its number in the protocol (Kafka:
    ElectionType.java).
    """

    PREFERRED = 0
    UNCLEAN = 1


class PartitionReassignment(NamedTuple):
    """The replicas of a partition that is being moved (Kafka: PartitionReassignment.java)."""

    replicas: tuple[int, ...]
    """All replicas at present, old and new."""
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


def list_offsets(
    partitions: Mapping[TopicPartition, int], read_committed: bool
) -> AdminCall[TopicPartition, FoundOffset]:
    def write(chosen: Sequence[TopicPartition], form: Form) -> Message:
        need_version(form, _FIRST_WITH_ONE_OFFSET, "one offset for each partition")
        return ListOffsetsRequest(
            replica_id=_CONSUMER,
            isolation_level=int(read_committed),
            topics=[
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(
                            partition_index=number,
                            timestamp=partitions[TopicPartition(topic, number)],
                        )
                        for number in numbers
                    ],
                )
                for topic, numbers in by_topic(chosen).items()
            ],
        )

    def read(_: object, answer: Message) -> dict[TopicPartition, FoundOffset | ClientException]:
        return {
            TopicPartition(topic.name, each.partition_index): failed(each.error_code)
            or FoundOffset(each.offset, each.timestamp, each.leader_epoch)
            for topic in expect(ListOffsetsResponse, answer).topics
            for each in topic.partitions
        }

    return AdminCall("list_offsets", (ApiKey.LIST_OFFSETS,), _leaders(partitions), write, read)


def delete_records(before: Mapping[TopicPartition, int]) -> AdminCall[TopicPartition, int]:
    def write(chosen: Sequence[TopicPartition], form: Form) -> Message:
        return DeleteRecordsRequest(
            topics=[
                DeleteRecordsTopic(
                    name=topic,
                    partitions=[
                        DeleteRecordsPartition(
                            partition_index=number, offset=before[TopicPartition(topic, number)]
                        )
                        for number in numbers
                    ],
                )
                for topic, numbers in by_topic(chosen).items()
            ],
            timeout_ms=form.timeout_ms,
        )

    def read(_: object, answer: Message) -> dict[TopicPartition, int | ClientException]:
        return {
            TopicPartition(topic.name, each.partition_index): failed(each.error_code)
            or each.low_watermark
            for topic in expect(DeleteRecordsResponse, answer).topics
            for each in topic.partitions
        }

    return AdminCall("delete_records", (ApiKey.DELETE_RECORDS,), _leaders(before), write, read)


def _leaders(partitions: Collection[TopicPartition]) -> dict[TopicPartition, LeaderOf]:
    return {tp: LeaderOf(tp) for tp in partitions}


def elect_leaders(
    election_type: ElectionType, partitions: Collection[TopicPartition] | None
) -> AdminCall[str, Results[TopicPartition, None]]:
    def read(
        _: object, answer: Message
    ) -> dict[str, Results[TopicPartition, None] | ClientException]:
        response = expect(ElectLeadersResponse, answer)
        outcomes = {
            TopicPartition(topic.topic, each.partition_id): failed(
                each.error_code, each.error_message
            )
            for topic in response.replica_election_results
            for each in topic.partition_result
        }
        wrong_broker = next(  # version 0 has an error code only for each partition
            (each for each in outcomes.values() if each and each.error is Errors.NOT_CONTROLLER),
            None,
        )
        return {
            CLUSTER: failed(response.error_code) or wrong_broker or results_of(outcomes.items())
        }

    return AdminCall(
        "elect_leaders",
        (ApiKey.ELECT_LEADERS,),
        {CLUSTER: CONTROLLER},
        lambda _, form: ElectLeadersRequest(
            election_type=election_type,
            topic_partitions=None
            if partitions is None
            else [
                TopicPartitions(topic=topic, partition_id=numbers)
                for topic, numbers in by_topic(partitions).items()
            ],
            timeout_ms=form.timeout_ms,
        ),
        read,
    )


def alter_partition_reassignments(
    reassignments: Mapping[TopicPartition, Sequence[int] | None],
) -> AdminCall[TopicPartition, None]:
    def write(chosen: Sequence[TopicPartition], form: Form) -> Message:
        def target(tp: TopicPartition) -> list[int] | None:
            replicas = reassignments[tp]
            return None if replicas is None else list(replicas)

        return AlterPartitionReassignmentsRequest(
            timeout_ms=form.timeout_ms,
            topics=[
                ReassignableTopic(
                    name=topic,
                    partitions=[
                        ReassignablePartition(
                            partition_index=number, replicas=target(TopicPartition(topic, number))
                        )
                        for number in numbers
                    ],
                )
                for topic, numbers in by_topic(chosen).items()
            ],
        )

    def read(
        requested: Requested[TopicPartition], answer: Message
    ) -> dict[TopicPartition, ClientException | None]:
        response = expect(AlterPartitionReassignmentsResponse, answer)
        error = failed(response.error_code, response.error_message)
        if error:
            return dict.fromkeys(requested.items, error)
        return {
            TopicPartition(topic.name, each.partition_index): failed(
                each.error_code, each.error_message
            )
            for topic in response.responses
            for each in topic.partitions
        }

    return AdminCall(
        "alter_partition_reassignments",
        (ApiKey.ALTER_PARTITION_REASSIGNMENTS,),
        dict.fromkeys(reassignments, CONTROLLER),
        write,
        read,
    )


def list_partition_reassignments(
    partitions: Collection[TopicPartition] | None,
) -> AdminCall[str, dict[TopicPartition, PartitionReassignment]]:
    def read(
        _: object, answer: Message
    ) -> dict[str, dict[TopicPartition, PartitionReassignment] | ClientException]:
        response = expect(ListPartitionReassignmentsResponse, answer)
        error = failed(response.error_code, response.error_message)
        if error:
            return {CLUSTER: error}
        return {
            CLUSTER: {
                TopicPartition(topic.name, each.partition_index): PartitionReassignment(
                    tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
                )
                for topic in response.topics
                for each in topic.partitions
            }
        }

    return AdminCall(
        "list_partition_reassignments",
        (ApiKey.LIST_PARTITION_REASSIGNMENTS,),
        {CLUSTER: CONTROLLER},
        lambda _, form: ListPartitionReassignmentsRequest(
            timeout_ms=form.timeout_ms,
            topics=None
            if partitions is None
            else [
                ListPartitionReassignmentsTopics(name=topic, partition_indexes=numbers)
                for topic, numbers in by_topic(partitions).items()
            ],
        ),
        read,
    )
