"""Exercise 06-3 in a live broker: a learner's Recovery decides recovery points.

The learner's code also decides which segments a starting broker reads again. Worker threads call it
while logs are opened, and the broker's loop calls it after each flush. A wrong recovery point is
used if it lies inside the log. A recovery point outside the log, and a segment that does not exist,
are errors in the learner's code.
"""

from collections.abc import Callable, Sequence
from typing import Final

from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.log.recovery_rule import RecoveryRule

MOST_SEGMENTS: Final = 2_000
"""For a log with more segments the shipped code answers, because an answer may have 64 KiB."""


class LearnerRecovery(RecoveryRule):
    """Gets recovery points from an object of the learner's class. All logs of a broker share one
    object.

    The shipped code answers if a call fails.
    """

    def __init__(self, code: LearnerCode) -> None:
        self._code = code
        self._part = LearnerPart(code)

    def after_flush(self, point: int, up_to: int, end: int) -> int:
        came = self._point("after_flush", 0, end, point, up_to, end)
        return super().after_flush(point, up_to, end) if came is None else came

    def after_truncation(self, point: int, end: int) -> int:
        came = self._point("after_truncation", 0, end, point, end)
        return super().after_truncation(point, end) if came is None else came

    def after_deletion(self, point: int, log_start: int) -> int:
        came = self._point("after_deletion", 0, max(point, log_start), point, log_start)
        return super().after_deletion(point, log_start) if came is None else came

    def at_start(self, point: int, log_start: int, end: int, clean: bool) -> int:
        came = self._point("at_start", 0, end, point, log_start, end, clean)
        return super().at_start(point, log_start, end, clean) if came is None else came

    def to_read(self, bases: Sequence[int], point: int, clean: bool) -> list[int]:
        if not self._code.retired and len(bases) <= MOST_SEGMENTS:
            arguments = [list(bases), point, clean]
            try:
                match self._part.ask("to_read", *arguments):
                    case tuple(found) if {*found} <= {*bases}:
                        return [base for base in bases if base in found]
                    case answer:
                        raise self._code.blame(
                            f"to_read{arguments} answered {answer!r}; expected base offsets of"
                            f" {list(bases)}"
                        )
            except LearnerError as error:
                self._code.failed(error)
        return super().to_read(bases, point, clean)

    def _point(self, method: str, least: int, most: int, *arguments: object) -> int | None:
        """Return the learner's recovery point, or None if the shipped code must answer."""
        if self._code.retired:
            return None
        try:
            answer = self._part.ask(method, *arguments)
            if type(answer) is int and least <= answer <= most:
                return answer
            raise self._code.blame(
                f"{method}{[*arguments]} answered {answer!r}; expected an offset from {least} to"
                f" {most}"
            )
        except LearnerError as error:
            self._code.failed(error)
        return None


def adapt(code: LearnerCode) -> Callable[[], RecoveryRule]:
    """Return the function that replaces `RecoveryRule` in a broker."""
    rule = LearnerRecovery(code)
    return lambda: rule
