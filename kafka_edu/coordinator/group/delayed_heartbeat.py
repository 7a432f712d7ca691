"""The purgatory operation that waits for a member's next heartbeat or other sign of life.

(Kafka: DelayedHeartbeat.scala; spec D2.)
"""

from collections.abc import Hashable
from typing import ClassVar, NamedTuple, Protocol

from kafka_edu.coordinator.group.group_metadata import GroupMetadata
from kafka_edu.purgatory.delayed_operation import CompletedBy, DelayedOperation
from kafka_edu.trace.events.purgatory import Requirement


class MemberKey(NamedTuple):
    """The purgatory key under which one member's DelayedHeartbeat waits.

    The purgatory checks this key when the member shows a sign of life, or is removed.
    """

    group: str
    member: str

    def __str__(self) -> str:
        return f"{self.group}/{self.member}"


class Expects(Protocol):
    """The methods of GroupRebalancer that a DelayedHeartbeat calls."""

    def is_heartbeat_fulfilled(
        self, group: GroupMetadata, member_id: str, is_pending: bool
    ) -> bool: ...

    def on_expire_heartbeat(
        self, group: GroupMetadata, member_id: str, is_pending: bool
    ) -> None: ...


class DelayedHeartbeat(DelayedOperation):
    """Waits for a member's next sign of life.

    A sign of life is Heartbeat, JoinGroup, SyncGroup or OffsetCommit. A sign of life completes this
    operation and starts the next DelayedHeartbeat. If the session time-out expires first, the
    member is removed from the group.

    A pending member (`is_pending`, KIP-394) has an id, and must send JoinGroup with that id within
    its session time-out. The operation waits under the member's key in the purgatory "Heartbeat".
    Ten thousand members need ten thousand timer tasks. Each heartbeat cancels one task and adds
    one, in O(1).
    """

    __slots__ = ("_group", "_is_pending", "_member_id", "_rebalancer")

    patient: ClassVar[bool] = True

    def __init__(
        self,
        rebalancer: Expects,
        group: GroupMetadata,
        member_id: str,
        delay_ms: int,
        *,
        is_pending: bool = False,
    ) -> None:
        super().__init__(delay_ms)
        self._rebalancer = rebalancer
        self._group = group
        self._member_id = member_id
        self._is_pending = is_pending

    @property
    def label(self) -> str:
        return (
            f"{'join' if self._is_pending else 'heartbeat'} of {self._member_id} in"
            f" {self._group.group_id}"
        )

    def try_complete(self) -> bool:
        return (
            self._rebalancer.is_heartbeat_fulfilled(self._group, self._member_id, self._is_pending)
            and self.force_complete()
        )

    def on_complete(self) -> None:
        """Do nothing: a heartbeat needs no delayed response."""

    def on_expiration(self) -> None:
        self._rebalancer.on_expire_heartbeat(self._group, self._member_id, self._is_pending)

    def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
        if by is CompletedBy.TIMEOUT:
            return "time-out: the member was removed"
        return "a sign of life" if by is CompletedBy.EVENT else by.value

    def why_waiting(self) -> tuple[Requirement, ...]:
        return (
            Requirement(
                self._member_id, "JoinGroup" if self._is_pending else "a sign of life", 1, 0
            ),
        )
