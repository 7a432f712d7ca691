"""DescribeGroups, ListGroups, DeleteGroups and OffsetDelete, which tools send (Kafka:
KafkaApis.scala; KIP-229, KIP-430, KIP-496, KIP-518).
"""

from typing import Final

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.cluster.metadata_response import NOT_ASKED
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_coordinator import GroupCoordinator
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from kafka_edu.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kafka_edu.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kafka_edu.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

#: The operations that a client may do with a group, as bits. Bit n stands for the AclOperation with
#: code n. The three operations are Read, Delete and Describe. Without an authorizer all are
#: allowed.
GROUP_OPERATIONS: Final = sum(1 << code for code in (3, 6, 8))


class GroupAdminApi:
    def __init__(self, coordinator: GroupCoordinator, cache: MetadataCache) -> None:
        self._coordinator = coordinator
        self._cache = cache

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.DESCRIBE_GROUPS,
            DescribeGroupsRequest,
            self.handle_describe_groups,
            self._describe_error,
        )
        apis.serve(ApiKey.LIST_GROUPS, ListGroupsRequest, self.handle_list_groups, self._list_error)
        apis.serve(
            ApiKey.DELETE_GROUPS, DeleteGroupsRequest, self.handle_delete_groups, self._delete_error
        )
        apis.serve(
            ApiKey.OFFSET_DELETE,
            OffsetDeleteRequest,
            self.handle_offset_delete,
            self._offset_delete_error,
        )

    def handle_describe_groups(self, call: ApiCall, request: DescribeGroupsRequest) -> None:
        call.respond(
            DescribeGroupsResponse(
                groups=[self._describe(group_id, request) for group_id in request.groups]
            )
        )

    def _describe(self, group_id: str, request: DescribeGroupsRequest) -> DescribedGroup:
        error, summary = self._coordinator.handle_describe_group(group_id)
        with_operations = request.include_authorized_operations and error is Errors.NONE
        return DescribedGroup(
            error_code=error,
            group_id=group_id,
            group_state=summary.state,
            protocol_type=summary.protocol_type,
            protocol_data=summary.protocol,
            members=[
                DescribedGroupMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=member.metadata,
                    member_assignment=member.assignment,
                )
                for member in summary.members
            ],
            authorized_operations=GROUP_OPERATIONS if with_operations else NOT_ASKED,
        )

    def handle_list_groups(self, call: ApiCall, request: ListGroupsRequest) -> None:
        error, groups = self._coordinator.handle_list_groups(frozenset(request.states_filter))
        listed = [
            ListedGroup(group_id=group_id, protocol_type=protocol_type, group_state=state)
            for group_id, protocol_type, state in groups
        ]
        call.respond(ListGroupsResponse(error_code=error, groups=listed))

    def handle_delete_groups(self, call: ApiCall, request: DeleteGroupsRequest) -> None:
        errors = self._coordinator.handle_delete_groups(request.groups_names)
        call.respond(
            DeleteGroupsResponse(
                results=[
                    DeletableGroupResult(group_id=group_id, error_code=error)
                    for group_id, error in errors.items()
                ]
            )
        )

    def handle_offset_delete(self, call: ApiCall, request: OffsetDeleteRequest) -> None:
        """Delete committed offsets. An unknown partition gets its own error. If the whole group has
        an error, the response contains only this error.
        """
        requested = dict.fromkeys(
            TopicPartition(topic.name, partition.partition_index)
            for topic in request.topics
            for partition in topic.partitions
        )
        known = [tp for tp in requested if self._cache.contains(tp)]
        error, errors = self._coordinator.handle_delete_offsets(request.group_id, known)
        if error is not Errors.NONE:
            call.respond_error(error)
            return
        topics: dict[str, OffsetDeleteResponseTopic] = {}
        for tp in requested:
            topic = topics.setdefault(tp.topic, OffsetDeleteResponseTopic(name=tp.topic))
            result = errors.get(tp, Errors.UNKNOWN_TOPIC_OR_PARTITION)
            topic.partitions.append(
                OffsetDeleteResponsePartition(partition_index=tp.partition, error_code=result)
            )
        call.respond(OffsetDeleteResponse(topics=list(topics.values())))

    @staticmethod
    def _describe_error(
        request: DescribeGroupsRequest, _: int, error: Errors, __: str
    ) -> DescribeGroupsResponse:
        return DescribeGroupsResponse(
            groups=[
                DescribedGroup(error_code=error, group_id=group_id) for group_id in request.groups
            ]
        )

    @staticmethod
    def _list_error(_: ListGroupsRequest, __: int, error: Errors, ___: str) -> ListGroupsResponse:
        return ListGroupsResponse(error_code=error)

    @staticmethod
    def _delete_error(
        request: DeleteGroupsRequest, _: int, error: Errors, __: str
    ) -> DeleteGroupsResponse:
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(group_id=group_id, error_code=error)
                for group_id in request.groups_names
            ]
        )

    @staticmethod
    def _offset_delete_error(
        _: OffsetDeleteRequest, __: int, error: Errors, ___: str
    ) -> OffsetDeleteResponse:
        return OffsetDeleteResponse(error_code=error)
