"""The Log screen's state: segments, limits, what goes next and what has gone."""

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
T, P = "web", 0
NAME = LogName(1, PartitionKey(T, P))
STATE = LogState(
    topic=T,
    partition=P,
    log_dir="/d",
    log_start_offset=10,
    recovery_point=20,
    log_end_offset=40,
    segments=(SegmentState(10, 900, 2, 2), SegmentState(30, 100, 0, 0)),
    leader_epochs=((0, 0),),
    producers=0,
)


def forecast(at_ms: int = -1, reason: str = "", *doomed: DoomedSegment) -> LogForecast:
    return LogForecast(
        topic=T,
        partition=P,
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
        topic=T,
        partition=P,
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


def sizes(log: LogView) -> dict[int, int]:
    return {base: segment.size for base, segment in log.segments.items()}


def test_a_snapshot_and_samples_give_the_segments_and_the_limits() -> None:
    watch = Watch(SnapshotBegins(as_of=1), STATE, forecast(), SnapshotEnds(events=1))
    assert sizes(watch.log) == {10: 900, 30: 100}
    assert (watch.log.size, watch.log.log_start, watch.log.recovery_point) == (1000, 10, 20)
    watch(
        ActiveSegment(topic=T, partition=P, log_end_offset=50, segment=SegmentState(30, 300, 1, 1)),
        LogFlushed(topic=T, partition=P, recovery_point=45),
    )
    watch(
        SegmentRolled(
            topic=T,
            partition=P,
            base_offset=60,
            reason="size",
            closed_base_offset=30,
            closed_bytes=500,
        ),
        LogStartOffsetIncremented(topic=T, partition=P, from_offset=10, to_offset=12),
    )
    assert sizes(watch.log) == {10: 900, 30: 500, 60: 0}
    assert (watch.log.log_end, watch.log.recovery_point, watch.log.log_start) == (50, 45, 12)


def test_a_deleted_segment_is_a_ghost_until_its_files_are_gone() -> None:
    watch = Watch(
        STATE,
        SegmentDeleted(topic=T, partition=P, base_offset=10, size=900, reason="retention by size"),
    )
    assert (sizes(watch.log), watch.log.ghosts) == ({30: 100}, {10: 900})
    watch(forecast(-1, "", DoomedSegment(10, 900, NOW_MS + 60_000)))
    assert watch.log.ghosts == {10: 900}
    watch(SegmentFilesRemoved(topic=T, partition=P, base_offset=10))
    assert watch.log.ghosts == {}


def test_a_truncation_drops_what_is_behind_the_cut() -> None:
    watch = Watch(
        STATE,
        LogTruncated(topic=T, partition=P, from_offset=40, to_offset=25, bytes=300, fully=False),
    )
    assert (list(watch.log.segments), watch.log.log_end) == ([10], 25)
    assert watch.log.recovery_point == 20
    watch(LogTruncated(topic=T, partition=P, from_offset=25, to_offset=100, bytes=900, fully=True))
    assert (sizes(watch.log), watch.log.log_start, watch.log.log_end) == ({100: 0}, 100, 100)


def test_a_pass_of_the_cleaner_joins_segments_and_counts_what_is_gone() -> None:
    watch = Watch(
        STATE,
        SegmentRolled(
            topic=T,
            partition=P,
            base_offset=40,
            reason="size",
            closed_base_offset=30,
            closed_bytes=500,
        ),
        cleaner("due"),
    )
    assert watch.log.dirty_percent() == 75
    watch(
        CleaningStarted(
            topic=T,
            partition=P,
            from_offset=10,
            to_offset=40,
            segments=2,
            clean_bytes=0,
            dirty_bytes=1400,
        )
    )
    assert watch.log.cleaning_since_us > 0
    assert watch.view.answer() == ("ok", "broker 1 compacts web-0 now")
    watch(
        SegmentsCleaned(
            topic=T,
            partition=P,
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
            topic=T,
            partition=P,
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


def test_a_pass_that_was_given_up_counts_for_nothing() -> None:
    watch = Watch(
        STATE,
        CleaningStarted(
            topic=T,
            partition=P,
            from_offset=10,
            to_offset=40,
            segments=2,
            clean_bytes=0,
            dirty_bytes=1400,
        ),
    )
    watch(CleaningGivenUp(topic=T, partition=P, reason="the log was deleted"))
    assert (watch.log.cleaning_since_us, watch.log.last_pass) == (NO_CLEANING, None)
    watch(
        CleaningStarted(
            topic=T,
            partition=P,
            from_offset=10,
            to_offset=40,
            segments=2,
            clean_bytes=0,
            dirty_bytes=1400,
        ),
        LogNotCleanable(topic=T, partition=P, reason="a batch is corrupt"),
    )
    assert watch.view.answer() == (
        "warning",
        "⚠ broker 1 cannot compact web-0: a batch is corrupt",
    )


def test_a_log_that_a_whole_snapshot_does_not_name_is_gone() -> None:
    watch = Watch(STATE)
    watch(STATE, broker=2)
    watch(LogCreated(topic="new", partition=3, log_dir="/d"))
    assert len(watch.view.by_name) == 3
    watch(SnapshotBegins(as_of=1), STATE, SnapshotEnds(events=1))
    assert set(watch.view.by_name) == {NAME, NAME._replace(broker=2)}
    watch(LogDeleted(topic=T, partition=P, folder="web-0.1-delete"))
    assert watch.view.brokers() == [2]


def test_a_dir_that_fails_is_the_answer_before_all_others() -> None:
    watch = Watch(STATE, cleaner("due"), LogDirFailed(log_dir="/other", reason="disk error"))
    assert watch.log.failed == ""
    watch(LogDirFailed(log_dir="/d", reason="No space left on device"))
    assert watch.log.failed == "No space left on device"
    assert watch.view.answer() == ("error", "✕ a log dir of broker 1 has failed: /d")
    watch(SnapshotBegins(as_of=1), SnapshotEnds(events=1))
    assert watch.log.failed, "it stays on the screen, though its broker does not name it any more"


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((STATE, forecast()), "nothing will be deleted or compacted as things stand"),
        (
            (STATE, forecast(NOW_MS + 60_000 + 41 * 60_000, "retention by time")),
            "next: retention by time takes the oldest segment of web-0 on broker 1 in 41 min",
        ),
        (
            (STATE, forecast(0, "retention by size")),
            "next: retention by size takes the oldest segment of web-0 on broker 1 at its next"
            " look",
        ),
        (
            (STATE, forecast(0, "retention by size"), cleaner("due")),
            "next: the cleaner of broker 1 takes web-0, which is 75 % dirty",
        ),
    ],
)
def test_the_answer_says_what_goes_next(events: tuple[Event, ...], words: str) -> None:
    watch = Watch(*events)
    watch.view.advance(60_000_000)
    assert watch.view.answer() == ("ok", words)


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
