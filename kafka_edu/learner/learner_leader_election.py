"""Exercise 07-1 in a live broker: a learner's rule elects leaders, if the broker is the controller.

The rule is called for every partition of an election. It gets the strategy, the assigned replicas,
the ISR, the live brokers, and the brokers that are shutting down. A wrong answer is used if
possible, so that its effect can be seen.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.controller import leader_election
from kafka_edu.controller.leader_election import ElectionStrategy
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError


class Elect(Protocol):
    """The type of the function `leader_election.elect`."""

    def __call__(
        self,
        strategy: ElectionStrategy,
        current: LeaderAndIsr,
        assignment: Sequence[int],
        live_replicas: Collection[int],
        shutting_down_brokers: Collection[int] = (),
        unclean_leader_election_enabled: bool = False,
    ) -> LeaderAndIsr | None: ...


class LearnerElections:
    """Elects leaders by an object of the learner's class. The shipped code elects if that call
    fails.
    """

    def __init__(self, code: LearnerCode) -> None:
        self._code = code
        self._ours: Elect = leader_election.elect
        self._part = LearnerPart(code)

    def elect(
        self,
        strategy: ElectionStrategy,
        current: LeaderAndIsr,
        assignment: Sequence[int],
        live_replicas: Collection[int],
        shutting_down_brokers: Collection[int] = (),
        unclean_leader_election_enabled: bool = False,
    ) -> LeaderAndIsr | None:
        """Return the new leader, ISR and leader epoch; None if no replica may lead."""
        going, unclean = shutting_down_brokers, unclean_leader_election_enabled
        if not self._code.retired:
            try:
                isr, live = list(current.isr), sorted(live_replicas)
                arguments = [strategy.value, list(assignment), isr, live, sorted(going), unclean]
                answer = self._checked(
                    self._part.ask("elect", *arguments),
                    assignment,
                    f"elect{arguments}",
                )
            except LearnerError as error:
                self._code.failed(error)
            else:
                return None if answer is None else current.with_leader(*answer)
        return self._ours(strategy, current, assignment, live_replicas, going, unclean)

    def _checked(
        self, answer: object, assignment: Sequence[int], arguments: str
    ) -> tuple[int, tuple[int, ...]] | None:
        """Return the leader and the ISR from an answer that can be used.

        Raises LearnerError.
        """
        match answer:
            case None:
                return None
            case (int(leader), tuple(isr)) if leader in assignment and leader in isr:
                if all(type(one) is int and one >= 0 for one in isr) and len({*isr}) == len(isr):
                    return leader, tuple(int(one) for one in isr)
        raise self._code.blame(
            f"{arguments} answered {answer!r}; expected (leader, isr) with a replica of"
            f" {list(assignment)} that is in its ISR, or None"
        )


def adapt(code: LearnerCode) -> Elect:
    """Return the function that replaces `elect` in the partition state machine."""
    return LearnerElections(code).elect
