"""One member of a group (Kafka: MemberMetadata.scala)."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from kafka_edu.common.errors import Errors


class Protocol(NamedTuple):
    """One way of assigning that a member can do (an assignor's name), and what it says of itself
    for it (a consumer: its subscription).
    """

    name: str
    metadata: bytes


class JoinGroupMember(NamedTuple):
    """A member as the leader is told of it."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinGroupResult(NamedTuple):
    """The answer to a JoinGroup."""

    error: Errors
    member_id: str
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str = ""
    members: Sequence[JoinGroupMember] = ()
    """All members for the leader, nobody for the others."""


class SyncGroupResult(NamedTuple):
    """The answer to a SyncGroup."""

    error: Errors
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


JoinCallback = Callable[[JoinGroupResult], None]
SyncCallback = Callable[[SyncGroupResult], None]


class MemberMetadata:
    """A member, by the id that the coordinator gave it; owned by its group.

    Two time-outs. *Session*: a member without a sign of life (Heartbeat, JoinGroup, SyncGroup,
    OffsetCommit) for so long is dead. *Rebalance*: so long a rebalance waits for it to join again,
    and then for its SyncGroup. A member whose JoinGroup or SyncGroup waits here cannot send
    heartbeats, and is alive by that; but a new member's client may be gone without anybody knowing,
    so new ones have five minutes.

    A static member (KIP-345) has an instance id of its own as well, and so can come back under a
    new member id without a rebalance.
    """

    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "client_host",
        "client_id",
        "group_instance_id",
        "heartbeat_satisfied",
        "is_new",
        "member_id",
        "protocol_type",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "supported_protocols",
    )

    def __init__(
        self,
        member_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        supported_protocols: tuple[Protocol, ...],
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocol_type = protocol_type
        self.supported_protocols = supported_protocols
        """Its favourite first."""
        self.assignment = assignment
        self.awaiting_join: JoinCallback | None = None
        """Its JoinGroup waits; GroupMetadata sets it."""
        self.awaiting_sync: SyncCallback | None = None
        """Its SyncGroup waits."""
        self.is_new = False
        """Until its first JoinGroup is answered."""
        self.heartbeat_satisfied = False
        """True only while a sign of life is being told to the purgatory."""

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def name(self) -> str:
        """For people: the instance id if it has one."""
        return (
            self.member_id
            if self.group_instance_id is None
            else f"{self.group_instance_id} ({self.member_id})"
        )

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Whether it counts as alive now, without a heartbeat that comes later."""
        if self.is_new:
            return self.heartbeat_satisfied
        return (
            self.heartbeat_satisfied
            or self.awaiting_join is not None
            or self.awaiting_sync is not None
        )

    def protocol_names(self) -> frozenset[str]:
        return frozenset(protocol.name for protocol in self.supported_protocols)

    def metadata(self, protocol_name: str) -> bytes:
        """What it says of itself for that protocol. Raises ValueError if it cannot do it."""
        for protocol in self.supported_protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        raise ValueError(f"{self.member_id} does not support {protocol_name}")

    def vote(self, candidates: Collection[str]) -> str:
        """Its favourite among the protocols that all can do. Raises ValueError if it can do
        none.
        """
        for protocol in self.supported_protocols:
            if protocol.name in candidates:
                return protocol.name
        raise ValueError(f"{self.member_id} supports none of {sorted(candidates)}")
