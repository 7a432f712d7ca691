"""One object of a learner's class, as an adapter uses it."""

from typing import Final

from kafka_edu.learner.learner import LearnerObject
from kafka_edu.learner.seams import LearnerCode, LearnerError

SHOWN: Final = 200
"""The number of characters of an answer that a message shows. An answer may have 64 KiB."""


class LearnerPart:
    """Calls one object of the class that the learner wrote. The first call makes the object.

    The object has its own state, and after an error this state may be wrong. If later answers
    depend on the state, the adapter calls `fail`: from then on `is_out` is true, and the object is
    not called again. If each call is independent of earlier calls, the adapter only reports the
    error (`LearnerCode.failed`) and calls the same object again.
    """

    __slots__ = ("_arguments", "_code", "_given_up", "_learner")

    def __init__(self, code: LearnerCode, *arguments: object) -> None:
        """Prepare to make the object with these arguments."""
        self._code = code
        self._arguments = arguments
        self._learner: LearnerObject | None = None
        self._given_up = False

    @property
    def is_out(self) -> bool:
        """Return whether the shipped code decides now. This never changes back."""
        return self._given_up or self._code.retired

    def ask(self, method: str, *arguments: object) -> object:
        """Return the answer of a method. Raises LearnerError."""
        if self._learner is None:
            self._learner = self._code.make(*self._arguments)
        return self._code.ask(self._learner, method, *arguments)

    def tell(self, method: str, *arguments: object) -> None:
        """Call a method that returns no answer, unless the shipped code decides. Report errors."""
        if self.is_out:
            return
        try:
            self.ask(method, *arguments)
        except LearnerError as error:
            self.fail(error)

    def fail(self, error: LearnerError) -> None:
        """Report an error in the learner's code, and never call the learner's object again."""
        self._given_up = True
        self._code.failed(error)

    def blame(
        self, method: str, arguments: tuple[object, ...], answer: object, expected: str
    ) -> LearnerError:
        """Return the error of an answer that cannot be used. A long answer is cut off."""
        words = ", ".join(map(repr, arguments))
        shown = f"{answer!r:.{SHOWN}}"
        return self._code.blame(f"{method}({words}) answered {shown}; expected {expected}")
