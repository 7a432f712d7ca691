"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup, which members of a group send (Kafka:
KafkaApis.scala; book 001, 002 §6).

This module checks only what depends on the request's version. The request comes from KafkaApis.
GroupCoordinator makes all other checks and does the work.
"""

from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.coordinator.group.group_coordinator import Client, GroupCoordinator, Member
from kafka_edu.coordinator.group.member_metadata import JoinGroupResult, SyncGroupResult
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_edu.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kafka_edu.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)
from kafka_edu.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

FIRST_JOIN_THAT_KNOWS_ITS_ID: Final = 4
FIRST_JOIN_WITH_NULL_PROTOCOL: Final = 7
FIRST_SYNC_WITH_PROTOCOL: Final = 5
FIRST_LEAVE_OF_SEVERAL: Final = 3
STATIC_MEMBERS: Final = (2, 3)
"""The first inter.broker.protocol.version, here (2, 3), in which brokers can store instance ids."""


def check_instance_id(
    group_instance_id: str | None, inter_broker_protocol: tuple[int, int]
) -> None:
    """Raise UNSUPPORTED_VERSION if the member has an instance id, and the cluster may contain
    brokers that are too old to store it (KIP-345).
    """
    if group_instance_id is not None and inter_broker_protocol < STATIC_MEMBERS:
        raise KafkaException(
            Errors.UNSUPPORTED_VERSION,
            "static members need inter.broker.protocol.version 2.3 or later",
        )


class GroupsApi:
    def __init__(
        self, coordinator: GroupCoordinator, inter_broker_protocol: tuple[int, int]
    ) -> None:
        self._coordinator = coordinator
        self._protocol = inter_broker_protocol

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.JOIN_GROUP, JoinGroupRequest, self.handle_join_group, self._join_error)
        apis.serve(ApiKey.SYNC_GROUP, SyncGroupRequest, self.handle_sync_group, self._sync_error)
        apis.serve(ApiKey.HEARTBEAT, HeartbeatRequest, self.handle_heartbeat, self._heartbeat_error)
        apis.serve(
            ApiKey.LEAVE_GROUP, LeaveGroupRequest, self.handle_leave_group, self._leave_error
        )

    def handle_join_group(self, call: ApiCall, request: JoinGroupRequest) -> None:
        check_instance_id(request.group_instance_id, self._protocol)
        client = Client(call.client_id, f"/{call.request.client_address}")
        require_known_member_id = (
            call.version >= FIRST_JOIN_THAT_KNOWS_ITS_ID and request.group_instance_id is None
        )

        def respond(result: JoinGroupResult) -> None:
            name = result.protocol_name
            call.respond(
                JoinGroupResponse(
                    error_code=result.error,
                    generation_id=result.generation_id,
                    protocol_type=result.protocol_type,
                    protocol_name=(
                        name if call.version >= FIRST_JOIN_WITH_NULL_PROTOCOL else name or ""
                    ),
                    leader=result.leader_id,
                    member_id=result.member_id,
                    members=[
                        JoinGroupResponseMember(
                            member_id=member.member_id,
                            group_instance_id=member.group_instance_id,
                            metadata=member.metadata,
                        )
                        for member in result.members
                    ],
                )
            )

        self._coordinator.handle_join_group(
            request, client, require_known_member_id=require_known_member_id, respond=respond
        )
        if not call.answered:
            call.waits()

    def handle_sync_group(self, call: ApiCall, request: SyncGroupRequest) -> None:
        """Pass the request to the coordinator. From v5 on a request contains the protocol that the
        member expects (KIP-559).
        """
        check_instance_id(request.group_instance_id, self._protocol)
        if call.version >= FIRST_SYNC_WITH_PROTOCOL and (
            request.protocol_type is None or request.protocol_name is None
        ):
            raise KafkaException(Errors.INCONSISTENT_GROUP_PROTOCOL)

        def respond(result: SyncGroupResult) -> None:
            call.respond(
                SyncGroupResponse(
                    error_code=result.error,
                    protocol_type=result.protocol_type,
                    protocol_name=result.protocol_name,
                    assignment=result.assignment,
                )
            )

        self._coordinator.handle_sync_group(request, respond)
        if not call.answered:
            call.waits()

    def handle_heartbeat(self, call: ApiCall, request: HeartbeatRequest) -> None:
        check_instance_id(request.group_instance_id, self._protocol)
        member = Member(request.member_id, request.group_instance_id, request.generation_id)
        call.respond(
            HeartbeatResponse(
                error_code=self._coordinator.handle_heartbeat(request.group_id, member)
            )
        )

    def handle_leave_group(self, call: ApiCall, request: LeaveGroupRequest) -> None:
        """Let members leave the group. Up to v2 a request contains one member, and this member's
        error is the error of the response. From v3 on it may contain several members, each with its
        own error.
        """
        if call.version < FIRST_LEAVE_OF_SEVERAL:
            error, errors = self._coordinator.handle_leave_group(
                request.group_id, [Member(request.member_id)]
            )
            call.respond(LeaveGroupResponse(error_code=error or errors[0]))
            return
        members = [Member(member.member_id, member.group_instance_id) for member in request.members]
        error, errors = self._coordinator.handle_leave_group(request.group_id, members)
        responses = [
            MemberResponse(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=member_error,
            )
            for member, member_error in zip(members, errors, strict=bool(errors))
        ]
        call.respond(LeaveGroupResponse(error_code=error, members=responses))

    @staticmethod
    def _join_error(_: JoinGroupRequest, version: int, error: Errors, __: str) -> JoinGroupResponse:
        return JoinGroupResponse(
            error_code=error, protocol_name=None if version >= FIRST_JOIN_WITH_NULL_PROTOCOL else ""
        )

    @staticmethod
    def _sync_error(_: SyncGroupRequest, __: int, error: Errors, ___: str) -> SyncGroupResponse:
        return SyncGroupResponse(error_code=error)

    @staticmethod
    def _heartbeat_error(
        _: HeartbeatRequest, __: int, error: Errors, ___: str
    ) -> HeartbeatResponse:
        return HeartbeatResponse(error_code=error)

    @staticmethod
    def _leave_error(_: LeaveGroupRequest, __: int, error: Errors, ___: str) -> LeaveGroupResponse:
        return LeaveGroupResponse(error_code=error)
