"""What waits while a group rebalances (Kafka: DelayedJoin.scala, DelayedSync.scala; book 000 §6.3;
spec D2).

All of them wait under their group's key in the purgatory "Rebalance"; the timer ends their
patience.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from kafka_edu.coordinator.group.group_metadata import GroupMetadata
from kafka_edu.purgatory.delayed_operation import DelayedOperation
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.trace.events.purgatory import Requirement


class JoinKey(NamedTuple):
    """Somebody has joined the group, or left it, or is waited for no more."""

    group: str
    what: str = "join"

    def __str__(self) -> str:
        return f"{self.what} {self.group}"


class SyncKey(NamedTuple):
    """Somebody has asked for the assignment."""

    group: str
    what: str = "sync"

    def __str__(self) -> str:
        return f"{self.what} {self.group}"


class Rebalancing(Protocol):
    """Who decides what comes of it: GroupRebalancer."""

    def on_complete_join(self, group: GroupMetadata) -> None: ...

    def on_expire_pending_sync(self, group: GroupMetadata, generation_id: int) -> None: ...


class DelayedJoin(DelayedOperation):
    """The JoinGroup requests of a group, until all known members have joined again; or the slowest
    member's rebalance time-out is over: then those who have not are out. Next hop:
    GroupRebalancer.on_complete_join.
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
        """O(1): the group counts."""
        return self._group.has_all_members_joined and self.force_complete()

    def on_complete(self) -> None:
        self._rebalancer.on_complete_join(self._group)

    def why_waiting(self) -> tuple[Requirement, ...]:
        """How many members it waits for, and who has not joined."""
        group = self._group
        missing = tuple((member.name, 0) for member in group.not_yet_rejoined) + tuple(
            (member_id, 0) for member_id in group.pending_members
        )
        wanted = len(group.members) + len(group.pending_members)
        return (
            Requirement(group.group_id, "members joined", wanted, group.num_awaiting_join, missing),
        )


class InitialDelayedJoin(DelayedJoin):
    """The first rebalance of an empty group: it waits for group.initial.rebalance.delay.ms whoever
    has joined, for the consumers of a service start one after the other, and each would cause a
    rebalance. Each newcomer makes it wait once more, up to the rebalance time-out in all.

    With a delay of 3 s and a rebalance time-out of 300 s, members at 0 s, 2 s and 4 s: it ends at 9
    s, for nobody came between 6 s and 9 s.
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
        """Only time ends it."""
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

    def why_waiting(self) -> tuple[Requirement, ...]:
        """It is time alone that it waits for; told are the members so far."""
        return (
            Requirement(
                self._group.group_id,
                "more members, until the delay is over",
                0,
                len(self._group.members),
            ),
        )


class DelayedSync(DelayedOperation):
    """The rebalance time-out once more: each member has so long to ask for its assignment, or it is
    out (2.8; in 2.0 such a member blocks nobody, but stays as long as it sends heartbeats).
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
        """Another generation has begun, or all have asked."""
        return (
            self._group.generation_id != self._generation_id or not self._group.pending_sync_members
        )

    def try_complete(self) -> bool:
        return self._is_over and self.force_complete()

    def on_complete(self) -> None:
        """Nothing is answered here: the SyncGroups were."""

    def on_expiration(self) -> None:
        self._rebalancer.on_expire_pending_sync(self._group, self._generation_id)

    def why_waiting(self) -> tuple[Requirement, ...]:
        """Who has not asked yet."""
        missing = tuple((member_id, 0) for member_id in self._group.pending_sync_members)
        members = len(self._group.members)
        return (
            Requirement(
                self._group.group_id, "members synced", members, members - len(missing), missing
            ),
        )
