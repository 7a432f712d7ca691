"""Exercise 08-3 in a live proxy: a learner's Health says whether a target is up.

A wrong state counts: a target that is Down too early is left out although it answers, and one that
stays Up too long sends clients to brokers that are not there. An answer that is no state is an
error of the learner; ours then goes on, from all that was seen so far.
"""

from collections.abc import Callable

from kafka_edu.clients.proxy.health import DOWN_AFTER, UP_AFTER, Health, TargetState
from kafka_edu.learner.learner import LearnerObject
from kafka_edu.learner.seams import LearnerCode, LearnerError


class LearnerHealth(Health):
    """Asks the learner's object. Ours sees the same, so that it can go on."""

    def __init__(
        self, code: LearnerCode, down_after: int = DOWN_AFTER, up_after: int = UP_AFTER
    ) -> None:
        super().__init__(down_after, up_after)
        self._code = code
        self._limits = (down_after, up_after)
        self._learner: LearnerObject | None = None
        self._failed = False

    def saw(self, answered: bool) -> TargetState:
        right = super().saw(answered)
        if self._failed or self._code.retired:
            return right
        try:
            if self._learner is None:
                self._learner = self._code.make(*self._limits)
            match self._code.ask(self._learner, "saw", answered):
                case "Up":
                    return TargetState.UP
                case "Down":
                    return TargetState.DOWN
                case answer:
                    raise self._code.blame(
                        f"saw({answered}) answered {answer!r}; expected 'Up' or 'Down'"
                    )
        except LearnerError as error:
            self._failed = True
            self._code.failed(error)
            return right


def adapt(code: LearnerCode) -> Callable[..., Health]:
    """Return the function that replaces `Health` in a proxy."""
    return lambda *limits: LearnerHealth(code, *limits)
