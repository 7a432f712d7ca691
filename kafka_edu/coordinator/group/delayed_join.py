"""The purgatory operations that wait while a group rebalances.

(Kafka: DelayedJoin.scala, DelayedSync.scala; book 000 §6.3; spec D2.) Each operation waits under
its group's key in the purgatory "Rebalance", at most until its time-out.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, Protocol

from kafka_edu.common.time import Time
from kafka_edu.coordinator.group.group_metadata import GroupMetadata
from kafka_edu.coordinator.group.group_state import GroupState
from kafka_edu.purgatory.delayed_operation import CompletedBy, DelayedOperation
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.trace.events.purgatory import Requirement


class JoinKey(NamedTuple):
    """The purgatory key under which a group's DelayedJoin waits.

    The purgatory checks this key when a member has joined or left the group.
    """

    group: str
    what: str = "join"

    def __str__(self) -> str:
        return f"{self.what} {self.group}"


class SyncKey(NamedTuple):
    """The purgatory key under which a group's DelayedSync waits.

    The purgatory checks this key when a member has sent SyncGroup.
    """

    group: str
    what: str = "sync"

    def __str__(self) -> str:
        return f"{self.what} {self.group}"


class Rebalancing(Protocol):
    """The methods of GroupRebalancer that a DelayedJoin or DelayedSync calls when it has ended."""

    def on_complete_join(self, group: GroupMetadata) -> None: ...

    def on_expire_pending_sync(self, group: GroupMetadata, generation_id: int) -> None: ...


class DelayedJoin(DelayedOperation):
    """Waits until all known members of a group have joined again.

    While this operation waits, their JoinGroup requests get no response. When the longest rebalance
    time-out of all members is over, members that have not joined are removed. Next:
    `GroupRebalancer.on_complete_join` (group_rebalancer.py).
    """

    __slots__ = ("_group", "_rebalancer")

    def __init__(self, rebalancer: Rebalancing, group: GroupMetadata, delay_ms: int) -> None:
        super().__init__(delay_ms)
        self._rebalancer = rebalancer
        self._group = group

    @property
    def label(self) -> str:
        return f"join {self._group.group_id}, generation {self._group.generation_id + 1}"

    def try_complete(self) -> bool:
        """Complete if all members have joined. O(1), because the group counts them."""
        return self._group.has_all_members_joined and self.force_complete()

    def on_complete(self) -> None:
        self._rebalancer.on_complete_join(self._group)

    def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
        if by is CompletedBy.TIMEOUT:
            return "time-out: members that did not join were removed"
        return "all members have joined" if by is CompletedBy.EVENT else by.value

    def why_waiting(self) -> tuple[Requirement, ...]:
        """Return how many members must join, how many have joined, and which are missing."""
        group = self._group
        missing = tuple((member.name, 0) for member in group.not_yet_rejoined) + tuple(
            (member_id, 0) for member_id in group.pending_members
        )
        wanted = len(group.members) + len(group.pending_members)
        return (
            Requirement(group.group_id, "members joined", wanted, group.num_awaiting_join, missing),
        )


class InitialDelayedJoin(DelayedJoin):
    """Waits for more members in the first rebalance of an empty group.

    The consumers of a service start one after the other, and each would cause a rebalance. So the
    group waits for group.initial.rebalance.delay.ms, even if all known members have joined. If new
    members join during that delay, the group waits for one more delay. The total is at most the
    rebalance time-out.

    An example: the delay is 3 s, the rebalance time-out 300 s, and members join at 0 s, 2 s and 4
    s. The wait ends at 9 s, because no member joined between 6 s and 9 s.
    """

    __slots__ = ("_configured_delay_ms", "_purgatory", "_remaining_ms")

    def __init__(
        self,
        rebalancer: Rebalancing,
        purgatory: DelayedOperationPurgatory[DelayedOperation],
        group: GroupMetadata,
        configured_delay_ms: int,
        delay_ms: int,
        remaining_ms: int,
    ) -> None:
        super().__init__(rebalancer, group, delay_ms)
        self._purgatory = purgatory
        self._configured_delay_ms = configured_delay_ms
        self._remaining_ms = remaining_ms

    def try_complete(self) -> bool:
        """Return False, because this wait ends only when its time is over."""
        return False

    def on_complete(self) -> None:
        group = self._group
        if group.new_member_added and self._remaining_ms > 0:
            group.new_member_added = False
            delay_ms = min(self._configured_delay_ms, self._remaining_ms)
            again = InitialDelayedJoin(
                self._rebalancer,
                self._purgatory,
                group,
                self._configured_delay_ms,
                delay_ms,
                max(self._remaining_ms - delay_ms, 0),
            )
            self._purgatory.try_complete_else_watch(again, (JoinKey(group.group_id),))
        else:
            super().on_complete()

    def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
        return "the initial delay is over" if by is CompletedBy.TIMEOUT else by.value

    def why_waiting(self) -> tuple[Requirement, ...]:
        """Return how many members have joined so far, although the wait ends only by time."""
        return (
            Requirement(
                self._group.group_id,
                "more members, until the delay is over",
                0,
                len(self._group.members),
            ),
        )


def join_barrier(
    rebalancer: Rebalancing,
    purgatory: DelayedOperationPurgatory[DelayedOperation],
    group: GroupMetadata,
    initial_delay_ms: int,
    time: Time,
) -> DelayedJoin:
    """Return the operation that waits for the group's members, when a rebalance begins.

    When this function is called, the group still has its state from before the rebalance. In an
    exercise, a learner's function replaces this one and may need `time`; this function does not.
    """
    if group.state is GroupState.EMPTY:
        remaining_ms = max(group.rebalance_timeout_ms - initial_delay_ms, 0)
        return InitialDelayedJoin(
            rebalancer, purgatory, group, initial_delay_ms, initial_delay_ms, remaining_ms
        )
    return DelayedJoin(rebalancer, group, group.rebalance_timeout_ms)


class DelayedSync(DelayedOperation):
    """Waits until all members have sent SyncGroup, at most for the rebalance time-out.

    A member that does not send SyncGroup in that time is removed (Kafka 2.8). In Kafka 2.0 such a
    member stays as long as it sends heartbeats, and no other member waits for it.
    """

    __slots__ = ("_generation_id", "_group", "_rebalancer")

    def __init__(
        self, rebalancer: Rebalancing, group: GroupMetadata, generation_id: int, delay_ms: int
    ) -> None:
        super().__init__(delay_ms)
        self._rebalancer = rebalancer
        self._group = group
        self._generation_id = generation_id

    @property
    def label(self) -> str:
        return f"sync {self._group.group_id}, generation {self._generation_id}"

    @property
    def _is_over(self) -> bool:
        """Whether another generation has begun, or all members have sent SyncGroup."""
        return (
            self._group.generation_id != self._generation_id or not self._group.pending_sync_members
        )

    def try_complete(self) -> bool:
        return self._is_over and self.force_complete()

    def on_complete(self) -> None:
        """Do nothing: GroupRebalancer sends the responses to SyncGroup."""

    def on_expiration(self) -> None:
        self._rebalancer.on_expire_pending_sync(self._group, self._generation_id)

    def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
        if by is CompletedBy.TIMEOUT:
            return "time-out: members that did not sync were removed"
        if by is not CompletedBy.EVENT:
            return by.value
        if self._group.generation_id != self._generation_id:
            return "another generation began"
        return "all members have synced"

    def why_waiting(self) -> tuple[Requirement, ...]:
        """Return the members that have not sent SyncGroup yet."""
        missing = tuple((member_id, 0) for member_id in self._group.pending_sync_members)
        members = len(self._group.members)
        return (
            Requirement(
                self._group.group_id, "members synced", members, members - len(missing), missing
            ),
        )
