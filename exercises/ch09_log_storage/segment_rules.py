"""The right answers of exercise 09-2, by the broker's own code."""

from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

from kafka_edu.log.log_retention import BY_SIZE, BY_START, BY_TIME, deletable_segments
from kafka_edu.log.log_segment import LogSegment

_NAMES: Final = {BY_TIME: "time", BY_SIZE: "size", BY_START: "start"}


class Active(NamedTuple):
    """The active segment before an append."""

    base: int = 0
    size: int = 0
    first_ms: int = -1
    """The timestamp of the first batch; -1 if there is none, or if it has no timestamp."""
    created_ms: int = 0
    offset_index: tuple[int, int] = (0, 1_000)
    """How many entries the offset index has, and how many it can have."""
    time_index: tuple[int, int] = (0, 1_000)


class Batch(NamedTuple):
    """A batch that will be appended."""

    size: int = 100
    latest_ms: int = 0
    last_offset: int = 0


class RollLimits(NamedTuple):
    """The settings that decide when a segment rolls."""

    segment_bytes: int = 1_000
    segment_ms: int = 10_000


class Keep(NamedTuple):
    """The settings that decide what retention deletes."""

    delete: bool = True
    """Whether cleanup.policy has `delete`."""
    retention_ms: int = -1
    retention_bytes: int = -1


class Kept(NamedTuple):
    """The state of a log that retention checks."""

    start: int
    hw: int
    end: int
    segments: tuple[tuple[int, int, int], ...]
    """(base offset, bytes, latest timestamp in ms) of each segment."""


def right_roll(limits: RollLimits, segment: Active, batch: Batch, now_ms: int) -> str | None:
    """Return the reason why the segment cannot take the batch (LogSegment.should_roll), or None."""
    entries, most = segment.offset_index
    timed, most_timed = segment.time_index
    stands_for = SimpleNamespace(
        base_offset=segment.base,
        created_ms=segment.created_ms,
        size=segment.size,
        log=SimpleNamespace(size=lambda: segment.size),
        offset_index=SimpleNamespace(entries=entries, max_entries=most),
        time_index=SimpleNamespace(is_full=timed >= most_timed - 1),
        _rolling_based_timestamp=segment.first_ms,
    )
    stands_for._time_waited_for_roll = lambda latest, now: LogSegment._time_waited_for_roll(
        cast(Any, stands_for), latest, now
    )
    return LogSegment.should_roll(
        cast(Any, stands_for),
        batch.size,
        batch.latest_ms,
        batch.last_offset,
        now_ms,
        limits.segment_bytes,
        limits.segment_ms,
    )


def right_take(limits: Keep, log: Kept, now_ms: int) -> tuple[str, ...]:
    """Return a reason for each segment that is deleted, the oldest first (`deletable_segments`)."""
    segments = [
        SimpleNamespace(base_offset=base, size=size, largest_timestamp=latest)
        for base, size, latest in log.segments
    ]
    reasons = deletable_segments(
        cast(Any, segments), log.start, log.hw, log.end, cast(Any, limits), now_ms
    )
    return tuple(_NAMES[reason] for reason in reasons)
