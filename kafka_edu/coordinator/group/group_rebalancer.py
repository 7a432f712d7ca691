"""Takes a group from one generation to the next.

(Kafka: the private half of GroupCoordinator.scala; book 001, 002 §6; spec O1.)

    a member joins, leaves, dies or changes               → PreparingRebalance:
        DelayedJoin waits for all known members
    all have joined, or the rebalance time-out is over    → CompletingRebalance:
        a new generation; the leader gets all members; missing members are removed
    the leader's SyncGroup is in the log                  → Stable:
        each member gets its assignment

Members have two time-outs. DelayedHeartbeat has the session time-out, which begins again at every
sign of life. DelayedJoin, and then DelayedSync, have the rebalance time-out. For each rebalance the
event RebalanceStarted gives the reason and the member that caused it. GroupCoordinator owns this
object.
"""

from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.common.time import Time
from kafka_edu.common.words import duration
from kafka_edu.coordinator.group.delayed_heartbeat import DelayedHeartbeat, MemberKey
from kafka_edu.coordinator.group.delayed_join import (
    DelayedJoin,
    DelayedSync,
    JoinKey,
    SyncKey,
    join_barrier,
)
from kafka_edu.coordinator.group.group_config import GroupConfig
from kafka_edu.coordinator.group.group_metadata import GroupMetadata
from kafka_edu.coordinator.group.group_metadata_manager import GroupMetadataManager
from kafka_edu.coordinator.group.group_state import GroupState
from kafka_edu.coordinator.group.member_metadata import (
    JoinCallback,
    JoinGroupResult,
    MemberMetadata,
    Protocol,
    SyncGroupResult,
)
from kafka_edu.purgatory.delayed_operation import DelayedOperation
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.trace.events.group import MemberFailed, MemberLeft, RebalanceStarted
from kafka_edu.trace.tracer import Tracer

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000
"""The maximum time in ms that the JoinGroup of a new member may wait.

The client does not know its member id yet, so it cannot send heartbeats. Without this limit, a
client that died would never be noticed.
"""


class GroupRebalancer:
    """Decides when a rebalance begins and ends, and what follows.

    GroupMetadata has the data for these decisions. The two purgatories have the timers.
    """

    def __init__(
        self,
        config: GroupConfig,
        manager: GroupMetadataManager,
        heartbeats: DelayedOperationPurgatory[DelayedHeartbeat],
        rebalances: DelayedOperationPurgatory[DelayedOperation],
        time: Time,
        trace: Tracer | None = None,
    ) -> None:
        self._config = config
        self._manager = manager
        self._heartbeats = heartbeats
        self._rebalances = rebalances
        self._time = time
        self._trace = trace

    def add_member_and_rebalance(
        self, group: GroupMetadata, member: MemberMetadata, respond: JoinCallback
    ) -> None:
        """Add a new member, let its JoinGroup wait, and begin a rebalance."""
        member.is_new = True
        if group.state is GroupState.PREPARING_REBALANCE and group.generation_id == 0:
            group.new_member_added = True
        cause = group.add(member, respond)
        self.expect_heartbeat(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._maybe_prepare_rebalance(group, "a new member joins", member.name, cause)

    def update_member_and_rebalance(
        self,
        group: GroupMetadata,
        member: MemberMetadata,
        protocols: tuple[Protocol, ...],
        respond: JoinCallback,
        reason: str,
    ) -> None:
        """Let a member join again with its new protocols, and begin a rebalance."""
        cause = group.update(member, protocols, respond)
        self._maybe_prepare_rebalance(group, reason, member.name, cause)

    def update_static_member_and_rebalance(
        self,
        group: GroupMetadata,
        old_member_id: str,
        member: MemberMetadata,
        protocols: tuple[Protocol, ...],
        respond: JoinCallback,
    ) -> None:
        """Let a static member come back under a new id (KIP-345). `member` describes its JoinGroup
        request.

        A stable group whose protocol stays the same continues without a rebalance, and the member
        gets its old assignment. The response names the leader's id from before the join, even if
        this member was the leader. So the member does not make a new assignment, which a stable
        group would not accept. In CompletingRebalance, the leader's assignment may contain the old
        member id, so the group begins to rebalance again.
        """
        leader_before = group.leader_id
        instance = member.group_instance_id or ""
        current = self._replace_static_member(group, instance, old_member_id, member.member_id)
        old_protocols = current.supported_protocols
        current.session_timeout_ms, current.rebalance_timeout_ms = (
            member.session_timeout_ms,
            member.rebalance_timeout_ms,
        )
        cause = group.update(current, protocols, respond)
        if group.state is GroupState.STABLE and group.protocol_name == group.select_protocol():
            self._store_replaced_member(
                group, current, instance, old_member_id, old_protocols, leader_before
            )
        elif group.state is GroupState.STABLE:
            self._maybe_prepare_rebalance(
                group,
                "a static member is back, and the group now chooses another protocol",
                current.name,
                cause,
            )
        elif group.state is GroupState.COMPLETING_REBALANCE:
            self._prepare_rebalance(
                group,
                "a static member is back while the assignment is being made",
                current.name,
                cause,
            )

    def _replace_static_member(
        self, group: GroupMetadata, instance: str, old_member_id: str, new_member_id: str
    ) -> MemberMetadata:
        member = group.replace_static_member(instance, old_member_id, new_member_id)
        self.cease_heartbeat(group, old_member_id)
        self.heard_from(group, member)
        return member

    def _store_replaced_member(
        self,
        group: GroupMetadata,
        member: MemberMetadata,
        instance: str,
        old_member_id: str,
        old_protocols: tuple[Protocol, ...],
        leader_before: str | None,
    ) -> None:
        new_member_id = member.member_id
        generation_id, protocol_type, protocol_name = (
            group.generation_id,
            group.protocol_type,
            group.protocol_name,
        )

        def stored(error: Errors) -> None:
            if member.awaiting_join is None or not group.has(new_member_id):
                return  # meanwhile removed or replaced, and already answered
            failed = error is not Errors.NONE
            member_id = "" if failed else new_member_id
            if failed:
                group.update(member, old_protocols, member.awaiting_join)
            group.answer_join(
                member,
                JoinGroupResult(
                    error,
                    member_id,
                    generation_id,
                    protocol_type,
                    protocol_name,
                    leader_before or "",
                ),
            )
            if failed:
                self._replace_static_member(group, instance, new_member_id, old_member_id)
            else:
                self.heard_from(group, member)

        self._manager.store_group(
            group, {m.member_id: m.assignment for m in group.members.values()}, stored
        )

    def remove_left_member(self, group: GroupMetadata, member: MemberMetadata) -> None:
        """Remove a member that has sent LeaveGroup, and begin a rebalance if needed."""
        cause = 0
        if self._trace:
            left = MemberLeft(
                group=group.group_id,
                member=member.member_id,
                instance=member.group_instance_id or "",
                members=len(group.members) - 1,
            )
            cause = self._trace(left)
        self._remove(group, member, "a member leaves", cause)

    def _fail(self, group: GroupMetadata, member: MemberMetadata, reason: str) -> int:
        """Emit the event that a member is removed because it failed.

        Returns the number of the event, or 0 without a trace.
        """
        if not self._trace:
            return 0
        return self._trace(
            MemberFailed(
                group=group.group_id,
                member=member.member_id,
                instance=member.group_instance_id or "",
                reason=reason,
                members=len(group.members) - 1,
            )
        )

    def _remove(
        self, group: GroupMetadata, member: MemberMetadata, reason: str, cause: int
    ) -> None:
        """Remove a member, and answer its waiting requests with UNKNOWN_MEMBER_ID.

        If the member's client is still alive, the client can join again after this response.
        """
        group.answer_join(member, JoinGroupResult(Errors.UNKNOWN_MEMBER_ID, ""))
        group.answer_sync(member, SyncGroupResult(Errors.UNKNOWN_MEMBER_ID))
        group.remove(member.member_id)
        self.cease_heartbeat(group, member.member_id)
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            self._maybe_prepare_rebalance(group, reason, member.name, cause)
        elif group.state is GroupState.PREPARING_REBALANCE:
            self.check_join(group)

    def remove_pending_member(self, group: GroupMetadata, member_id: str) -> None:
        """Remove a member id whose client did not join with it, or has left.

        A rebalance no longer waits for that client.
        """
        group.pending_members.pop(member_id, None)
        self.cease_heartbeat(group, member_id)
        if group.state is GroupState.PREPARING_REBALANCE:
            self.check_join(group)

    def check_join(self, group: GroupMetadata) -> None:
        """Check whether the group's DelayedJoin is complete, after a member has come or gone."""
        self._rebalances.check_and_complete(JoinKey(group.group_id))

    def _maybe_prepare_rebalance(
        self, group: GroupMetadata, reason: str, member: str, cause: int
    ) -> None:
        if group.can_rebalance:
            self._prepare_rebalance(group, reason, member, cause)

    def _prepare_rebalance(
        self, group: GroupMetadata, reason: str, member: str, cause: int
    ) -> None:
        """Begin a rebalance: wait until all members have sent JoinGroup again.

        Members that wait for the previous generation's assignment get REBALANCE_IN_PROGRESS.
        """
        if self._trace:
            started = RebalanceStarted(
                group=group.group_id, generation=group.generation_id, reason=reason, member=member
            )
            with self._trace.because(cause or self._trace.cause):
                cause = self._trace(started)
            with self._trace.because(cause):
                self._gather(group)
        else:
            self._gather(group)

    def _gather(self, group: GroupMetadata) -> None:
        if group.state is GroupState.COMPLETING_REBALANCE:
            self._void_assignment(group, Errors.REBALANCE_IN_PROGRESS)
        group.pending_sync_members.clear()
        self._rebalances.check_and_complete(SyncKey(group.group_id))
        delay_ms = self._config.group_initial_rebalance_delay_ms
        delayed = join_barrier(self, self._rebalances, group, delay_ms, self._time)
        group.transition_to(GroupState.PREPARING_REBALANCE, self._time.milliseconds())
        self._rebalances.try_complete_else_watch(delayed, (JoinKey(group.group_id),))

    def on_complete_join(self, group: GroupMetadata) -> None:
        """End the wait for JoinGroup requests, and begin the next generation.

        Dynamic members that have not joined are removed. Static members stay until their session
        ends (KIP-345).
        """
        for member in group.not_yet_rejoined:
            if not member.is_static:
                self._fail(group, member, "it did not join again within the rebalance time-out")
                group.remove(member.member_id)
                self.cease_heartbeat(group, member.member_id)
        if group.state is GroupState.DEAD:
            return
        if group.members and not group.elect_joined_leader():
            again = DelayedJoin(
                self, group, group.rebalance_timeout_ms
            )  # only static members are left, and none has joined
            self._rebalances.try_complete_else_watch(again, (JoinKey(group.group_id),))
            return
        group.init_next_generation(self._time.milliseconds())
        if group.state is GroupState.EMPTY:
            self._manager.store_group(group, {}, lambda _: None)
            return
        for member in list(group.members.values()):
            leads = group.is_leader(member.member_id)
            group.answer_join(
                member,
                JoinGroupResult(
                    Errors.NONE,
                    member.member_id,
                    group.generation_id,
                    group.protocol_type,
                    group.protocol_name,
                    group.leader_id or "",
                    group.current_members() if leads else (),
                ),
            )
            self.heard_from(group, member)
            member.is_new = False
            group.pending_sync_members[member.member_id] = None
        delayed = DelayedSync(self, group, group.generation_id, group.rebalance_timeout_ms)
        self._rebalances.try_complete_else_watch(delayed, (SyncKey(group.group_id),))

    def synced(self, group: GroupMetadata, member_id: str) -> None:
        """Record that a member has sent SyncGroup. The last member completes the DelayedSync."""
        group.pending_sync_members.pop(member_id, None)
        if not group.pending_sync_members:
            self._rebalances.check_and_complete(SyncKey(group.group_id))

    def on_expire_pending_sync(self, group: GroupMetadata, generation_id: int) -> None:
        """Remove members that did not send SyncGroup within the rebalance time-out."""
        if generation_id != group.generation_id or group.state not in (
            GroupState.COMPLETING_REBALANCE,
            GroupState.STABLE,
        ):
            return
        missing = [
            group.members[member_id]
            for member_id in group.pending_sync_members
            if group.has(member_id)
        ]
        cause = 0
        for member in missing:
            cause = self._fail(
                group, member, "it did not ask for its assignment within the rebalance time-out"
            )
            group.remove(member.member_id)
            self.cease_heartbeat(group, member.member_id)
        if missing:
            names = ", ".join(member.name for member in missing)
            self._prepare_rebalance(group, "members did not ask for their assignment", names, cause)

    def store_assignment(self, group: GroupMetadata, assignments: dict[str, bytes]) -> None:
        """Write the leader's assignment to the log, and then send it to the members.

        If another rebalance begins before the log has the assignment, the assignment is dropped.
        """
        generation_id = group.generation_id
        complete = {member_id: assignments.get(member_id, b"") for member_id in group.members}

        def stored(error: Errors) -> None:
            if (
                group.state is not GroupState.COMPLETING_REBALANCE
                or group.generation_id != generation_id
            ):
                return
            if error is not Errors.NONE:
                self._void_assignment(group, error)
                self._maybe_prepare_rebalance(
                    group, f"the assignment could not be stored: {error.name}", "", 0
                )
            else:
                group.assign(complete)
                self._propagate_assignment(group, Errors.NONE)
                group.transition_to(GroupState.STABLE, self._time.milliseconds())

        self._manager.store_group(group, complete, stored)

    def _void_assignment(self, group: GroupMetadata, error: Errors) -> None:
        group.forget_assignments()
        self._propagate_assignment(group, error)

    def _propagate_assignment(self, group: GroupMetadata, error: Errors) -> None:
        """Answer every waiting SyncGroup with the member's assignment, or with `error`.

        A member counted as alive while its SyncGroup waited. From now on it must send heartbeats
        again.
        """
        known = error is Errors.NONE
        for member in list(group.members.values()):
            result = SyncGroupResult(
                error,
                group.protocol_type if known else None,
                group.protocol_name if known else None,
                member.assignment if known else b"",
            )
            if group.answer_sync(member, result):
                self.heard_from(group, member)

    def on_group_loaded(self, group: GroupMetadata) -> None:
        """Start the session timers of the members of a group that was loaded from the log.

        Each member must send a heartbeat within its session time-out. If the group now has more
        members than group.max.size, a rebalance begins.
        """
        if len(group.members) > self._config.group_max_size:
            self._prepare_rebalance(
                group,
                f"the group has more than group.max.size {self._config.group_max_size} members",
                "",
                0,
            )
        for member in list(group.members.values()):
            self.heard_from(group, member)

    def on_group_unloaded(self, group: GroupMetadata) -> None:
        """Answer all waiting requests of an unloaded group with NOT_COORDINATOR.

        The clients then look for the new coordinator.
        """
        if group.state is GroupState.DEAD:
            return
        group.transition_to(GroupState.DEAD, self._time.milliseconds())
        for member in list(group.members.values()):
            group.answer_join(member, JoinGroupResult(Errors.NOT_COORDINATOR, member.member_id))
            group.answer_sync(member, SyncGroupResult(Errors.NOT_COORDINATOR))
            self.cease_heartbeat(group, member.member_id)
        for member_id in group.pending_members:
            self.cease_heartbeat(group, member_id)
        for key in (JoinKey(group.group_id), SyncKey(group.group_id)):
            self._rebalances.cancel_for_key(key)

    def heard_from(self, group: GroupMetadata, member: MemberMetadata) -> None:
        """Record a member's sign of life: its session time-out begins again."""
        self.expect_heartbeat(group, member, member.session_timeout_ms)

    def expect_heartbeat(
        self, group: GroupMetadata, member: MemberMetadata, timeout_ms: int
    ) -> None:
        key = MemberKey(group.group_id, member.member_id)
        member.heard_ms = self._time.hi_res_clock_ms()
        member.heartbeat_satisfied = True
        self._heartbeats.check_and_complete(key)
        member.heartbeat_satisfied = False
        self._heartbeats.try_complete_else_watch(
            DelayedHeartbeat(self, group, member.member_id, timeout_ms), (key,)
        )

    def expect_pending_member(self, group: GroupMetadata, member_id: str, timeout_ms: int) -> None:
        """Start the timer of a member that received an id: it must join within that time-out."""
        delayed = DelayedHeartbeat(self, group, member_id, timeout_ms, is_pending=True)
        self._heartbeats.try_complete_else_watch(delayed, (MemberKey(group.group_id, member_id),))

    def cease_heartbeat(self, group: GroupMetadata, member_id: str) -> None:
        """Stop the session timer of a member that is gone."""
        self._heartbeats.cancel_for_key(MemberKey(group.group_id, member_id))

    def is_heartbeat_fulfilled(
        self, group: GroupMetadata, member_id: str, is_pending: bool
    ) -> bool:
        if group.state is GroupState.DEAD:
            return True
        member = group.members.get(member_id)
        if is_pending:
            return member is not None
        return member is None or member.has_satisfied_heartbeat

    def on_expire_heartbeat(self, group: GroupMetadata, member_id: str, is_pending: bool) -> None:
        """Remove a member that showed no sign of life within its session time-out."""
        if group.state is GroupState.DEAD:
            return
        member = group.members.get(member_id)
        if is_pending:
            if member is None:
                self.remove_pending_member(group, member_id)
        elif member is not None and not member.has_satisfied_heartbeat:
            limit = duration(member.session_timeout_ms)
            cause = self._fail(
                group, member, f"no heartbeat within its session time-out of {limit}"
            )
            self._remove(group, member, "a member sent no heartbeat", cause)
