"""Public tests of exercise 02-2, run by `kafka-edu lab check 02-2`. The learner's class runs in
another process, and the fixture `learner` sends it the calls.
"""

from collections.abc import Callable

import pytest

from kafka_edu.learner.learner import Learner

from ..timer_check import CheckedTimer, try_many


@pytest.fixture
def timer(learner: Learner) -> Callable[..., CheckedTimer]:
    """A function that makes a timer of the learner's class: timer(tick_ms, slots, start_ms)."""

    def make(tick_ms: int = 1, slots: tuple[int, ...] = (20,), start_ms: int = 0) -> CheckedTimer:
        return CheckedTimer(learner, tick_ms, slots, start_ms)

    return make


MakeTimer = Callable[..., CheckedTimer]


def test_runs(timer: MakeTimer) -> None:
    """a task due at 2 ms runs at 2 ms, and not before"""
    timer_ = timer()
    timer_.add(1, 2)
    timer_.advance(1)
    timer_.advance(2)
    timer_.advance(3)


def test_comes_down(timer: MakeTimer) -> None:
    """tasks due at 450 and 455 ms come down at 400 and 440 (降级), and then run"""
    timer_ = timer()
    timer_.add(1, 450)
    timer_.add(2, 455)
    for time_ms in (399, 400, 440, 450, 455):
        timer_.advance(time_ms)


def test_late_call(timer: MakeTimer) -> None:
    """one late call makes the same moves as many calls would have made"""
    timer_ = timer()
    for task, deadline_ms in enumerate((450, 7, 455, 20, 8_000, 40)):
        timer_.add(task, deadline_ms)
    timer_.advance(9_000)


def test_the_hand_moves_without_tasks(timer: MakeTimer) -> None:
    """after the call the hand is at time_ms, even if no task was due"""
    timer_ = timer()
    timer_.advance(15)
    timer_.add(1, 30)
    timer_.add(2, 35)
    timer_.advance(100)


def test_order_in_a_bucket(timer: MakeTimer) -> None:
    """the tasks of a bucket move in the order in which they were added to it"""
    timer_ = timer()
    for task in (5, 3, 9, 1):
        timer_.add(task, 345)
    timer_.advance(340)
    timer_.advance(345)


def test_order_of_levels(timer: MakeTimer) -> None:
    """if two buckets are due at the same time, the one of the higher level is first"""
    timer_ = timer()
    timer_.add(1, 40)
    timer_.advance(25)
    timer_.add(2, 40)
    timer_.advance(40)


def test_far_away(timer: MakeTimer) -> None:
    """a task due in 100 days takes as many steps as there are levels, not a step for each ms"""
    timer_ = timer()
    timer_.add(1, 8_640_000_000)
    timer_.advance(8_639_999_999)
    timer_.advance(8_640_000_001)


def test_a_clock(timer: MakeTimer) -> None:
    """a clock of seconds, minutes and hours that starts at 10:15"""
    timer_ = timer(1000, (60, 60, 24), 36_900_000)
    for task, seconds in enumerate((37_000, 41_000, 90_000, 36_959, 36_960)):
        timer_.add(task, seconds * 1000)
    for seconds in (36_960, 37_000, 100_000):
        timer_.advance(seconds * 1000)


def test_cancelled(timer: MakeTimer) -> None:
    """a task that was cancelled neither comes down nor runs"""
    timer_ = timer()
    timer_.add(1, 350)
    timer_.add(2, 350)
    timer_.cancel(1)
    timer_.advance(1_000)


def test_many(timer: MakeTimer, seed: int) -> None:
    """hundreds of random tasks, in random wheels at random times"""
    try_many(timer, seed)
