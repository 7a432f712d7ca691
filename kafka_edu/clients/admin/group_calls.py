"""The admin client's calls about consumer groups: their members and their committed offsets.

Only the coordinator of a group knows the group. So a list of all groups needs a request to each
broker.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.clients.admin.admin_call import (
    AdminCall,
    Broker,
    CoordinatorOf,
    Form,
    Requested,
    Results,
    by_topic,
    expect,
    failed,
    need_version,
)
from kafka_edu.clients.admin.node import Node
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from kafka_edu.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafka_edu.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kafka_edu.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafka_edu.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafka_edu.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from kafka_edu.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
_NO_GENERATION: Final = -1
_NO_MEMBER: Final = ""
_VERSION_BYTES: Final = 2
_NOT_COMMITTED: Final = -1
_FIRST_WITH_ALL_OFFSETS: Final = 2


class ConsumerGroupListing(NamedTuple):
    group_id: str
    simple: bool
    """Whether the group only stores offsets, and has no members that divide partitions."""
    state: str | None
    """None if the broker is older than 2.6."""


class MemberDescription(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]


class ConsumerGroupDescription(NamedTuple):
    group_id: str
    simple: bool
    members: tuple[MemberDescription, ...]
    partition_assignor: str
    """Empty unless the group is stable."""
    state: str
    """Kafka's name of the state. Dead means that the group does not exist."""
    coordinator: Node


def list_groups_of(
    brokers: Collection[int], states: Collection[str]
) -> AdminCall[int, list[ConsumerGroupListing]]:
    """Ask each broker of `brokers` for the groups that this broker coordinates."""

    def read(
        requested: Requested[int], answer: Message
    ) -> dict[int, list[ConsumerGroupListing] | ClientException]:
        response = expect(ListGroupsResponse, answer)
        groups = failed(response.error_code) or [
            ConsumerGroupListing(group.group_id, not group.protocol_type, group.group_state or None)
            for group in response.groups
            if group.protocol_type in ("", CONSUMER_PROTOCOL_TYPE)
        ]
        # Only one item, because each broker gets its own request.
        return dict.fromkeys(requested.items, groups)

    return AdminCall(
        "list_consumer_groups",
        (ApiKey.LIST_GROUPS,),
        {broker: Broker(broker) for broker in brokers},
        lambda _, form: ListGroupsRequest(states_filter=list(states)),
        read,
    )


def describe_consumer_groups(
    groups: Collection[str],
) -> AdminCall[str, ConsumerGroupDescription]:
    def read(
        requested: Requested[str], answer: Message
    ) -> dict[str, ConsumerGroupDescription | ClientException]:
        return {
            group.group_id: failed(group.error_code) or _description(group, requested.node)
            for group in expect(DescribeGroupsResponse, answer).groups
        }

    return AdminCall(
        "describe_consumer_groups",
        (ApiKey.DESCRIBE_GROUPS,),
        _coordinators(groups),
        lambda names, form: DescribeGroupsRequest(groups=list(names)),
        read,
    )


def _description(
    group: DescribedGroup, coordinator: Node
) -> ConsumerGroupDescription | ClientException:
    if group.protocol_type not in ("", CONSUMER_PROTOCOL_TYPE):
        return ClientException(
            Errors.INCONSISTENT_GROUP_PROTOCOL,
            f"GroupId {group.group_id} is not a consumer group ({group.protocol_type}).",
            "Choose a group of consumers.",
        )
    try:
        members = tuple(
            MemberDescription(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                _assignment(member.member_assignment),
            )
            for member in group.members
        )
    except ProtocolError as error:
        return ClientException(
            Errors.INCONSISTENT_GROUP_PROTOCOL,
            f"The assignment of a member of group {group.group_id} cannot be read: {error}.",
            "Look at the program that leads the group.",
        )
    return ConsumerGroupDescription(
        group.group_id,
        not group.protocol_type,
        members,
        group.protocol_data,
        group.group_state,
        coordinator,
    )


def _assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """Decode the assignment that the group's leader wrote. Fields of newer versions are ignored."""
    if not data:
        return ()
    version = min(int.from_bytes(data[:_VERSION_BYTES], "big"), ConsumerProtocolAssignment.VALID[1])
    assigned = ConsumerProtocolAssignment.decode(data, version, _VERSION_BYTES).assigned_partitions
    return tuple(
        TopicPartition(each.topic, number) for each in assigned for number in each.partitions
    )


def list_consumer_group_offsets(
    group: str, partitions: Collection[TopicPartition] | None
) -> AdminCall[str, Results[TopicPartition, OffsetAndMetadata | None]]:
    def read(
        _: object, answer: Message
    ) -> dict[str, Results[TopicPartition, OffsetAndMetadata | None] | ClientException]:
        response = expect(OffsetFetchResponse, answer)
        error = failed(response.error_code)
        if error:
            return {group: error}
        results: Results[TopicPartition, OffsetAndMetadata | None] = Results()
        for topic in response.topics:
            for each in topic.partitions:
                tp = TopicPartition(topic.name, each.partition_index)
                if each.error_code:
                    results.put(tp, failed(each.error_code))
                elif each.committed_offset == _NOT_COMMITTED:
                    results.put(tp, None)
                else:
                    results.put(
                        tp,
                        OffsetAndMetadata(
                            each.committed_offset, each.metadata or "", each.committed_leader_epoch
                        ),
                    )
        return {group: results}

    def write(_: object, form: Form) -> Message:
        if partitions is None:
            need_version(form, _FIRST_WITH_ALL_OFFSETS, "all offsets of a group")
            return OffsetFetchRequest(group_id=group, topics=None)
        return OffsetFetchRequest(
            group_id=group,
            topics=[
                OffsetFetchRequestTopic(name=topic, partition_indexes=numbers)
                for topic, numbers in by_topic(partitions).items()
            ],
        )

    return AdminCall(
        "list_consumer_group_offsets",
        (ApiKey.OFFSET_FETCH,),
        _coordinators([group]),
        write,
        read,
    )


def alter_consumer_group_offsets(
    group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> AdminCall[TopicPartition, None]:
    def commit(tp: TopicPartition) -> OffsetCommitRequestPartition:
        offset, metadata, leader_epoch = offsets[tp]
        return OffsetCommitRequestPartition(
            partition_index=tp.partition,
            committed_offset=offset,
            committed_leader_epoch=leader_epoch,
            committed_metadata=metadata,
        )

    def write(chosen: Sequence[TopicPartition]) -> Message:
        return OffsetCommitRequest(
            group_id=group,
            generation_id=_NO_GENERATION,
            member_id=_NO_MEMBER,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[commit(TopicPartition(topic, number)) for number in numbers],
                )
                for topic, numbers in by_topic(chosen).items()
            ],
        )

    def read(_: object, answer: Message) -> dict[TopicPartition, ClientException | None]:
        return {
            TopicPartition(topic.name, each.partition_index): failed(each.error_code)
            for topic in expect(OffsetCommitResponse, answer).topics
            for each in topic.partitions
        }

    return AdminCall(
        "alter_consumer_group_offsets",
        (ApiKey.OFFSET_COMMIT,),
        dict.fromkeys(offsets, CoordinatorOf(group)),
        lambda chosen, form: write(chosen),
        read,
    )


def delete_consumer_group_offsets(
    group: str, partitions: Collection[TopicPartition]
) -> AdminCall[TopicPartition, None]:
    def read(
        requested: Requested[TopicPartition], answer: Message
    ) -> dict[TopicPartition, ClientException | None]:
        response = expect(OffsetDeleteResponse, answer)
        error = failed(response.error_code)
        if error:
            return dict.fromkeys(requested.items, error)
        return {
            TopicPartition(topic.name, each.partition_index): failed(each.error_code)
            for topic in response.topics
            for each in topic.partitions
        }

    return AdminCall(
        "delete_consumer_group_offsets",
        (ApiKey.OFFSET_DELETE,),
        dict.fromkeys(partitions, CoordinatorOf(group)),
        lambda chosen, form: OffsetDeleteRequest(
            group_id=group,
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[
                        OffsetDeleteRequestPartition(partition_index=number) for number in numbers
                    ],
                )
                for topic, numbers in by_topic(chosen).items()
            ],
        ),
        read,
    )


def delete_consumer_groups(groups: Collection[str]) -> AdminCall[str, None]:
    def read(_: object, answer: Message) -> dict[str, ClientException | None]:
        return {
            each.group_id: failed(each.error_code)
            for each in expect(DeleteGroupsResponse, answer).results
        }

    return AdminCall(
        "delete_consumer_groups",
        (ApiKey.DELETE_GROUPS,),
        _coordinators(groups),
        lambda names, form: DeleteGroupsRequest(groups_names=list(names)),
        read,
    )


def _coordinators(groups: Collection[str]) -> dict[str, CoordinatorOf]:
    return {group: CoordinatorOf(group) for group in groups}
