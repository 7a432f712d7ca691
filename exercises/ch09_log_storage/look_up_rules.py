"""Compare look-ups of exercise 09-1 with the broker's own, and count their operations."""

from typing import Final, NamedTuple

from kafka_edu.learner.learner import LearnerObject
from kafka_edu.learner.learner_look_up import (
    ImpossibleStepError,
    LookUpSteps,
    Place,
)
from kafka_edu.log.log import Log
from kafka_edu.record.file_records import iter_file_headers

from ..runner.mismatch import Mismatch, Words

MOST_STEPS: Final = 400
"""The maximum number of operations. No look-up in the tests needs as many as this."""
SHOWN: Final = 10


class Right(NamedTuple):
    """The result of the broker's search, and how many batch headers it reads on the way."""

    place: Place | None
    headers: int
    segment: int
    """The number of the segment that the first search finds."""


def right_look_up(log: Log, offset: int) -> Right:
    """Look `offset` up in the log by the broker's own searches."""
    number = first = log.segments.floor(offset)
    position = log.segments[number].offset_index.lookup(offset).position
    headers = 0
    while number < len(log.segments):
        segment = log.segments[number]
        for at, header in iter_file_headers(segment.log, position, segment.size):
            headers += 1
            if header.last_offset >= offset:
                return Right(Place(number, at), headers, first)
        headers += 1  # the end of the file is seen too
        number, position = number + 1, 0
    return Right(None, headers, first)


def looks_for(count: int) -> int:
    """Return how many of `count` items a binary search may look at: one more than necessary."""
    return count.bit_length() + 1


class LookUpRun:
    """One look-up by the learner's object, with all its operations."""

    def __init__(self, log: Log, offset: int) -> None:
        self._log = log
        self._offset = offset
        self._steps = LookUpSteps(log.segments)
        self._story: list[str] = []
        self._right = right_look_up(log, offset)

    def judge(self, made: LearnerObject) -> None:
        """Let the object look the offset up. Raises Mismatch if it does so wrongly."""
        came: object = None
        for _ in range(MOST_STEPS):
            operation = made.call("next", came)
            try:
                came = self._steps.do(operation)
            except ImpossibleStepError as error:
                raise self._wrong("a possible operation", operation, str(error)) from None
            self._story.append(f"{operation} → {came}")
            self._check_looks(operation)
            if self._steps.ended:
                return self._check_end(operation)
        raise self._wrong("the look-up ends", f"{MOST_STEPS} operations", "the search does not end")

    def _check_looks(self, operation: object) -> None:
        looks, segments = self._steps.looks, self._log.segments
        most = looks_for(len(segments))
        if looks["base"] > most:
            raise self._wrong(
                f"at most {most} looks at base offsets",
                operation,
                f"a binary search in {len(segments)} segments needs at most this many",
            )
        if looks["entries"] > 1:
            why = "only one segment's index is searched"
            raise self._wrong("one question for the number of entries", operation, why)
        entries = segments[self._right.segment].offset_index.entries
        if looks["entry"] > looks_for(entries):
            raise self._wrong(
                f"at most {looks_for(entries)} looks at entries",
                operation,
                f"a binary search in {entries} entries needs at most this many",
            )

    def _check_end(self, operation: object) -> None:
        right, found = self._right, self._steps.found
        if found != right.place:
            raise self._wrong(self._in_words(right.place), operation, self._why(found))
        if self._steps.looks["batch"] > right.headers:
            raise self._wrong(
                f"{right.headers} batches on the walk",
                f"{self._steps.looks['batch']} batches",
                "the walk begins at the last entry that is not above, and ends at the batch",
            )

    def _why(self, found: Place | None) -> str:
        right = self._right.place
        if right is None:
            return f"no batch has {self._offset} or a later offset"
        if found is None:
            return "a batch has that offset, or follows the gap in which the offset lies"
        if found < right:
            return f"all records of that batch are below {self._offset}"
        return f"an earlier batch has {self._offset}, or a later offset"

    @staticmethod
    def _in_words(place: Place | None) -> str:
        return "('end',)" if place is None else f"('found', {place.segment}, {place.position})"

    def _wrong(self, expected: str, came: object, why: str) -> Mismatch:
        bases = ", ".join(str(each.base_offset) for each in self._log.segments)
        return Mismatch(
            f"the look-up of {self._offset}",
            Words(expected),
            came,
            why,
            drawing=(f"the segments begin at {bases}", *self._story[-SHOWN:]),
            read="steps",
        )
