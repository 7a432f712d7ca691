"""One member of a group, with its time-outs and protocols (Kafka: MemberMetadata.scala)."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from kafka_edu.common.errors import Errors


class Protocol(NamedTuple):
    """An assignor that a member supports, with the member's own data for the assignor.

    For a consumer, that data is its subscription.
    """

    name: str
    metadata: bytes


class JoinGroupMember(NamedTuple):
    """One member, in the list of members that the leader gets in its JoinGroup response."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinGroupResult(NamedTuple):
    """The content of the response to a JoinGroup request."""

    error: Errors
    member_id: str
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str = ""
    members: Sequence[JoinGroupMember] = ()
    """All members, in the response to the leader; empty in the other responses."""


class SyncGroupResult(NamedTuple):
    """The content of the response to a SyncGroup request."""

    error: Errors
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


JoinCallback = Callable[[JoinGroupResult], None]
SyncCallback = Callable[[SyncGroupResult], None]


class MemberMetadata:
    """A member of a group, under the id that the coordinator gave it.

    It has two time-outs. After the *session* time-out without a sign of life (Heartbeat, JoinGroup,
    SyncGroup, OffsetCommit), the member is dead. The *rebalance* time-out is how long a rebalance
    waits until the member joins again, and then until it sends SyncGroup.

    A member whose JoinGroup or SyncGroup waits for a response cannot send heartbeats, so the member
    counts as alive. But the client of a new member may die while its JoinGroup waits, and nobody
    would notice. So the JoinGroup of a new member may wait for at most five minutes.

    A static member (KIP-345) also has an instance id, which its user chose. With the instance id,
    the member can come back under a new member id without a rebalance.
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
        """The assignors that the member supports, in order of preference."""
        self.assignment = assignment
        self.awaiting_join: JoinCallback | None = None
        """Sends the response to the waiting JoinGroup; None if none waits. Set by GroupMetadata."""
        self.awaiting_sync: SyncCallback | None = None
        """Sends the response to the waiting SyncGroup; None if none waits."""
        self.is_new = False
        """True until the member's first JoinGroup is answered."""
        self.heard_ms = 0
        """The monotonic time in ms of the member's last sign of life."""
        self.heartbeat_satisfied = False
        """True only while the purgatory processes a sign of life of this member."""

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def name(self) -> str:
        """The name for people to read: the member id, or `<instance id> (<member id>)`."""
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
        """Return the member's own data for the assignor `protocol_name`.

        Raises ValueError if the member does not support this assignor.
        """
        for protocol in self.supported_protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        raise ValueError(f"{self.member_id} does not support {protocol_name}")

    def vote(self, candidates: Collection[str]) -> str:
        """Return the assignor that the member prefers among `candidates`.

        Raises ValueError if the member supports none of them.
        """
        for protocol in self.supported_protocols:
            if protocol.name in candidates:
                return protocol.name
        raise ValueError(f"{self.member_id} supports none of {sorted(candidates)}")
