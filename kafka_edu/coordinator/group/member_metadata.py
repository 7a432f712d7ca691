"""One member of a group (Kafka: MemberMetadata.scala)."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from kafka_edu.common.errors import Errors


class Protocol(NamedTuple):
    """An assignor that a member supports, with the member's own data for it.

    For a consumer, that data is its subscription.
    """

    name: str
    metadata: bytes


class JoinGroupMember(NamedTuple):
    """A member in the form for the leader."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinGroupResult(NamedTuple):
    """The response to a JoinGroup."""

    error: Errors
    member_id: str
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str = ""
    members: Sequence[JoinGroupMember] = ()
    """All members, in the response to the leader; empty for the others."""


class SyncGroupResult(NamedTuple):
    """The response to a SyncGroup."""

    error: Errors
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


JoinCallback = Callable[[JoinGroupResult], None]
SyncCallback = Callable[[SyncGroupResult], None]


class MemberMetadata:
    """A member, with the id that the coordinator gave it; owned by its group.

    It has two time-outs. After the *session* time-out without a sign of life (Heartbeat, JoinGroup,
    SyncGroup, OffsetCommit), the member is dead. The *rebalance* time-out is how long a rebalance
    waits until the member joins again, and then until it sends SyncGroup.

    A member whose JoinGroup or SyncGroup waits here cannot send heartbeats, and it counts as alive.
    But the client of a new member may be gone without a sign, so a new member may wait for only
    five minutes.

    A static member (KIP-345) also has an instance id of its own. So it can come back with a new
    member id without a rebalance.
    """

    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "client_host",
        "client_id",
        "group_instance_id",
        "heard_ms",
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
        """In the order of preference, the favourite first."""
        self.assignment = assignment
        self.awaiting_join: JoinCallback | None = None
        """Answers the JoinGroup that waits; set by GroupMetadata."""
        self.awaiting_sync: SyncCallback | None = None
        """Answers the SyncGroup that waits."""
        self.is_new = False
        """True until its first JoinGroup is answered."""
        self.heard_ms = 0
        """The monotonic time in ms of its last sign of life."""
        self.heartbeat_satisfied = False
        """True only while the purgatory processes a sign of life of this member."""

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def name(self) -> str:
        """The name for people: with the instance id if there is one."""
        return (
            self.member_id
            if self.group_instance_id is None
            else f"{self.group_instance_id} ({self.member_id})"
        )

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Whether the member counts as alive now, without a further heartbeat."""
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
        """Return the member's own data for the protocol.

        Raises ValueError if it does not support the protocol.
        """
        for protocol in self.supported_protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        raise ValueError(f"{self.member_id} does not support {protocol_name}")

    def vote(self, candidates: Collection[str]) -> str:
        """Return the member's favourite among `candidates`, the protocols that all support.

        Raises ValueError if it supports none of them.
        """
        for protocol in self.supported_protocols:
            if protocol.name in candidates:
                return protocol.name
        raise ValueError(f"{self.member_id} supports none of {sorted(candidates)}")
