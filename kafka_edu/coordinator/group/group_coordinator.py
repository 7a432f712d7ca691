"""The group coordinator: it answers the requests of group members and consumers.

(Kafka: GroupCoordinator.scala; book 001, 002 §6; spec O1, O2.) No method of this class waits. A
request's function `respond` is called with the response, either at once or later, when the request
need not wait any more. First each request is checked: does this broker coordinate the group at all?
Then the member is checked, because it may be fenced (FENCED_INSTANCE_ID), unknown
(UNKNOWN_MEMBER_ID), or of an old generation (ILLEGAL_GENERATION). Each kind of request has one
`handle_…` method, which decides the response in each state of the group.

    JoinGroup   → waits for the other members    → the new generation
    SyncGroup   → waits for the leader's request → the member's assignment
    Heartbeat   → at once: is there a rebalance?
    LeaveGroup  → at once

The requests come from apis/groups and apis/offsets. Next: GroupRebalancer and GroupMetadataManager.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_config import GroupConfig
from kafka_edu.coordinator.group.group_metadata import (
    CONSUMER_PROTOCOL_TYPE,
    NO_MEMBER_ID,
    GroupMetadata,
)
from kafka_edu.coordinator.group.group_metadata_manager import CommitErrors, GroupMetadataManager
from kafka_edu.coordinator.group.group_rebalancer import GroupRebalancer
from kafka_edu.coordinator.group.group_state import GroupState
from kafka_edu.coordinator.group.member_metadata import (
    JoinCallback,
    JoinGroupResult,
    MemberMetadata,
    Protocol,
    SyncCallback,
    SyncGroupResult,
)
from kafka_edu.coordinator.group.offset_and_metadata import OffsetAndMetadata
from kafka_edu.protocol.messages.join_group import JoinGroupRequest
from kafka_edu.protocol.messages.sync_group import SyncGroupRequest

NO_STATE: Final = ""
NO_GENERATION: Final = -1


class Client(NamedTuple):
    """The client that sent a request, as DescribeGroups shows it."""

    client_id: str
    host: str
    """The client's address, for example `/127.0.0.1`."""


class Member(NamedTuple):
    """The member that a request names as its sender.

    A client outside the group, which only commits offsets, has an empty id, no instance id and
    generation -1.
    """

    member_id: str = NO_MEMBER_ID
    group_instance_id: str | None = None
    generation_id: int = NO_GENERATION


class MemberSummary(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class GroupSummary(NamedTuple):
    """A group as DescribeGroups shows it.

    Protocol, metadata and assignments are filled only while the group is stable.
    """

    state: str
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[MemberSummary, ...] = ()


DEAD_GROUP: Final = GroupSummary(GroupState.DEAD)
"""The summary in the response about a group that does not exist."""
NO_GROUP: Final = GroupSummary(NO_STATE)
"""The summary in a response that has an error."""


class GroupCoordinator:
    """The coordinator of all groups whose partition of `__consumer_offsets` this broker leads.

    Used only in the broker's event loop.
    """

    def __init__(
        self,
        config: GroupConfig,
        manager: GroupMetadataManager,
        rebalancer: GroupRebalancer,
        random: Random,
    ) -> None:
        self._config = config
        self._manager = manager
        self._rebalancer = rebalancer
        self._random = random
        self.is_active = True
        """False after the broker's shutdown began; requests then get COORDINATOR_NOT_AVAILABLE."""

    def _status(self, group_id: str, *, empty_id_is_valid: bool = False) -> Errors:
        """Return NONE if this broker can handle requests for the group now, else the error.

        The empty group name is valid for offsets, but not for members.
        """
        if not group_id and not empty_id_is_valid:
            return Errors.INVALID_GROUP_ID
        if not self.is_active:
            return Errors.COORDINATOR_NOT_AVAILABLE
        if self._manager.is_group_loading(group_id):
            return Errors.COORDINATOR_LOAD_IN_PROGRESS
        return Errors.NONE if self._manager.is_group_local(group_id) else Errors.NOT_COORDINATOR

    def _check_member(self, group: GroupMetadata, member: Member, operation: str) -> Errors:
        """Return NONE if `member` belongs to the group's current generation, else the error."""
        if group.state is GroupState.DEAD:
            return Errors.COORDINATOR_NOT_AVAILABLE
        if group.is_static_member_fenced(member.member_id, member.group_instance_id, operation):
            return Errors.FENCED_INSTANCE_ID
        if not group.has(member.member_id):
            return Errors.UNKNOWN_MEMBER_ID
        return (
            Errors.NONE
            if member.generation_id == group.generation_id
            else Errors.ILLEGAL_GENERATION
        )

    def handle_join_group(
        self,
        request: JoinGroupRequest,
        client: Client,
        *,
        require_known_member_id: bool,
        respond: JoinCallback,
    ) -> None:
        """Handle JoinGroup: its sender wants to be a member of the next generation.

        With `require_known_member_id`, a new member first gets its id in an error response, and
        then joins again with this id (KIP-394).
        """
        error = self._status(request.group_id)
        if (
            error is Errors.NONE
            and not self._config.group_min_session_timeout_ms
            <= request.session_timeout_ms
            <= self._config.group_max_session_timeout_ms
        ):
            error = Errors.INVALID_SESSION_TIMEOUT
        if error is not Errors.NONE:
            respond(JoinGroupResult(error, request.member_id))
            return
        is_new = request.member_id == NO_MEMBER_ID
        group = (
            self._manager.get_or_create_group(request.group_id)
            if is_new
            else self._manager.get_group(request.group_id)
        )
        if group is None:
            respond(JoinGroupResult(Errors.UNKNOWN_MEMBER_ID, request.member_id))
            return
        if not self._has_room(group, request.member_id):
            group.remove(request.member_id)
            respond(JoinGroupResult(Errors.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID))
        elif group.state is GroupState.DEAD:
            respond(JoinGroupResult(Errors.COORDINATOR_NOT_AVAILABLE, request.member_id))
        elif not group.supports_protocols(
            request.protocol_type, {protocol.name for protocol in request.protocols}
        ):
            respond(JoinGroupResult(Errors.INCONSISTENT_GROUP_PROTOCOL, request.member_id))
        elif is_new:
            self._join_new_member(group, request, client, require_known_member_id, respond)
        else:
            self._join_known_member(group, request, client, respond)
        if group.state is GroupState.PREPARING_REBALANCE:
            self._rebalancer.check_join(group)

    def _has_room(self, group: GroupMetadata, member_id: str) -> bool:
        """Return whether group.max.size leaves a place for the member (KIP-389).

        Existing members may stay. But during PreparingRebalance, the members that join first get
        the places.
        """
        if group.state in (GroupState.EMPTY, GroupState.DEAD):
            return True
        member = group.members.get(member_id)
        if group.state is GroupState.PREPARING_REBALANCE:
            return (
                member is not None and member.awaiting_join is not None
            ) or group.num_awaiting_join < self._config.group_max_size
        return member is not None or len(group.members) < self._config.group_max_size

    def _join_new_member(
        self,
        group: GroupMetadata,
        request: JoinGroupRequest,
        client: Client,
        require_known_member_id: bool,
        respond: JoinCallback,
    ) -> None:
        instance = request.group_instance_id
        member_id = group.generate_member_id(client.client_id, instance, self._random)
        member = _member(member_id, request, client)
        old_member_id = group.static_member_id(instance)
        if old_member_id is not None:
            self._rebalancer.update_static_member_and_rebalance(
                group, old_member_id, member, member.supported_protocols, respond
            )
        elif require_known_member_id and instance is None:
            group.add_pending_member(member_id, client.client_id, client.host)
            self._rebalancer.expect_pending_member(group, member_id, request.session_timeout_ms)
            respond(JoinGroupResult(Errors.MEMBER_ID_REQUIRED, member_id))
        else:
            self._rebalancer.add_member_and_rebalance(group, member, respond)

    def _join_known_member(
        self, group: GroupMetadata, request: JoinGroupRequest, client: Client, respond: JoinCallback
    ) -> None:
        member_id, instance = request.member_id, request.group_instance_id
        if member_id in group.pending_members:
            self._rebalancer.add_member_and_rebalance(
                group, _member(member_id, request, client), respond
            )
            return
        if group.is_static_member_fenced(member_id, instance, "join-group"):
            respond(JoinGroupResult(Errors.FENCED_INSTANCE_ID, member_id))
            return
        member = group.members.get(member_id)
        unknown_instance = instance is not None and group.static_member_id(instance) is None
        if member is None or unknown_instance or group.state is GroupState.EMPTY:
            respond(JoinGroupResult(Errors.UNKNOWN_MEMBER_ID, member_id))
            return
        protocols = _protocols(request)
        same = protocols == member.supported_protocols
        leads = group.is_leader(member_id)
        if group.state is GroupState.PREPARING_REBALANCE:
            reason = "a member joins again while the group gathers"
        elif group.state is GroupState.COMPLETING_REBALANCE and not same:
            reason = "a member joins again with other protocols while the assignment is being made"
        elif group.state is GroupState.STABLE and leads:
            reason = "the leader joins again: it may want to make a new assignment"
        elif group.state is GroupState.STABLE and not same:
            reason = "a member joins again with other protocols"
        else:  # the response to its JoinGroup was probably lost, and is sent again
            members = (
                group.current_members()
                if leads and group.state is GroupState.COMPLETING_REBALANCE
                else ()
            )
            generation, leader = group.generation_id, group.leader_id or ""
            respond(
                JoinGroupResult(
                    Errors.NONE,
                    member_id,
                    generation,
                    group.protocol_type,
                    group.protocol_name,
                    leader,
                    members,
                )
            )
            return
        self._rebalancer.update_member_and_rebalance(group, member, protocols, respond, reason)

    def handle_sync_group(self, request: SyncGroupRequest, respond: SyncCallback) -> None:
        """Handle SyncGroup: it requests the member's assignment.

        The SyncGroup of the leader also brings the assignments of all members.
        """
        error = self._status(request.group_id)
        if error is Errors.COORDINATOR_LOAD_IN_PROGRESS:
            error = (
                Errors.REBALANCE_IN_PROGRESS
            )  # the old coordinator's unfinished rebalance is lost
        group = self._manager.get_group(request.group_id) if error is Errors.NONE else None
        if group is None:
            respond(SyncGroupResult(error or Errors.UNKNOWN_MEMBER_ID))
            return
        error = self._check_member(
            group,
            Member(request.member_id, request.group_instance_id, request.generation_id),
            "sync-group",
        )
        if error is Errors.NONE and (
            request.protocol_type not in (None, group.protocol_type)
            or request.protocol_name not in (None, group.protocol_name)
        ):
            error = Errors.INCONSISTENT_GROUP_PROTOCOL
        if error is Errors.NONE and group.state is GroupState.PREPARING_REBALANCE:
            error = Errors.REBALANCE_IN_PROGRESS
        if error is not Errors.NONE:
            respond(SyncGroupResult(error))
            return
        member = group.members[request.member_id]
        if group.state is GroupState.STABLE:
            self._rebalancer.synced(group, member.member_id)
            respond(
                SyncGroupResult(
                    Errors.NONE, group.protocol_type, group.protocol_name, member.assignment
                )
            )
            self._rebalancer.heard_from(group, member)
            return
        group.await_sync(member, respond)
        self._rebalancer.synced(group, member.member_id)
        if group.is_leader(member.member_id):
            self._rebalancer.store_assignment(
                group, {each.member_id: each.assignment for each in request.assignments}
            )

    def handle_heartbeat(self, group_id: str, member: Member) -> Errors:
        """Handle Heartbeat: record the sign of life, and return the error for the response.

        REBALANCE_IN_PROGRESS means that the member must join again. While the group waits for the
        leader's assignment, the result is NONE.
        """
        error = self._status(group_id)
        if error is Errors.COORDINATOR_LOAD_IN_PROGRESS:
            return Errors.NONE  # when the group is loaded, each session begins again
        if error is not Errors.NONE:
            return error
        group = self._manager.get_group(group_id)
        error = (
            Errors.UNKNOWN_MEMBER_ID
            if group is None
            else self._check_member(group, member, "heartbeat")
        )
        if group is None or error is not Errors.NONE:
            return error
        self._rebalancer.heard_from(group, group.members[member.member_id])
        return (
            Errors.REBALANCE_IN_PROGRESS
            if group.state is GroupState.PREPARING_REBALANCE
            else Errors.NONE
        )

    def handle_leave_group(
        self, group_id: str, members: Sequence[Member]
    ) -> tuple[Errors, list[Errors]]:
        """Handle LeaveGroup: remove members; return the group's error and each member's error.

        If the group has an error, the list of members' errors is empty. A static member can be
        named by its instance id alone.
        """
        error = self._status(group_id)
        if error is not Errors.NONE:
            return error, []
        group = self._manager.get_group(group_id)
        if group is None:
            return Errors.NONE, [Errors.UNKNOWN_MEMBER_ID for _ in members]
        if group.state is GroupState.DEAD:
            return Errors.COORDINATOR_NOT_AVAILABLE, []
        return Errors.NONE, [self._leave(group, member) for member in members]

    def _leave(self, group: GroupMetadata, leaving: Member) -> Errors:
        member_id = leaving.member_id
        if member_id != NO_MEMBER_ID and group.is_static_member_fenced(
            member_id, leaving.group_instance_id, "leave-group"
        ):
            return Errors.FENCED_INSTANCE_ID
        if member_id in group.pending_members:
            self._rebalancer.remove_pending_member(group, member_id)
            return Errors.NONE
        member = group.members.get(group.static_member_id(leaving.group_instance_id) or member_id)
        if member is None:
            return Errors.UNKNOWN_MEMBER_ID
        self._rebalancer.remove_left_member(group, member)
        return Errors.NONE

    def handle_commit_offsets(
        self,
        group_id: str,
        member: Member,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        respond: Callable[[CommitErrors], None],
    ) -> None:
        """Handle OffsetCommit: commit offsets of the group.

        A commit that names no generation (-1) is allowed only while the group has no members. A
        member may still commit during PreparingRebalance, because it learns of the rebalance only
        by its next heartbeat. During CompletingRebalance a member may not commit.
        """
        error = self._status(group_id, empty_id_is_valid=True)
        group = self._manager.get_group(group_id) if error is Errors.NONE else None
        if error is Errors.NONE and group is None:
            if member.generation_id < 0:
                group = self._manager.get_or_create_group(group_id)
            else:
                error = Errors.ILLEGAL_GENERATION
        if group is not None:
            error = self._check_commit(group, member)
        if group is None or error is not Errors.NONE:
            respond(dict.fromkeys(offsets, error))
            return
        if group.has(member.member_id):
            self._rebalancer.heard_from(group, group.members[member.member_id])
        self._manager.store_offsets(group, member.member_id, offsets, respond)

    def _check_commit(self, group: GroupMetadata, member: Member) -> Errors:
        if group.state is GroupState.DEAD:
            return Errors.COORDINATOR_NOT_AVAILABLE
        if group.is_static_member_fenced(
            member.member_id, member.group_instance_id, "commit-offset"
        ):
            return Errors.FENCED_INSTANCE_ID
        if member.generation_id < 0 and group.state is GroupState.EMPTY:
            return Errors.NONE
        error = self._check_member(group, member, "commit-offset")
        if error is Errors.NONE and group.state is GroupState.COMPLETING_REBALANCE:
            return Errors.REBALANCE_IN_PROGRESS
        return error

    def handle_txn_commit_offsets(
        self,
        group_id: str,
        producer_id: int,
        producer_epoch: int,
        member: Member,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        respond: Callable[[CommitErrors], None],
    ) -> None:
        """Handle TxnOffsetCommit: commit offsets as part of a transaction.

        The offsets become valid when the transaction commits. If the producer sends a member id and
        a generation, both are checked (KIP-447).
        """
        error = self._status(group_id)
        if error is not Errors.NONE:
            respond(dict.fromkeys(offsets, error))
            return
        group = self._manager.get_or_create_group(group_id)
        if group.state is GroupState.DEAD:
            error = Errors.COORDINATOR_NOT_AVAILABLE
        elif group.is_static_member_fenced(
            member.member_id, member.group_instance_id, "txn-commit-offset"
        ):
            error = Errors.FENCED_INSTANCE_ID
        elif member.member_id != NO_MEMBER_ID and not group.has(member.member_id):
            error = Errors.UNKNOWN_MEMBER_ID
        elif member.generation_id >= 0 and member.generation_id != group.generation_id:
            error = Errors.ILLEGAL_GENERATION
        if error is not Errors.NONE:
            respond(dict.fromkeys(offsets, error))
            return
        self._manager.store_offsets(
            group,
            member.member_id,
            offsets,
            respond,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
        )

    def handle_fetch_offsets(
        self, group_id: str, partitions: Collection[TopicPartition] | None, *, require_stable: bool
    ) -> tuple[Errors, dict[TopicPartition, tuple[Errors, OffsetAndMetadata | None]]]:
        """Handle OffsetFetch: return the group's error, and each partition's error and offset.

        If `partitions` is None, return all committed offsets. With `require_stable`, an offset that
        is being written or is part of an open transaction gets UNSTABLE_OFFSET_COMMIT (KIP-447).
        """
        error = self._status(group_id, empty_id_is_valid=True)
        if error is not Errors.NONE:
            return error, {}
        group = self._manager.get_group(group_id)
        if group is None or group.state is GroupState.DEAD:
            return Errors.NONE, dict.fromkeys(partitions or (), (Errors.NONE, None))
        found: dict[TopicPartition, tuple[Errors, OffsetAndMetadata | None]] = {}
        for tp in group.offsets.committed if partitions is None else partitions:
            if require_stable and group.offsets.is_pending(tp):
                found[tp] = Errors.UNSTABLE_OFFSET_COMMIT, None
            else:
                commit = group.offsets.committed.get(tp)
                found[tp] = Errors.NONE, None if commit is None else commit.value
        return Errors.NONE, found

    def handle_delete_offsets(
        self, group_id: str, partitions: Sequence[TopicPartition]
    ) -> tuple[Errors, dict[TopicPartition, Errors]]:
        """Handle OffsetDelete: return the group's error and each partition's error (KIP-496).

        If the group is empty, any offset may be deleted. Otherwise an offset may be deleted only if
        no consumer of the group reads its topic.
        """
        error = self._status(group_id)
        if error is not Errors.NONE:
            return error, {}
        group = self._manager.get_group(group_id)
        if group is None or group.state is GroupState.DEAD:
            return Errors.GROUP_ID_NOT_FOUND, {}
        if group.state is GroupState.EMPTY:
            errors = dict.fromkeys(partitions, Errors.NONE)
        elif group.protocol_type == CONSUMER_PROTOCOL_TYPE:
            errors = {
                tp: (
                    Errors.GROUP_SUBSCRIBED_TO_TOPIC
                    if group.is_subscribed_to(tp.topic)
                    else Errors.NONE
                )
                for tp in partitions
            }
        else:
            return Errors.NON_EMPTY_GROUP, {}
        self._manager.cleanup(
            [group],
            lambda _: [tp for tp, refused in errors.items() if refused is Errors.NONE],
            "deleted",
        )
        return Errors.NONE, errors

    def handle_list_groups(
        self, states: Collection[str]
    ) -> tuple[Errors, list[tuple[str, str, str]]]:
        """Handle ListGroups: return (group, protocol type, state) of the groups in these states.

        An empty `states` means all groups. While a partition is being loaded, the list may be
        incomplete, and the error is COORDINATOR_LOAD_IN_PROGRESS.
        """
        if not self.is_active:
            return Errors.COORDINATOR_NOT_AVAILABLE, []
        error = Errors.COORDINATOR_LOAD_IN_PROGRESS if self._manager.is_loading else Errors.NONE
        return error, [
            (group.group_id, group.protocol_type or "", group.state)
            for group in self._manager.groups()
            if not states or group.state in states
        ]

    def handle_describe_group(self, group_id: str) -> tuple[Errors, GroupSummary]:
        """Handle DescribeGroups for one group: return its error, and its state and members.

        A group that does not exist is described as Dead, without an error.
        """
        error = self._status(group_id, empty_id_is_valid=True)
        if error is not Errors.NONE:
            return error, NO_GROUP
        group = self._manager.get_group(group_id)
        return Errors.NONE, DEAD_GROUP if group is None else _summary(group)

    def handle_delete_groups(self, group_ids: Sequence[str]) -> dict[str, Errors]:
        """Handle DeleteGroups: delete groups without members, with their offsets (KIP-229)."""
        return {group_id: self._delete_group(group_id) for group_id in dict.fromkeys(group_ids)}

    def _delete_group(self, group_id: str) -> Errors:
        error = self._status(group_id, empty_id_is_valid=True)
        if error is not Errors.NONE:
            return error
        group = self._manager.get_group(group_id)
        if group is None or group.state is GroupState.DEAD:
            return Errors.GROUP_ID_NOT_FOUND
        if group.state is not GroupState.EMPTY:
            return Errors.NON_EMPTY_GROUP
        self._manager.delete_group(group)
        return Errors.NONE

    def on_group_loaded(self, group: GroupMetadata) -> None:
        self._rebalancer.on_group_loaded(group)

    def on_group_unloaded(self, group: GroupMetadata) -> None:
        self._rebalancer.on_group_unloaded(group)


def _protocols(request: JoinGroupRequest) -> tuple[Protocol, ...]:
    return tuple(Protocol(protocol.name, protocol.metadata) for protocol in request.protocols)


def _member(member_id: str, request: JoinGroupRequest, client: Client) -> MemberMetadata:
    """Create the member that a JoinGroup request describes.

    A rebalance time-out of -1 means that it equals the session time-out (JoinGroup v0 has none).
    """
    session_timeout_ms, rebalance_timeout_ms = (
        request.session_timeout_ms,
        request.rebalance_timeout_ms,
    )
    return MemberMetadata(
        member_id,
        request.group_instance_id,
        client.client_id,
        client.host,
        session_timeout_ms if rebalance_timeout_ms < 0 else rebalance_timeout_ms,
        session_timeout_ms,
        request.protocol_type,
        _protocols(request),
    )


def _summary(group: GroupMetadata) -> GroupSummary:
    stable = group.state is GroupState.STABLE
    name = group.protocol_name if stable else None
    members = tuple(
        MemberSummary(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            member.metadata(name) if name is not None else b"",
            member.assignment if stable else b"",
        )
        for member in group.members.values()
    )
    return GroupSummary(group.state, group.protocol_type or "", name or "", members)
