"""A consumer's membership in its group, as one table of states (Kafka: AbstractCoordinator.java).

    Unjoined → Revoking → PreparingRebalance → CompletingRebalance → Assigning → Stable
                  ↑              ↑                   │                             │
                  │              └── SyncGroup failed┘                             │
                  └────────────────── a rebalance ─────────────────────────────────┘

- Unjoined: the consumer is not a member. The coordinator does not know it yet, or has removed it.
- Revoking: a rebalance begins. The consumer commits, and the program gives up its partitions. In a
  cooperative rebalance, it gives up only partitions of topics that it no longer reads.
- PreparingRebalance: JoinGroup is sent. The coordinator answers when all members have joined.
- CompletingRebalance: there is a new generation. The leader assigns the partitions, and every
  member waits for its partitions with SyncGroup.
- Assigning: the assignment arrived. The next `poll()` takes it, and calls the program's listener.
  In a cooperative rebalance, the program first gives up the partitions that are not in the
  assignment. Then a second rebalance follows.
- Stable: the consumer reads, and sends heartbeats.

Kafka has no states Revoking and Assigning: there the thread that calls `poll()` is in the middle of
a method. Any state may go to Unjoined: after an error, after max.poll.interval.ms, or in `close()`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from kafka_edu.clients.consumer.assignors import NO_GENERATION
from kafka_edu.trace.events.consumer import MembershipChanged
from kafka_edu.trace.tracer import Tracer

NO_MEMBER_ID: Final = ""


class MembershipState(StrEnum):
    """The state of a membership."""

    UNJOINED = "Unjoined"
    REVOKING = "Revoking"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    ASSIGNING = "Assigning"
    STABLE = "Stable"


#: state → the states that may come before it.
VALID_PREVIOUS_STATES: Final[Mapping[MembershipState, frozenset[MembershipState]]] = {
    MembershipState.UNJOINED: frozenset(MembershipState) - {MembershipState.UNJOINED},
    MembershipState.REVOKING: frozenset({MembershipState.UNJOINED, MembershipState.STABLE}),
    MembershipState.PREPARING_REBALANCE: frozenset(
        {MembershipState.REVOKING, MembershipState.COMPLETING_REBALANCE}
    ),
    MembershipState.COMPLETING_REBALANCE: frozenset({MembershipState.PREPARING_REBALANCE}),
    MembershipState.ASSIGNING: frozenset({MembershipState.COMPLETING_REBALANCE}),
    MembershipState.STABLE: frozenset({MembershipState.ASSIGNING}),
}

#: States in which the coordinator counts the consumer as a member of its generation.
IN_GENERATION: Final = frozenset(
    {
        MembershipState.REVOKING,
        MembershipState.COMPLETING_REBALANCE,
        MembershipState.ASSIGNING,
        MembershipState.STABLE,
    }
)

#: States in which the consumer may commit offsets for the partitions of its generation.
MAY_COMMIT: Final = IN_GENERATION - {MembershipState.COMPLETING_REBALANCE}


class Membership:
    """The state of one membership, its member id and its generation."""

    def __init__(self, client_id: str, group_id: str, trace: Tracer | None = None) -> None:
        self._client_id = client_id
        self._group_id = group_id
        self._trace = trace
        self.state = MembershipState.UNJOINED
        self.member_id = NO_MEMBER_ID
        self.generation = NO_GENERATION
        self.protocol = ""
        """The assignor that the generation uses."""

    @property
    def in_generation(self) -> bool:
        """Return whether the consumer is a member of its generation, as far as it knows."""
        return self.generation != NO_GENERATION and self.state in IN_GENERATION

    @property
    def may_commit(self) -> bool:
        """Return whether the consumer may commit offsets for the partitions of its generation."""
        return self.generation != NO_GENERATION and self.state in MAY_COMMIT

    def enter(self, state: MembershipState, reason: str) -> None:
        """Change the state. Raises ValueError for a change that is not in the table."""
        if self.state not in VALID_PREVIOUS_STATES[state]:
            raise ValueError(f"a membership cannot go from {self.state} to {state}")
        before, self.state = self.state, state
        if self._trace:
            self._trace(
                MembershipChanged(
                    client=self._client_id,
                    group=self._group_id,
                    before=before,
                    after=state,
                    member_id=self.member_id,
                    generation=self.generation,
                    reason=reason,
                )
            )

    def joined(self, member_id: str, generation: int, protocol: str) -> None:
        """Handle the answer to JoinGroup."""
        self.member_id, self.generation, self.protocol = member_id, generation, protocol
        self.enter(
            MembershipState.COMPLETING_REBALANCE, f"all members joined generation {generation}"
        )

    def leave_generation(self, reason: str, *, keep_member_id: bool = False) -> None:
        """Leave the generation. With `keep_member_id`, the consumer joins again as the same
        member.
        """
        if not keep_member_id:
            self.member_id = NO_MEMBER_ID
        self.generation = NO_GENERATION
        if self.state is not MembershipState.UNJOINED:
            self.enter(MembershipState.UNJOINED, reason)
