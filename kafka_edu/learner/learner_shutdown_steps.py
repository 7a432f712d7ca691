"""Exercise 06-1 in a live broker: a learner's Shutdown decides the steps of a controlled shutdown.

A wrong answer is used if possible: a broker that stops too early leaves its partitions without a
leader. It is an error in the learner's code if an answer is not an operation, if a wait is far too
long, or if the steps never end. The shipped steps then begin from the start.
"""

from collections.abc import Callable
from typing import Final, Protocol

from kafka_edu.controller.shutdown_steps import BEGIN, Came, Operation, ShutdownSteps
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError

#: Each operation, and the types of its arguments.
FORMS: Final[dict[str, tuple[type, ...]]] = {
    "find": (),
    "connect": (int,),
    "ask": (),
    "wait": (int,),
    "stop": (bool,),
}
STEPS_AN_ATTEMPT: Final = 4
"""The steps of one attempt: find the controller, connect to it, send the request, wait."""
LONGEST_WAIT_MS: Final = 60_000


class Steps(Protocol):
    """The interface of an object that decides the steps of a stopping broker."""

    def next(self, came: Came) -> Operation: ...


class LearnerShutdownSteps:
    """Calls an object of the learner's class, and checks the form of its answers."""

    def __init__(self, code: LearnerCode, max_retries: int, retry_backoff_ms: int) -> None:
        self._code = code
        self._settings = (max_retries, retry_backoff_ms)
        self._part = LearnerPart(code, max_retries, retry_backoff_ms)
        self._most = STEPS_AN_ATTEMPT * (max_retries + 2)
        self._steps = 0
        self._ours: ShutdownSteps | None = None

    def next(self, came: Came) -> Operation:
        """Return the learner's next operation.

        After the first error in the learner's code, return the shipped operation.
        """
        if self._ours is None and not self._code.retired:
            try:
                return self._next_operation(came)
            except LearnerError as error:
                self._code.failed(error)
        if self._ours is None:
            self._ours = ShutdownSteps(*self._settings)
            came = BEGIN
        return self._ours.next(came)

    def _next_operation(self, came: Came) -> Operation:
        """Return the learner's answer. Raises LearnerError."""
        self._steps += 1
        if self._steps > self._most:
            raise self._code.blame(f"after {self._most} operations it still does not stop")
        match self._part.ask("next", came):
            case ("wait", int(ms)) if not 0 <= ms <= LONGEST_WAIT_MS:
                why = f"it waits 0 to {LONGEST_WAIT_MS:,} ms"
                raise self._code.blame(f"next({came!r}) answered ('wait', {ms}): {why}")
            case (str(name), *rest) if [type(one) for one in rest] == [*FORMS.get(name, (None,))]:
                return name, *rest
            case operation:
                raise self._code.blame(f"next({came!r}) answered {operation!r}, no operation")


def adapt(code: LearnerCode) -> Callable[[int, int], Steps]:
    """Return the function that replaces `ShutdownSteps` in the broker."""
    return lambda max_retries, backoff_ms: LearnerShutdownSteps(code, max_retries, backoff_ms)
