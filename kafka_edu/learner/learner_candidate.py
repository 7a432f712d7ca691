"""Exercise 05-1 in a live broker: a learner's Candidate decides how to become the controller.

The broker uses a wrong answer if possible: if a candidate waits when it should try to be elected,
the cluster has no controller. It is an error in the learner's code if an answer is not an
operation, if the candidate becomes controller without an election, or if the steps never end. After
such an error the broker's own election decides, because the learner's code no longer knows what has
happened.
"""

from collections.abc import Callable
from typing import Final

from kafka_edu.controller.candidate import MOST_STEPS, Came, Candidate, Operation
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError

#: Each operation, and the types of its arguments.
FORMS: Final[dict[str, tuple[type, ...]]] = {
    "look": (),
    "read_epoch": (),
    "create_epoch": (),
    "resign": (),
    "wait": (),
    "run": (int, int),
    "delete": (int,),
    "lead": (int,),
}


class LearnerCandidate:
    """Calls the learner's code, and checks the form of its answers."""

    def __init__(self, code: LearnerCode, broker_id: int) -> None:
        self._code = code
        self._part = LearnerPart(code, broker_id)

    def next(self, came: Came) -> Operation | None:
        """Return the learner's next operation. Return None after the first error in the learner's
        code.
        """
        if self._part.is_out:
            return None
        try:
            return self._checked(came, self._part.ask("next", came))
        except LearnerError as error:
            self._part.fail(error)
            return None

    def endless(self) -> None:
        """Report an error in the learner's code: its steps never end."""
        self._part.fail(self._code.blame(f"after {MOST_STEPS} operations it still does not wait"))

    def _checked(self, came: Came, operation: object) -> Operation:
        match operation:
            case (str(name), *rest) if name in FORMS and _fits(rest, FORMS[name]):
                pass
            case _:
                raise self._code.blame(f"next({came!r}) answered {operation!r}, no operation")
        if name == "lead" and came != ("won",):
            raise self._code.blame(f"next({came!r}) wants to lead, and has won no election")
        return name, *rest


def _fits(rest: list[object], form: tuple[type, ...]) -> bool:
    return [type(one) for one in rest] == [*form]


def adapt(code: LearnerCode) -> Callable[[int], Candidate | None]:
    """Return the function that replaces `candidate_of` in the controller."""
    return lambda broker_id: LearnerCandidate(code, broker_id)
