"""The Log screen's state: segments, limits, what is deleted next, and what was deleted."""

from typing import Any

import pytest

from kafka_edu.trace.event import Envelope, Event, Source
from kafka_edu.trace.events.log import (
    ActiveSegment,
    CleanerForecast,
    CleaningGivenUp,
    CleaningStarted,
    DoomedSegment,
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
from tui.view_model.log_view import (
    NO_CLEANING,
    UNKNOWN,
    LogName,
    LogsView,
    LogView,
    words_of,
)
from tui.view_model.partition_view import PartitionKey

NOW_MS = 1_600_000_000_000
WEB: Any = {"topic": "web", "partition": 0}
NAME = LogName(1, PartitionKey("web", 0))
STATE = LogState(
    **WEB,
    log_dir="/d",
    log_start_offset=10,
    recovery_point=20,
    log_end_offset=40,
    segments=(SegmentState(10, 900, 2, 2), SegmentState(30, 100, 0, 0)),
    leader_epochs=((0, 0),),
    producers=0,
)

PASS_BEGINS = CleaningStarted(
    **WEB, from_offset=10, to_offset=40, segments=2, clean_bytes=0, dirty_bytes=1400
)
BY_TIME = "next: retention by time takes the oldest segment of web-0 on broker 1"
BY_SIZE = "next: retention by size takes the oldest segment of web-0 on broker 1"


def rolled_at(offset: int) -> SegmentRolled:
    """Return the event that the segment of offset 30 is full, with 500 bytes."""
    return SegmentRolled(
        **WEB, base_offset=offset, reason="size", closed_base_offset=30, closed_bytes=500
    )


def forecast(at_ms: int = -1, reason: str = "", *doomed: DoomedSegment) -> LogForecast:
    return LogForecast(
        **WEB,
        high_watermark=40,
        last_stable_offset=40,
        policy="delete",
        oldest_base=10,
        newest_record_ms=NOW_MS,
        deletes_at_ms=at_ms,
        reason=reason,
        retention_bytes=-1,
        roll_bytes=1000,
        rolls_at_ms=NOW_MS + 5000,
        doomed=doomed,
    )


def cleaner(state: str, clean: int = 25, dirty: int = 75) -> CleanerForecast:
    return CleanerForecast(
        **WEB,
        first_dirty=10,
        first_uncleanable=30,
        clean_bytes=clean,
        dirty_bytes=dirty,
        due_above_bytes=50,
        state=state,
    )


class Watch:
    """A view that is sent events of broker 1, one a millisecond."""

    def __init__(self, *events: Event, broker: int = 1) -> None:
        self.view = LogsView()
        self.at_ms = 0
        self(*events, broker=broker)

    def __call__(self, *events: Event, broker: int = 1) -> "Watch":
        for event in events:
            self.at_ms += 1
            envelope = Envelope(
                Source.of_broker(broker), 1, 0, NOW_MS + self.at_ms, self.at_ms * 1000, event
            )
            self.view.apply(envelope)
            self.view.advance(envelope.mono_us)
        return self

    @property
    def log(self) -> LogView:
        return self.view.by_name[NAME]


@pytest.fixture
def watch() -> Watch:
    """Return a view that knows one log: `web-0` of broker 1, with two segments."""
    return Watch(STATE)


def sizes(log: LogView) -> dict[int, int]:
    return {base: segment.size for base, segment in log.segments.items()}


def test_a_snapshot_and_samples_give_the_segments_and_the_limits() -> None:
    watch = Watch(SnapshotBegins(as_of=1), STATE, forecast(), SnapshotEnds(events=1))
    assert sizes(watch.log) == {10: 900, 30: 100}
    assert (watch.log.size, watch.log.log_start, watch.log.recovery_point) == (1000, 10, 20)
    watch(
        ActiveSegment(**WEB, log_end_offset=50, segment=SegmentState(30, 300, 1, 1)),
        LogFlushed(**WEB, recovery_point=45),
    )
    watch(
        rolled_at(60),
        LogStartOffsetIncremented(**WEB, from_offset=10, to_offset=12),
    )
    assert sizes(watch.log) == {10: 900, 30: 500, 60: 0}
    assert (watch.log.log_end, watch.log.recovery_point, watch.log.log_start) == (50, 45, 12)


def test_a_deleted_segment_is_a_ghost_until_its_files_are_gone(watch: Watch) -> None:
    watch(SegmentDeleted(**WEB, base_offset=10, size=900, reason="retention by size"))
    assert (sizes(watch.log), watch.log.ghosts) == ({30: 100}, {10: 900})
    watch(forecast(-1, "", DoomedSegment(10, 900, NOW_MS + 60_000)))
    assert watch.log.ghosts == {10: 900}
    watch(SegmentFilesRemoved(**WEB, base_offset=10))
    assert watch.log.ghosts == {}


def test_a_log_that_is_gone_stays_gone_when_its_last_files_go(watch: Watch) -> None:
    watch(
        LogDeleted(**WEB, folder="web-0.1-delete"),
        SegmentFilesRemoved(**WEB, base_offset=10),
        CleaningGivenUp(**WEB, reason="the log was deleted"),
    )
    assert not watch.view.by_name


def test_a_log_that_moved_is_in_its_new_dir(watch: Watch) -> None:
    watch(
        ReplicaMoveCompleted(
            **WEB, from_dir="/d", to_dir="/e", log_end_offset=40, copied_bytes=1000, took_ms=5
        ),
    )
    watch(LogDirFailed(log_dir="/d", reason="disk error"))
    assert (watch.log.log_dir, watch.log.failed) == ("/e", "")


def test_a_truncation_drops_what_is_behind_the_cut(watch: Watch) -> None:
    watch(LogTruncated(**WEB, from_offset=40, to_offset=25, bytes=300, fully=False))
    assert (list(watch.log.segments), watch.log.log_end) == ([10], 25)
    assert watch.log.recovery_point == 20
    watch(LogTruncated(**WEB, from_offset=25, to_offset=100, bytes=900, fully=True))
    assert (sizes(watch.log), watch.log.log_start, watch.log.log_end) == ({100: 0}, 100, 100)


def test_a_pass_of_the_cleaner_joins_segments_and_counts_what_is_gone(watch: Watch) -> None:
    watch(rolled_at(40), cleaner("due"))
    assert watch.log.dirty_percent() == 75
    watch(PASS_BEGINS)
    assert watch.log.cleaning_since_us > 0
    assert watch.view.answer() == ("ok", "broker 1 compacts web-0 now")
    watch(
        SegmentsCleaned(
            **WEB,
            base_offset=10,
            segments=2,
            bytes_before=1400,
            bytes_after=200,
            records_before=30,
            superseded=20,
            tombstones=1,
            aborted=2,
            markers=3,
            without_key=0,
        ),
        LogCleaned(
            **WEB,
            from_offset=10,
            to_offset=40,
            segments_before=2,
            segments_after=1,
            bytes_before=1400,
            bytes_after=200,
            keys=9,
            took_ms=12,
        ),
    )
    assert sizes(watch.log) == {10: 200, 40: 0}
    assert watch.log.segments[10].index_entries == UNKNOWN, "no event has said it"
    assert watch.log.ghosts == {10: 900, 30: 500}
    done = watch.log.last_pass
    assert done is not None
    assert (done.gone, done.records_before, done.bytes_after) == (26, 30, 200)
    assert watch.log.cleaning_since_us == NO_CLEANING


def test_a_pass_that_was_given_up_counts_for_nothing(watch: Watch) -> None:
    watch(PASS_BEGINS, CleaningGivenUp(**WEB, reason="the log was deleted"))
    assert (watch.log.cleaning_since_us, watch.log.last_pass) == (NO_CLEANING, None)
    watch(PASS_BEGINS, LogNotCleanable(**WEB, reason="a batch is corrupt"))
    assert watch.view.answer() == (
        "warning",
        "⚠ broker 1 cannot compact web-0: a batch is corrupt",
    )
    watch(cleaner("left alone"))
    assert watch.log.trouble == "a batch is corrupt"
    watch(cleaner("due"))
    assert not watch.log.trouble, "the broker has started again, and tries it again"


def test_a_log_that_was_left_alone_before_anybody_looked_is_a_warning(watch: Watch) -> None:
    watch(cleaner("left alone"))
    assert watch.view.answer() == ("warning", "⚠ broker 1 cannot compact web-0: a pass has failed")


def test_a_log_that_a_whole_snapshot_does_not_name_is_gone(watch: Watch) -> None:
    watch(STATE, broker=2)
    watch(LogCreated(topic="new", partition=3, log_dir="/d"))
    assert len(watch.view.by_name) == 3
    watch(SnapshotBegins(as_of=1), STATE, SnapshotEnds(events=1))
    assert set(watch.view.by_name) == {NAME, NAME._replace(broker=2)}
    watch(LogDeleted(**WEB, folder="web-0.1-delete"))
    assert watch.view.brokers() == [2]


def test_a_dir_that_fails_is_the_answer_before_all_others(watch: Watch) -> None:
    watch(cleaner("due"), LogDirFailed(log_dir="/other", reason="disk error"))
    assert watch.log.failed == ""
    watch(LogDirFailed(log_dir="/d", reason="No space left on device"))
    assert watch.log.failed == "No space left on device"
    assert watch.view.answer() == ("error", "✕ a log dir of broker 1 has failed: /d")
    watch(SnapshotBegins(as_of=1), SnapshotEnds(events=1))
    assert watch.log.failed, "it stays on the screen, though its broker does not name it any more"


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((forecast(),), "no deletion or compaction is due"),
        ((forecast(NOW_MS + 60_000 + 41 * 60_000, "retention by time"),), f"{BY_TIME} in 41 min"),
        ((forecast(0, "retention by size"),), f"{BY_SIZE} at its next look"),
        ((forecast(NOW_MS - 1, "retention by time"),), f"{BY_TIME} at its next look"),
        (
            (forecast(0, "retention by size"), cleaner("due")),
            "next: the cleaner of broker 1 takes web-0, which is 75 % dirty",
        ),
    ],
)
def test_the_answer_says_what_goes_next(
    watch: Watch, events: tuple[Event, ...], words: str
) -> None:
    watch(*events)
    watch.view.advance(60_000_000)
    assert watch.view.answer() == ("ok", words)


def test_what_happens_next_is_not_known_before_the_broker_says_it(watch: Watch) -> None:
    unknown = "? what happens next is not known: a broker has not said it yet"
    assert watch.view.answer() == ("warning", unknown)


def test_what_happens_next_to_the_logs_of_a_silent_broker_is_not_known(watch: Watch) -> None:
    watch(forecast(0, "retention by size"))
    silent = {1: 9_000_000, 7: 9_000_000}
    words = "? broker 1: 9.0 s old, so what happens next is not known"
    assert watch.view.answer(silent) == ("warning", words)
    watch(STATE, forecast(), broker=2)
    words = "no deletion or compaction is due · ? broker 1: 9.0 s old"
    assert watch.view.answer(silent) == ("warning", words)
    assert watch.view.answer({7: 9_000_000})[0] == "ok", "it has no log"


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (-5, "0 s"),
        (22_999, "22 s"),
        (119_000, "119 s"),
        (41 * 60_000, "41 min"),
        (2 * 3_600_000, "2 h"),
        (2 * 3_600_000 + 60_000, "2 h 1 min"),
        (7 * 86_400_000 - 1, "6 d 23 h"),
        (400 * 86_400_000, "400 d"),
    ],
)
def test_a_time_that_is_left_in_words(ms: int, words: str) -> None:
    assert words_of(ms) == words
