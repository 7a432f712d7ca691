"""The limits of a log, and what will happen to it next: the segment that retention deletes, the
next roll, and the files that wait for their removal (spec S3, M1).

A forecast is right as long as nothing is appended. Forecasts are computed for the log screen only,
with the rules of `log_retention` and `LogSegment.should_roll`. A forecast contains times on the
clock, not remaining times. So `ForecastSampler` makes a new forecast only when the log has changed.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_edu.log.log import Log
from kafka_edu.log.log_config import COMPACT, DELETE, LogConfig
from kafka_edu.log.log_retention import BY_SIZE, BY_START, BY_TIME
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.trace.events.log import DoomedSegment, LogForecast

NEVER: Final = -1
"""Stands for the time of an event that will not happen, or whose time is not known."""
LEAST_INTERVAL_MS: Final = 1000
"""The shortest time in ms between two forecasts of a log that only grows."""


class NextDeletion(NamedTuple):
    """The time and the reason of the oldest segment's deletion."""

    at_ms: int
    """The time at which retention may delete the segment, in ms since 1970.

    0 means: at the next check of retention. NEVER means: not before more records come or a setting
    changes.
    """
    reason: str
    """One of the reasons of `log_retention`; empty if the segment stays."""


def next_deletion(
    segments: Sequence[LogSegment],
    log_start_offset: int,
    high_watermark: int,
    log_end_offset: int,
    config: LogConfig,
) -> NextDeletion:
    """Return when and why the oldest segment will be deleted. O(segments)."""
    oldest, alone = segments[0], len(segments) == 1
    end = log_end_offset if alone else segments[1].base_offset
    if end > high_watermark or (alone and oldest.size == 0):
        return NextDeletion(NEVER, "")  # not committed yet, or empty
    if end <= log_start_offset and not alone:
        return NextDeletion(0, BY_START)
    if config.delete and 0 <= config.retention_bytes <= sum(one.size for one in segments[1:]):
        return NextDeletion(0, BY_SIZE)
    if config.delete and config.retention_ms >= 0:
        return NextDeletion(oldest.largest_timestamp + config.retention_ms + 1, BY_TIME)
    return NextDeletion(NEVER, "")


def forecast(log: Log, doomed: Sequence[DoomedSegment]) -> LogForecast:
    """Return the forecast of a log.

    `doomed` are its segments whose files wait for their removal. O(segments).
    """
    config, segments = log.config, log.segments
    try:
        deletion = next_deletion(
            segments, log.log_start_offset, log.high_watermark, log.log_end_offset, config
        )
        newest_ms = segments[0].largest_timestamp if segments[0].size else NEVER
        rolls_at_ms = segments.active.rolls_at_ms(log.roll_ms)
    except OSError:  # the next request that touches the disk takes the log dir offline
        deletion, newest_ms, rolls_at_ms = NextDeletion(NEVER, ""), NEVER, NEVER
    return LogForecast(
        topic=log.topic_partition.topic,
        partition=log.topic_partition.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        policy=",".join(
            name for name, on in ((COMPACT, config.compact), (DELETE, config.delete)) if on
        ),
        oldest_base=segments[0].base_offset,
        newest_record_ms=newest_ms,
        deletes_at_ms=deletion.at_ms,
        reason=deletion.reason,
        retention_bytes=config.retention_bytes if config.delete else NEVER,
        roll_bytes=config.segment_bytes,
        rolls_at_ms=rolls_at_ms,
        doomed=tuple(doomed),
    )


class _Sampled(NamedTuple):
    """The values on which a forecast depends, and the monotonic ms at which it was made."""

    segments: tuple[object, ...]
    """The values whose changes are shown at once: segments, settings, files to be removed."""
    end: tuple[int, int, int]
    """The values that every append changes. Their changes are shown once a second."""
    at_ms: int


class ForecastSampler:
    """Makes forecasts of the logs that have changed since the last sample."""

    def __init__(self) -> None:
        self._known: dict[Log, _Sampled] = {}

    def sample(self, log: Log, doomed: Sequence[DoomedSegment], now_ms: int) -> LogForecast | None:
        """Return a forecast, or None if the log has not changed since the last sample. O(1) in the
        second case.

        `now_ms` is monotonic.
        """
        segments = log.segments
        structure = (segments.first_base, segments.active, log.log_start_offset, log.config, doomed)
        end = (log.log_end_offset, log.high_watermark, log.last_stable_offset)
        known = self._known.get(log)
        is_young = known is not None and now_ms - known.at_ms < LEAST_INTERVAL_MS
        if known is not None and known.segments == structure and (known.end == end or is_young):
            return None
        self._known[log] = _Sampled(structure, end, now_ms)
        return forecast(log, doomed)

    def forget(self, log: Log) -> None:
        """Forget a log that is gone."""
        self._known.pop(log, None)
