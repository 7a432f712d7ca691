"""Exercise 09-2 in a live broker: a learner's SegmentRules decides when a log's active segment
rolls, and which of its oldest segments retention deletes.

The broker follows wrong answers too: then segments become too large or too small, and records are
deleted too early or never. But some answers cannot be followed: the next batch would not fit into
the segment's index or offsets, or records would be deleted that are not committed yet. Such an
answer is an error in the learner's code, and kafka-edu's own code answers instead. The learner's
code is called for each append, and the broker waits for its answer. So the code is called only for
topics whose names begin with `lab-`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.lab_partitions import LAB_TOPICS
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.log.log import Log
from kafka_edu.log.log_retention import BY_SIZE, BY_START, BY_TIME
from kafka_edu.record.file_records import iter_file_headers
from kafka_edu.record.record_batch import NO_TIMESTAMP

MUST_ROLL: Final = ("index full", "offset range")
"""The reasons for which a segment must roll, because otherwise the batch could not be written."""
ROLLS: Final = ("size", "time", *MUST_ROLL)
TAKES: Final[Mapping[object, str]] = {"time": BY_TIME, "size": BY_SIZE, "start": BY_START}


class LearnerLog(Log):
    """A log whose segments roll and are deleted as an object of the learner's class decides."""

    def __init__(self, code: LearnerCode, *parts: Any) -> None:
        super().__init__(*parts)
        self._code = code
        self._part = LearnerPart(code)

    def roll_reason(
        self, size: int, max_timestamp: int, last_offset: int, now_ms: int
    ) -> str | None:
        ours = super().roll_reason(size, max_timestamp, last_offset, now_ms)
        if self._code.retired:
            return ours
        batch = {"size": size, "latest_ms": max_timestamp, "last_offset": last_offset}
        limits = {"segment_bytes": self.config.segment_bytes, "segment_ms": self.roll_ms}
        arguments: tuple[object, ...] = (limits, self._active(), batch, now_ms)
        try:
            match self._part.ask("roll", *arguments):
                case None if ours not in MUST_ROLL:
                    return None
                case str(reason) if reason in ROLLS:
                    return reason
                case answer:
                    raise self._part.blame(
                        "roll", arguments, answer, f"one of {ROLLS}, or None if it fits"
                    )
        except LearnerError as error:
            self._code.failed(error)
            return ours

    def _active(self) -> dict[str, object]:
        segment = self.active_segment
        headers = iter_file_headers(segment.log, 0, segment.size)
        return {
            "base": segment.base_offset,
            "size": segment.size,
            "first_ms": next((one.max_timestamp for _, one in headers), NO_TIMESTAMP),
            "created_ms": segment.created_ms,
            "offset_index": (segment.offset_index.entries, segment.offset_index.max_entries),
            "time_index": (segment.time_index.entries, segment.time_index.max_entries),
        }

    def deletion_reasons(self, now_ms: int) -> list[str]:
        ours = super().deletion_reasons(now_ms)
        if self._code.retired:
            return ours
        config = self.config
        limits = {
            "delete": config.delete,
            "retention_ms": config.retention_ms,
            "retention_bytes": config.retention_bytes,
        }
        log = {
            "start": self.log_start_offset,
            "hw": self.high_watermark,
            "end": self.log_end_offset,
            "segments": [(s.base_offset, s.size, s.largest_timestamp) for s in self.segments],
        }
        arguments: tuple[object, ...] = (limits, log, now_ms)
        try:
            match self._part.ask("take", *arguments):
                case tuple(reasons) if self._may_go(len(reasons)) and all(map(_is_reason, reasons)):
                    return [TAKES[one] for one in reasons]
                case answer:
                    raise self._part.blame(
                        "take", arguments, answer, "'time', 'size' or 'start' for each that goes"
                    )
        except LearnerError as error:
            self._code.failed(error)
            return ours

    def _may_go(self, count: int) -> bool:
        """Return whether the oldest `count` segments may be deleted: all their records are
        committed, and the last of these segments is not empty.
        """
        segments = self.segments
        if count < len(segments):
            return count == 0 or segments[count].base_offset <= self.high_watermark
        committed = self.high_watermark == self.log_end_offset
        return count == len(segments) and committed and segments.active.size > 0


def _is_reason(answer: object) -> bool:
    return isinstance(answer, str) and answer in TAKES


def adapt(code: LearnerCode) -> Callable[..., Log]:
    """Return the function that replaces `Log` where logs are opened."""

    def opened(topic_partition: TopicPartition, *parts: Any) -> Log:
        if topic_partition.topic.startswith(LAB_TOPICS):
            return LearnerLog(code, topic_partition, *parts)
        return Log(topic_partition, *parts)

    return opened
