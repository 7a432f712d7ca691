"""The words of "why is it still waiting?", and the counts of what ended other waiting
operations.
"""

from collections import Counter

from kafka_edu.common.log_histogram import bucket_at
from kafka_edu.instruments.waiting import (
    WINDOW_US,
    Ended,
    Missing,
    RecentlyEnded,
    leaves_isr_ms,
    missing,
    needed,
    patience,
    since,
    title,
    what_would_finish,
)
from kafka_edu.trace.events.purgatory import (
    WAIT_SUB_BITS,
    EndedBy,
    ReplicaProgress,
    Requirement,
    WaitingOperation,
)

NOW_MS = 1_000_000
STEP_US = 100_000


def waits(need: Requirement, left_ms: int = 29_600) -> WaitingOperation:
    return WaitingOperation(
        purgatory="Produce",
        operation=7,
        label="produce web-0",
        keys=("web-0",),
        age_ms=400,
        deadline_ms=NOW_MS + left_ms,
        why=(need,),
        client="kcat",
        correlation_id=88,
    )


def produce(min_isr: int = 1, caught_up_ms: int = NOW_MS - 5_500) -> Requirement:
    return Requirement(
        subject="web-0",
        needs="high watermark",
        at_least=81_262,
        have=81_240,
        holders=(("broker 0", 81_262), ("broker 1", 81_262), ("broker 2", 81_240)),
        replicas=(
            ReplicaProgress(1, 81_262, NOW_MS - 4, NOW_MS - 4),
            ReplicaProgress(2, 81_240, NOW_MS - 5_200, caught_up_ms),
        ),
        isr_check_ms=NOW_MS + 4_600,
        max_lag_ms=10_000,
        min_isr=min_isr,
    )


def test_a_produce_names_the_broker_that_is_missing_and_both_ways_out() -> None:
    operation = waits(produce())
    assert title(operation) == "produce web-0 from kcat #88"
    assert needed(operation.why[0]) == "web-0: HW ≥ 81,262, is 81,240"
    assert missing(operation.why[0]) == [Missing(2, 22, NOW_MS - 5_200)]
    assert since(missing(operation.why[0])[0], NOW_MS) == "last fetch 5.2 s ago"
    assert what_would_finish(operation, NOW_MS) == [
        "broker 2 fetches 22 records of web-0, or leaves the ISR (check in 4.6 s, every 5.0 s; or"
        " its session expires)",
        "the deadline in 30 s: REQUEST_TIMED_OUT, but the records stay",
    ]


def test_it_says_that_leaving_the_isr_ends_in_an_error_below_min_insync_replicas() -> None:
    [sentence, _] = what_would_finish(waits(produce(min_isr=3)), NOW_MS)
    assert sentence.endswith("then an error, because min.insync.replicas is 3")
    [sentence, _] = what_would_finish(waits(produce(min_isr=2)), NOW_MS)
    assert "error" not in sentence, "two are left"


def test_the_check_that_drops_a_replica_is_the_first_after_replica_lag_time_max_ms() -> None:
    def leaves_in(caught_up_ms: int) -> int:
        need = produce(caught_up_ms=caught_up_ms)
        return leaves_isr_ms(need.replicas[1], need) - NOW_MS

    assert leaves_in(NOW_MS - 60_000) == 4_600, "never before the next check"
    assert leaves_in(NOW_MS - 5_401) == 4_600, "10,001 ms ago by then"
    assert leaves_in(NOW_MS - 5_400) == 9_600, "10,000 ms are not more than 10,000 ms"
    assert leaves_in(NOW_MS) == 14_600
    unknown = produce()._replace(isr_check_ms=0)
    assert leaves_isr_ms(unknown.replicas[1], unknown) == 0
    [sentence, _] = what_would_finish(waits(unknown), NOW_MS)
    assert sentence.endswith("or leaves the ISR (a check every 5.0 s; or its session expires)")


def test_a_requirement_of_an_older_recording_still_names_the_broker() -> None:
    old = Requirement("web-0", "high watermark", 5, 3, (("broker 0", 5), ("broker 2", -1)))
    assert missing(old) == [Missing(2, 5, None)]
    assert what_would_finish(waits(old), NOW_MS)[0] == (
        "broker 2 fetches 5 records of web-0, or leaves the ISR"
    )
    assert since(missing(old)[0], NOW_MS) == ""
    assert since(Missing(2, 5, -1), NOW_MS) == "no fetch in this leader epoch"


def test_a_fetch_waits_for_bytes_and_its_deadline_is_no_error() -> None:
    need = Requirement("a consumer", "bytes up to the high watermark", 1_000, 200, (("web-0", 9),))
    assert what_would_finish(waits(need, left_ms=300), NOW_MS) == [
        "800 B more are committed in web-0: written, and fetched by the ISR",
        "the deadline in 300 ms: then it sends what there is",
    ]
    need = Requirement("follower 2", "bytes up to the log end", 1, 0, (("web-0", 9), ("web-1", 3)))
    assert what_would_finish(waits(need), NOW_MS)[0] == (
        "a producer writes 1 B more to web-0, web-1"
    )


def test_members_that_are_missing_are_named() -> None:
    need = Requirement("shop", "members joined", 3, 2, (("reader-1", 0),))
    first, last = what_would_finish(waits(need), NOW_MS)
    assert first == "JoinGroup comes from reader-1, or they leave the group"
    assert last == "the deadline in 30 s: then the group continues without the missing members"
    delay = Requirement("shop", "more members, until the delay is over", 0, 2)
    assert what_would_finish(waits(delay, left_ms=2_000), NOW_MS) == [
        "only the time: in 2.0 s the group begins with the members that it has"
    ]


def test_any_other_requirement_still_has_words() -> None:
    need = Requirement("x", "a thing to come", 4, 1)
    assert what_would_finish(waits(need), NOW_MS)[0] == "x gets 3 more a thing to come"
    assert needed(need) == "x: a thing to come ≥ 4, has 1"
    nothing = waits(need)._replace(why=(), client="", correlation_id=-1)
    assert title(nothing) == "produce web-0"
    assert what_would_finish(nothing, NOW_MS) == ["the deadline in 30 s: REQUEST_TIMED_OUT"]


def test_the_bar_to_the_deadline() -> None:
    operation = waits(produce(), left_ms=1_200)
    assert patience(operation, NOW_MS) == 0.25
    assert patience(operation, NOW_MS + 60_000) == 1.0
    assert patience(operation._replace(age_ms=0, deadline_ms=NOW_MS), NOW_MS) == 1.0


def typical(*waits_ms: int) -> int:
    """Return the typical wait as a broker's counts give it."""
    counts = Counter(bucket_at(ms, WAIT_SUB_BITS) for ms in waits_ms)
    recent = RecentlyEnded()
    recent.sample([EndedBy("time-out", (), tuple(sorted(counts.items())))], 0)
    return recent.recent(0)[0].typical_ms


def test_the_typical_wait_is_the_median_within_two_percent() -> None:
    assert typical(500, 500, 501, 502) == 500, "a fetch that waits for replica.fetch.wait.max.ms"
    assert typical(0, 0, 0, 30_000) == 0, "one slow wait moves no median"
    assert typical(7, 7, 7) == 7
    for wait_ms in (1, 63, 64, 99, 384, 512, 3_000, 6_000, 10_000, 30_000, 300_000):
        assert abs(typical(wait_ms) - wait_ms) <= wait_ms / 50


def test_older_recordings_count_waits_by_powers_of_two() -> None:
    def old(*waits: int) -> int:
        recent = RecentlyEnded()
        recent.sample([EndedBy("event", waits)], 0)
        return next((one.typical_ms for one in recent.recent(0)), 0)

    assert old() == 0
    assert old(9) == 0
    assert old(0, 0, 0, 0, 4) == 12
    assert old(10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1) == 0
    assert 512 <= old(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5) < 1024


def test_only_what_ended_in_the_last_ten_seconds_is_counted() -> None:
    recent = RecentlyEnded()
    assert not recent.counted
    recent.begin([EndedBy("time-out", (0, 5))], 0)
    assert recent.counted
    assert recent.recent(0) == [], "all of it happened before"
    recent.sample([EndedBy("time-out", (0, 6)), EndedBy("event", (3,))], STEP_US)
    assert recent.recent(STEP_US) == [Ended("event", 3, 0), Ended("time-out", 1, 1)]
    recent.sample([EndedBy("time-out", (0, 9)), EndedBy("event", (3,))], 6 * STEP_US)
    assert [one.times for one in recent.recent(6 * STEP_US)] == [4, 3]
    assert [one.cause for one in recent.recent(WINDOW_US + 2 * STEP_US)] == ["time-out"]
    assert recent.recent(WINDOW_US + 6 * STEP_US) == []


def test_a_snapshot_in_between_keeps_what_is_known() -> None:
    recent = RecentlyEnded()
    recent.begin([], 0)
    recent.sample([EndedBy("event", (3,))], STEP_US)
    recent.begin([EndedBy("event", (5,))], 2 * STEP_US)
    assert recent.recent(2 * STEP_US) == [Ended("event", 5, 0)]


def test_smaller_totals_come_from_a_restarted_broker() -> None:
    recent = RecentlyEnded()
    recent.begin([EndedBy("event", (50,))], 0)
    recent.sample([EndedBy("event", (2,))], STEP_US)
    assert recent.recent(STEP_US) == [Ended("event", 2, 0)]


def test_its_memory_is_bounded() -> None:
    recent = RecentlyEnded()
    for n in range(100_000):
        recent.sample([EndedBy("event", (n,))], n * STEP_US)
    assert len(recent._before) <= 42
