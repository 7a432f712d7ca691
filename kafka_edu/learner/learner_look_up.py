"""Exercise 09-1 in a live broker: a learner's LookUp finds the batch of an offset.

The learner's object names one operation after the other, and `LookUpSteps` carries them out. An
operation reads a base offset, an entry of an index, or the header of a batch. The reader gets the
batch that the learner's code has found, right or wrong. It is an error in the learner's code if an
operation names a place that the learner cannot know, such as a position at which no batch begins.
The shipped code then answers. The learner's code is called only for topics whose names begin with
`lab-`. It is not called for a segment's last batches either: the shipped code remembers their
positions and need not search.
"""

import posixpath
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kafka_edu.learner.lab_partitions import LAB_TOPICS
from kafka_edu.learner.learner import LearnerObject
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.log.fetch_data_info import FetchDataInfo
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.log.log_segments import LogSegments
from kafka_edu.record.file_records import iter_file_headers

MOST_STEPS: Final = 2_000
"""The number of operations after which a look-up counts as endless."""


class ImpossibleStepError(Exception):
    """The learner's code has named an operation that cannot be carried out. The message says
    why.
    """


class Place(NamedTuple):
    """The place where a batch begins: a segment, and a position in it."""

    segment: int
    """The number of the segment in the log, from 0."""
    position: int


class LookUpSteps:
    """Carries out the operations of one look-up, and counts them."""

    def __init__(self, segments: Sequence[LogSegment]) -> None:
        self._segments = segments
        self._positions: set[Place] = set()
        """The places of batches that the learner's code can know from earlier operations."""
        self._seen: set[Place] = set()
        self.looks: dict[str, int] = dict.fromkeys(("base", "entries", "entry", "batch"), 0)
        self.ended = False
        self.found: Place | None = None
        """The batch that was found; None if the learner found no batch."""

    def do(self, operation: object) -> object:
        """Carry out one operation, and return what the learner gets.

        Raises ImpossibleStepError. Reads at most one header.
        """
        match operation:
            case ("base", int(number)):
                self.looks["base"] += 1
                return self._segment(number).base_offset
            case ("entries", int(number)):
                self.looks["entries"] += 1
                index = self._segment(number).offset_index
                index.load()
                return index.entries
            case ("entry", int(number), int(slot)):
                return self._entry(number, slot)
            case ("batch", int(number), int(position)):
                return self._batch(number, position)
            case ("found", int(number), int(position)):
                self._end(Place(number, position))
                return None
            case ("end",):
                self._end(None)
                return None
        raise ImpossibleStepError(
            "the operations are ('base', n), ('entries', n), ('entry', n, k), ('batch', n,"
            " position), ('found', n, position) and ('end',)"
        )

    def _segment(self, number: int) -> LogSegment:
        if not 0 <= number < len(self._segments):
            raise ImpossibleStepError(f"the segments are 0 to {len(self._segments) - 1}")
        return self._segments[number]

    def _entry(self, number: int, slot: int) -> tuple[int, int]:
        index = self._segment(number).offset_index
        index.load()
        if not 0 <= slot < index.entries:
            raise ImpossibleStepError(f"segment {number} has {index.entries} entries, from 0 on")
        self.looks["entry"] += 1
        entry = index.entry(slot)
        self._positions.add(Place(number, entry.position))
        return entry.offset - index.base_offset, entry.position

    def _batch(self, number: int, position: int) -> tuple[int, int, int] | None:
        segment, place = self._segment(number), Place(number, position)
        if position != 0 and place not in self._positions:
            raise ImpossibleStepError(
                f"nothing says that a batch begins at byte {position} of segment {number}"
            )
        self.looks["batch"] += 1
        for _, header in iter_file_headers(segment.log, position, segment.size):
            self._seen.add(place)
            self._positions.add(Place(number, position + header.size_in_bytes))
            return header.base_offset, header.last_offset, header.size_in_bytes
        return None

    def _end(self, found: Place | None) -> None:
        if found is not None and found not in self._seen:
            raise ImpossibleStepError(
                f"it has not looked at a batch at byte {found.position} of segment {found.segment}"
            )
        self.ended, self.found = True, found


class LearnerSegments(LogSegments):
    """The segments of a log. An object of the learner's class looks up offsets in these
    segments.
    """

    __slots__ = ("_code",)

    def __init__(self, code: LearnerCode, segments: Sequence[LogSegment]) -> None:
        super().__init__(segments)
        self._code = code

    def read(
        self, start_offset: int, max_length: int, limit: int, log_end: int, min_one_message: bool
    ) -> tuple[LogSegment, FetchDataInfo] | None:
        if self._code.retired or self[max(self.floor(start_offset), 0)].remembers(start_offset):
            return super().read(start_offset, max_length, limit, log_end, min_one_message)
        try:
            found = self._look_up(start_offset)
        except LearnerError as error:
            self._code.failed(error)
            return super().read(start_offset, max_length, limit, log_end, min_one_message)
        if found is None:
            return None
        segment = self[found.segment]
        return segment, segment.read_at(
            found.position,
            start_offset,
            max_length,
            self.max_position(found.segment, limit, log_end),
            min_one_message,
        )

    def _look_up(self, offset: int) -> Place | None:
        """Return the place that the learner's object finds. Raises LearnerError."""
        learner = self._code.make(offset, len(self))
        steps = LookUpSteps(self)
        came: object = None
        for _ in range(MOST_STEPS):
            operation = self._next(learner, came)
            try:
                came = steps.do(operation)
            except ImpossibleStepError as error:
                raise self._code.blame(
                    f"next({came}) answered {operation!r}; {error}; {offset} is wanted"
                ) from None
            if steps.ended:
                return steps.found
        raise self._code.blame(f"the look-up of {offset} did not end after {MOST_STEPS} operations")

    def _next(self, learner: LearnerObject, came: object) -> object:
        return self._code.ask(learner, "next", came)


def adapt(code: LearnerCode) -> Callable[[Sequence[LogSegment]], LogSegments]:
    """Return the function that replaces `LogSegments` in a log."""

    def segments_of(segments: Sequence[LogSegment]) -> LogSegments:
        folder = posixpath.basename(segments[0].directory)
        if folder.startswith(LAB_TOPICS):
            return LearnerSegments(code, segments)
        return LogSegments(segments)

    return segments_of
