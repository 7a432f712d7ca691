"""Exercise 06-1 in a live broker: a learner's Shutdown decides what the broker does to be let go.

A wrong answer that can be done is done: a broker that stops too early leaves its partitions without
a leader. An answer that is no operation, a wait that nobody would live to see, and steps without
end are errors of the learner. Then the broker's own steps begin from the start.
"""

from collections.abc import Callable
from typing import Final, Protocol

from kafka_edu.controller.shutdown_steps import BEGIN, Came, Operation, ShutdownSteps
from kafka_edu.learner.learner import LearnerObject
from kafka_edu.learner.seams import LearnerCode, LearnerError

#: operation → the types of what follows it
FORMS: Final[dict[str, tuple[type, ...]]] = {
    "find": (),
    "connect": (int,),
    "ask": (),
    "wait": (int,),
    "stop": (bool,),
}
STEPS_AN_ATTEMPT: Final = 4
"""find, connect, ask, wait"""
LONGEST_WAIT_MS: Final = 60_000


class Steps(Protocol):
    """Decides what a stopping broker does."""

    def next(self, came: Came) -> Operation: ...


class LearnerShutdownSteps:
    """Asks the learner's object, and checks the form of its answers."""

    def __init__(self, code: LearnerCode, max_retries: int, retry_backoff_ms: int) -> None:
        self._code = code
        self._settings = (max_retries, retry_backoff_ms)
        self._learner: LearnerObject | None = None
        self._most = STEPS_AN_ATTEMPT * (max_retries + 2)
        self._steps = 0
        self._ours: ShutdownSteps | None = None

    def next(self, came: Came) -> Operation:
        """Return the learner's operation; after its first error, ours."""
        if self._ours is None and not self._code.retired:
            try:
                return self._asked(came)
            except LearnerError as error:
                self._code.failed(error)
        if self._ours is None:
            self._ours = ShutdownSteps(*self._settings)
            came = BEGIN
        return self._ours.next(came)

    def _asked(self, came: Came) -> Operation:
        """Return the learner's answer. Raises LearnerError."""
        if self._learner is None:
            self._learner = self._code.make(*self._settings)
        self._steps += 1
        if self._steps > self._most:
            raise self._code.blame(f"after {self._most} operations it still does not stop")
        match self._code.ask(self._learner, "next", came):
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
