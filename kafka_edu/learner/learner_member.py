"""Exercise 13-4 in a live consumer: a learner's Member says when to send heartbeats and commits.

Each event has one right next state. Any other state is an error in the learner's code, and the
shipped membership takes over for this consumer. The learner's code also says what the member may
do, and the consumer obeys. If the code does not allow heartbeats, the consumer loses its place in
the group.
"""

from collections.abc import Callable, Mapping
from typing import Final

from kafka_edu.clients.consumer.membership import Membership, MembershipState
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.trace.tracer import Tracer

State = MembershipState
#: state and event → the next state. Events are those of the exercise.
EVENTS: Final[Mapping[tuple[State, str], State]] = {
    (State.UNJOINED, "poll"): State.REVOKING,
    (State.STABLE, "poll"): State.REVOKING,
    (State.REVOKING, "given_up"): State.PREPARING_REBALANCE,
    (State.PREPARING_REBALANCE, "joined"): State.COMPLETING_REBALANCE,
    (State.COMPLETING_REBALANCE, "sync_failed"): State.PREPARING_REBALANCE,
    (State.COMPLETING_REBALANCE, "synced"): State.ASSIGNING,
    (State.ASSIGNING, "taken"): State.STABLE,
    **{(state, "expelled"): State.UNJOINED for state in State if state is not State.UNJOINED},
}
_EVENT_OF: Final = {(before, after): event for (before, event), after in EVENTS.items()}


class LearnerMembership(Membership):
    """Asks an object of the learner's class after each event what the member may do from then
    on.
    """

    def __init__(
        self, code: LearnerCode, client_id: str, group_id: str, trace: Tracer | None = None
    ) -> None:
        super().__init__(client_id, group_id, trace)
        self._code = code
        self._part = LearnerPart(code)
        self._may: dict[str, bool] = {"heartbeat": False, "commit": False}

    @property
    def in_generation(self) -> bool:
        """Return whether the learner's member may send heartbeats."""
        ours = super().in_generation
        return ours if self._part.is_out or not ours else self._may["heartbeat"]

    @property
    def may_commit(self) -> bool:
        """Return whether the learner's member may commit."""
        ours = super().may_commit
        return ours if self._part.is_out or not ours else self._may["commit"]

    def enter(self, state: MembershipState, reason: str) -> None:
        """Change the state, and ask the learner's object about the change."""
        event = _EVENT_OF.get((self.state, state), "")
        super().enter(state, reason)
        if self._part.is_out:
            return
        try:
            self._ask(event)
        except LearnerError as error:
            self._part.fail(error)

    def _ask(self, event: str) -> None:
        """Tell the learner's object about an event, and get the member's state and what it may do.

        Raises LearnerError.
        """
        came = self._part.ask("happens", event, self.member_id, self.generation)
        if came != self.state:
            raise self._code.blame(
                f"happens({event!r}, …) answered {came!r}; the member is {self.state} now"
            )
        for what in self._may:
            may = self._part.ask("may", what)
            if not isinstance(may, bool):
                raise self._code.blame(f"may({what!r}) answered {may!r}; expected True or False")
            self._may[what] = may


def adapt(code: LearnerCode) -> Callable[..., Membership]:
    """Return the function that replaces `Membership` in a consumer."""
    return lambda *arguments: LearnerMembership(code, *arguments)
