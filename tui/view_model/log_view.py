"""The state of the Log screen: the segments of each replica's log, the log's limits, and the last
and next work of retention and of the cleaner.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.words import joined
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.log import (
    ActiveSegment,
    CleanerForecast,
    CleaningGivenUp,
    CleaningStarted,
    LogCleaned,
    LogCreated,
    LogDeleted,
    LogDirFailed,
    LogFlushed,
    LogForecast,
    LogNotCleanable,
    LogStartOffsetIncremented,
    LogState,
    LogTruncated,
    SegmentDeleted,
    SegmentFilesRemoved,
    SegmentRolled,
    SegmentsCleaned,
    SegmentState,
)
from kafka_edu.trace.events.replication import ReplicaMoveCompleted
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds

from .figures import old
from .partition_view import PartitionKey, is_internal

SEGMENT_EVENTS: Final = (
    LogState,
    LogForecast,
    ActiveSegment,
    LogCreated,
    LogDeleted,
    LogTruncated,
    LogFlushed,
    LogStartOffsetIncremented,
    SegmentRolled,
    SegmentDeleted,
    SegmentFilesRemoved,
    ReplicaMoveCompleted,
)
CLEANER_EVENTS: Final = (
    CleanerForecast,
    CleaningStarted,
    CleaningGivenUp,
    SegmentsCleaned,
    LogCleaned,
    LogNotCleanable,
)
_ENDS: Final = (LogDeleted, SegmentFilesRemoved, CleaningGivenUp)
"""Facts that may arrive after the log is gone. They must not add the log to the view again."""
_LEFT_ALONE: Final = "left alone"
"""The state of a log that the cleaner could not clean. A restarted broker tries it again."""
UNKNOWN: Final = -1
"""The value of a number that no event has reported."""
NO_CLEANING: Final = -1


class LogName(NamedTuple):
    """One replica's log."""

    broker: int
    key: PartitionKey


class Pass(NamedTuple):
    """The result of one pass of the cleaner over a log."""

    at_us: int
    bytes_before: int
    bytes_after: int
    records_before: int
    superseded: int
    tombstones: int
    aborted: int
    markers: int
    without_key: int

    @property
    def gone(self) -> int:
        """Return how many records the pass removed."""
        return self.superseded + self.tombstones + self.aborted + self.markers + self.without_key


class LogView:
    """One log. Numbers are UNKNOWN until an event has reported them."""

    def __init__(self, name: LogName) -> None:
        self.name = name
        self.log_dir = ""
        self.failed = ""
        """The reason why the log's dir failed, or "" if it did not."""
        self.segments: dict[int, SegmentState] = {}
        """Base offset → the segment, in ascending order. The last segment is active."""
        self.ghosts: dict[int, int] = {}
        """Base offset → bytes, for segments that have left the log but whose files still exist."""
        self.log_start = UNKNOWN
        self.recovery_point = UNKNOWN
        self.log_end = UNKNOWN
        self.sampled = False
        """Whether a sample or a snapshot has reported the log's size and end. Appends are not
        facts, so both are unknown as long as there are only facts.
        """
        self.forecast: LogForecast | None = None
        self.cleaner: CleanerForecast | None = None
        self.cleaning_since_us = NO_CLEANING
        self.cleaned: list[SegmentsCleaned] = []
        """The results of the running pass of the cleaner so far."""
        self.last_pass: Pass | None = None
        self.trouble = ""
        """The reason why the cleaner does not clean the log, or "" if there is none."""
        self.news: Envelope | None = None
        """The last fact that changed the segments."""

    @property
    def key(self) -> PartitionKey:
        return self.name.key

    @property
    def size(self) -> int:
        """Return the bytes of all segments. O(segments)."""
        return sum(segment.size for segment in self.segments.values())

    @property
    def internal(self) -> bool:
        return is_internal(self.name.key.topic)

    def dirty_percent(self) -> int:
        """Return the dirty share of the bytes that may be cleaned, in percent, or UNKNOWN."""
        if self.cleaner is None:
            return UNKNOWN
        whole = self.cleaner.clean_bytes + self.cleaner.dirty_bytes
        return round(100 * self.cleaner.dirty_bytes / whole) if whole else 0

    def put(self, segment: SegmentState) -> None:
        """Add or replace a segment."""
        is_new = segment.base_offset not in self.segments
        self.segments[segment.base_offset] = segment
        if is_new and len(self.segments) > 1:
            self.segments = dict(sorted(self.segments.items()))


class LogsView:
    """All logs of all brokers. They change only through `apply`."""

    READS: Final = frozenset(
        {*SEGMENT_EVENTS, *CLEANER_EVENTS, LogDirFailed, SnapshotBegins, SnapshotEnds}
    )
    """The types of event that change this view."""

    def __init__(self) -> None:
        self.by_name: dict[LogName, LogView] = {}
        self.now_us = 0
        self._wall_ahead_us = 0
        self._in_snapshot: dict[int, set[LogName]] = {}
        """Broker → the logs in its snapshot that is being received."""

    @property
    def now_ms(self) -> int:
        """Return the brokers' time of day, in ms since 1970."""
        return (self.now_us + self._wall_ahead_us) // 1000

    def advance(self, now_us: int) -> None:
        """Move time forward, never back."""
        self.now_us = max(self.now_us, now_us)

    def of_broker(self, broker: int) -> list[LogView]:
        """Return a broker's logs, sorted by name. Internal topics come last. O(logs)."""
        return sorted(
            (log for name, log in self.by_name.items() if name.broker == broker),
            key=lambda log: (log.internal, log.name.key),
        )

    def brokers(self) -> list[int]:
        """Return the brokers with at least one known log."""
        return sorted({name.broker for name in self.by_name})

    def __getitem__(self, name: LogName) -> LogView:
        if name not in self.by_name:
            self.by_name[name] = LogView(name)
        return self.by_name[name]

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event.

        O(1). An event that describes a whole log takes O(segments), and the end of a snapshot
        O(logs).
        """
        broker, event = envelope.broker, envelope.event
        if broker is None:
            return
        self._wall_ahead_us = envelope.wall_ms * 1000 - envelope.mono_us
        match event:
            case SnapshotBegins():
                self._in_snapshot[broker] = set()
            case SnapshotEnds():
                self._forget_others(broker)
            case LogDirFailed():
                for name, log in self.by_name.items():
                    if name.broker == broker and log.log_dir == event.log_dir:
                        log.failed, log.news = event.reason, envelope
            case _ if isinstance(event, (*SEGMENT_EVENTS, *CLEANER_EVENTS)):
                name = LogName(broker, PartitionKey(event.topic, event.partition))
                if name in self.by_name or not isinstance(event, _ENDS):
                    self._log_event(self[name], envelope)
            case _:
                pass

    def _log_event(self, log: LogView, envelope: Envelope) -> None:
        if isinstance(envelope.event, SEGMENT_EVENTS):
            self._segment_event(log, envelope)
        else:
            self._cleaner_event(log, envelope)

    def _segment_event(self, log: LogView, envelope: Envelope) -> None:
        match envelope.event:
            case LogState() as e:
                self._in_snapshot.get(log.name.broker, set()).add(log.name)
                log.sampled = True
                log.log_dir, log.failed = e.log_dir, ""
                log.log_start, log.recovery_point = e.log_start_offset, e.recovery_point
                log.log_end = e.log_end_offset
                log.segments = {segment.base_offset: segment for segment in e.segments}
                log.ghosts.clear()  # the snapshot's forecast lists those that still exist
            case LogForecast() as e:
                log.forecast = e
                log.log_end = max(log.log_end, e.high_watermark)
                log.ghosts = {one.base_offset: one.size for one in e.doomed}
            case ActiveSegment() as e:
                log.sampled = True
                log.log_end = e.log_end_offset
                log.put(e.segment)
            case LogCreated() as e:
                self.by_name[log.name] = fresh = LogView(log.name)
                fresh.log_dir, fresh.news = e.log_dir, envelope
                fresh.log_start = fresh.recovery_point = fresh.log_end = 0
                fresh.put(SegmentState(0, 0, 0, 0))
            case LogDeleted():
                del self.by_name[log.name]
            case LogTruncated() as e:
                self._truncated(log, e)
                log.news = envelope
            case LogFlushed() as e:
                log.recovery_point = e.recovery_point
            case LogStartOffsetIncremented() as e:
                log.log_start = e.to_offset
            case SegmentRolled() as e:
                closed = log.segments.get(e.closed_base_offset)
                if closed is not None:
                    log.put(closed._replace(size=e.closed_bytes))
                log.put(SegmentState(e.base_offset, 0, 0, 0))
                log.news = envelope
            case SegmentDeleted() as e:
                log.segments.pop(e.base_offset, None)
                log.ghosts[e.base_offset] = e.size
                log.news = envelope
            case SegmentFilesRemoved() as e:
                log.ghosts.pop(e.base_offset, None)
            case ReplicaMoveCompleted() as e:
                log.log_dir, log.failed = e.to_dir, ""
            case _:
                pass

    def _truncated(self, log: LogView, e: LogTruncated) -> None:
        """Drop the segments after the cut.

        The next sample brings the new size of the segment that was cut.
        """
        log.log_end = e.to_offset
        log.recovery_point = min(log.recovery_point, e.to_offset)
        log.segments = {
            base: one for base, one in log.segments.items() if base <= e.to_offset and not e.fully
        } or {e.to_offset: SegmentState(e.to_offset, 0, 0, 0)}
        if e.fully:
            log.log_start = e.to_offset

    def _cleaner_event(self, log: LogView, envelope: Envelope) -> None:
        match envelope.event:
            case CleanerForecast() as e:
                log.cleaner = e
                log.cleaning_since_us = (
                    max(log.cleaning_since_us, 0) if e.state == "being cleaned" else NO_CLEANING
                )
                if e.state != _LEFT_ALONE:
                    log.trouble = ""
                elif not log.trouble:
                    log.trouble = "a pass has failed"
            case CleaningStarted():
                log.cleaned.clear()
                log.cleaning_since_us = envelope.mono_us
            case SegmentsCleaned() as e:
                log.cleaned.append(e)
                self._joined(log, e)
                log.news = envelope
            case LogCleaned():
                self._ended(log, envelope)
            case CleaningGivenUp():
                log.cleaning_since_us = NO_CLEANING
            case LogNotCleanable() as e:
                log.trouble, log.news = e.reason, envelope
                log.cleaning_since_us = NO_CLEANING
            case _:
                pass

    def _joined(self, log: LogView, e: SegmentsCleaned) -> None:
        """Replace several segments by the one that the cleaner made from them."""
        from_there = [base for base in log.segments if base >= e.base_offset]
        for base in from_there[: e.segments]:
            old = log.segments.pop(base)
            log.ghosts[base] = old.size
        log.put(SegmentState(e.base_offset, e.bytes_after, UNKNOWN, UNKNOWN))

    def _ended(self, log: LogView, envelope: Envelope) -> None:
        groups = log.cleaned
        log.cleaning_since_us = NO_CLEANING
        log.last_pass = Pass(
            envelope.mono_us,
            sum(one.bytes_before for one in groups),
            sum(one.bytes_after for one in groups),
            sum(one.records_before for one in groups),
            sum(one.superseded for one in groups),
            sum(one.tombstones for one in groups),
            sum(one.aborted for one in groups),
            sum(one.markers for one in groups),
            sum(one.without_key for one in groups),
        )
        log.cleaned = []
        log.news = envelope

    def _forget_others(self, broker: int) -> None:
        """Forget those logs of a broker that its complete snapshot does not contain."""
        named = self._in_snapshot.pop(broker, None)
        if named is not None:
            self.by_name = {
                name: log
                for name, log in self.by_name.items()
                if name.broker != broker or name in named or log.failed
            }

    def answer(self, unheard: Mapping[int, int] | None = None) -> tuple[str, str]:
        """Return what happens to the logs next: a kind (`ok`, `warning` or `error`) and a sentence.

        `unheard` maps each broker whose samples are old to their age in µs. Such a broker may be
        dead or paused, so the future of its logs is not known.
        """
        if not self.by_name:
            return "ok", "no logs yet"
        logs = self.by_name.values()
        failed = min(((log.name.broker, log.log_dir) for log in logs if log.failed), default=None)
        if failed is not None:
            broker, log_dir = failed
            return "error", f"✕ a log dir of broker {broker} has failed: {log_dir}"
        troubled = next((log for log in logs if log.trouble), None)
        if troubled is not None:
            return "warning", (
                f"⚠ broker {troubled.name.broker} cannot compact {troubled.name.key}:"
                f" {troubled.trouble}"
            )
        unheard = {b: age for b, age in (unheard or {}).items() if b in self.brokers()}
        heard = [log for log in logs if log.name.broker not in unheard]
        silent = ""
        if unheard:
            whose = "broker" if len(unheard) == 1 else "brokers"
            silent = f"? {whose} {joined(sorted(unheard))}: {old(min(unheard.values()))}"
        if not heard:
            return "warning", f"{silent}, so what happens next is not known"
        words = self._next_words(heard)
        if silent or words.startswith("?"):
            return "warning", f"{words} · {silent}" if silent else words
        return "ok", words

    def _next_words(self, logs: Sequence[LogView]) -> str:
        cleaned = next((log for log in logs if log.cleaning_since_us != NO_CLEANING), None)
        if cleaned is not None:
            return f"broker {cleaned.name.broker} compacts {cleaned.name.key} now"
        due = next((log for log in logs if log.cleaner and log.cleaner.state == "due"), None)
        if due is not None:
            return (
                f"next: the cleaner of broker {due.name.broker} takes {due.name.key}, which"
                f" is {due.dirty_percent()} % dirty"
            )
        soonest = min(
            (
                (log.forecast.deletes_at_ms, log.name, log.forecast)
                for log in logs
                if log.forecast is not None and log.forecast.reason and not log.failed
            ),
            default=None,
        )
        if soonest is None and any(log.forecast is None and not log.failed for log in logs):
            return "? what happens next is not known: a broker has not said it yet"
        if soonest is None:
            return "no deletion or compaction is due"
        _, name, forecast = soonest
        return (
            f"next: {forecast.reason} takes the oldest segment of {name.key} on broker"
            f" {name.broker} {deletion_time(forecast, self.now_ms)}"
        )


def is_due(forecast: LogForecast, now_ms: int) -> bool:
    """Return whether retention will delete the oldest segment at its next check."""
    return bool(forecast.reason) and forecast.deletes_at_ms <= now_ms


def deletion_time(forecast: LogForecast, now_ms: int) -> str:
    """Return when retention deletes the oldest segment: `at its next look`, or `in 6 d 23 h`."""
    if is_due(forecast, now_ms):
        return "at its next look"
    return f"in {words_of(forecast.deletes_at_ms - now_ms)}"


def words_of(ms: int) -> str:
    """Return a time that is left, in words of at most two units: `6 d 23 h`, `41 min`, `22 s`."""
    seconds = max(ms, 0) // 1000
    days, hours = seconds // 86_400, seconds // 3600 % 24
    minutes = seconds // 60 % 60
    if days:
        return f"{days:,} d {hours} h" if hours and days < 100 else f"{days:,} d"
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min" if minutes >= 2 else f"{seconds} s"
