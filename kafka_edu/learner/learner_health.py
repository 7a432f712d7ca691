"""Exercise 08-3 in a live proxy: a learner's Health says whether a target is up.

A target is an address behind the proxy. A wrong state is used. A target that is Down too early gets
no clients although it answers. A target that stays Up too long gets clients although it does not
answer. If an answer is not a state, that is an error in the learner's code. The shipped code then
takes over, with all results seen so far.
"""

from collections.abc import Callable

from kafka_edu.clients.proxy.health import DOWN_AFTER, UP_AFTER, Health, TargetState
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError


class LearnerHealth(Health):
    """Finds the state of targets by an object of the learner's class.

    An object of the shipped class gets the same calls, so that it can take over.
    """

    def __init__(
        self, code: LearnerCode, down_after: int = DOWN_AFTER, up_after: int = UP_AFTER
    ) -> None:
        super().__init__(down_after, up_after)
        self._part = LearnerPart(code, down_after, up_after)

    def saw(self, answered: bool) -> TargetState:
        right = super().saw(answered)
        if self._part.is_out:
            return right
        try:
            match self._part.ask("saw", answered):
                case "Up":
                    return TargetState.UP
                case "Down":
                    return TargetState.DOWN
                case answer:
                    raise self._part.blame("saw", (answered,), answer, "'Up' or 'Down'")
        except LearnerError as error:
            self._part.fail(error)
            return right


def adapt(code: LearnerCode) -> Callable[..., Health]:
    """Return the function that replaces `Health` in a proxy."""
    return lambda *limits: LearnerHealth(code, *limits)
