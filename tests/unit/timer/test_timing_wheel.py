"""The wheel alone, without a timer: where a task goes, and what moves the hands."""

import pytest

from kafka_edu.timer.delay_queue import DelayQueue
from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.timer.timer_task_list import TimerTaskEntry
from kafka_edu.timer.timing_wheel import TimingWheel


def wheel(start_ms: int = 0, tick_ms: int = 1, wheel_size: int = 20) -> TimingWheel:
    return TimingWheel(tick_ms, wheel_size, start_ms, DelayQueue())


def place(wheel: TimingWheel, deadline_ms: int) -> tuple[int, int] | None:
    entry = TimerTaskEntry(TimerTask(0), deadline_ms)
    if not wheel.add(entry):
        assert entry.bucket is None
        return None
    assert entry.bucket is not None
    return entry.bucket.level, entry.bucket.slot


def test_what_is_due_is_not_taken() -> None:
    assert place(wheel(100), 99) is None
    assert place(wheel(100), 100) is None
    assert place(wheel(100), 101) == (1, 1)


def test_a_tick_longer_than_1_ms_makes_the_present_tick_due() -> None:
    of_10 = wheel(100, tick_ms=10)
    assert place(of_10, 109) is None
    assert place(of_10, 110) == (1, 11)


def test_the_start_is_rounded_down_to_the_tick() -> None:
    assert wheel(1234, tick_ms=100).current_time_ms == 1200


@pytest.mark.parametrize(
    ("deadline_ms", "where"),
    [(19, (1, 19)), (20, (2, 1)), (399, (2, 19)), (400, (3, 1)), (7_999, (3, 19)), (8_000, (4, 1))],
)
def test_the_ends_of_each_level(deadline_ms: int, where: tuple[int, int]) -> None:
    assert place(wheel(), deadline_ms) == where


def test_wheels_are_created_when_a_task_needs_them_and_reported_lowest_first() -> None:
    made: list[tuple[int, int, int, int]] = []
    lowest = TimingWheel(
        1,
        20,
        0,
        DelayQueue(),
        on_overflow=lambda above, deadline: made.append(
            (above.level, above.tick_ms, above.interval_ms, deadline)
        ),
    )
    place(lowest, 19)
    assert made == []
    place(lowest, 30_000)
    assert made == [(2, 20, 400, 30_000), (3, 400, 8_000, 30_000), (4, 8_000, 160_000, 30_000)]
    place(lowest, 400)
    assert [above.level for above in lowest.wheels()] == [1, 2, 3, 4]
    assert len(made) == 3


def test_buckets_are_created_when_a_task_needs_them() -> None:
    lowest = wheel()
    assert lowest.buckets == [None] * 20
    place(lowest, 7)
    place(lowest, 7)
    assert lowest.counts() == (0,) * 7 + (2,) + (0,) * 12
    assert sum(bucket is not None for bucket in lowest.buckets) == 1


def test_a_bucket_is_queued_once_a_turn_with_the_time_its_tick_begins() -> None:
    lowest = wheel()
    for deadline_ms in (345, 350, 359):
        assert place(lowest, deadline_ms) == (2, 17)
    assert len(lowest.queue) == 1
    assert lowest.queue.next_expiration_ms() == 340


def test_advancing_moves_the_hand_of_each_level_by_whole_ticks() -> None:
    lowest = wheel()
    place(lowest, 450)
    lowest.advance_clock(419)
    assert [above.current_time_ms for above in lowest.wheels()] == [419, 400, 400]
    lowest.advance_clock(399)
    assert [above.current_time_ms for above in lowest.wheels()] == [
        419,
        400,
        400,
    ], "a hand never moves back"


def test_an_overflow_wheel_starts_at_the_time_it_is_made() -> None:
    lowest = wheel(1_000_007)
    place(lowest, 1_000_007 + 25)
    assert lowest.overflow_wheel is not None
    assert lowest.overflow_wheel.current_time_ms == 1_000_000
    assert place(lowest, 1_000_007 + 25) == (2, (1_000_032 // 20) % 20)


@pytest.mark.parametrize(("tick_ms", "wheel_size"), [(0, 20), (1, 1), (-1, 20)])
def test_a_wheel_that_could_hold_nothing_is_refused(tick_ms: int, wheel_size: int) -> None:
    with pytest.raises(ValueError, match="at least"):
        wheel(tick_ms=tick_ms, wheel_size=wheel_size)
