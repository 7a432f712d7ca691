"""Public tests of exercise 02-3, run by `kafka-edu lab check 02-3`. The learner's class runs in
another process, and the fixture `learner` sends it the calls.
"""

from collections.abc import Callable
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner

from ..timer_check import CheckedTimer, try_many

MANY: Final = 50_000


@pytest.fixture
def timer(learner: Learner) -> Callable[..., CheckedTimer]:
    """A function that makes a timer of the learner's class: timer(tick_ms, slots, start_ms)."""

    def make(tick_ms: int = 1, slots: tuple[int, ...] = (20,), start_ms: int = 0) -> CheckedTimer:
        return CheckedTimer(learner, tick_ms, slots, start_ms, judge_cancel=True)

    return make


MakeTimer = Callable[..., CheckedTimer]


def three(timer: MakeTimer) -> CheckedTimer:
    """Return a timer with the tasks 1, 2 and 3 in one bucket."""
    timer_ = timer()
    for task, deadline_ms in ((1, 450), (2, 460), (3, 455)):
        timer_.add(task, deadline_ms)
    return timer_


def test_place(timer: MakeTimer) -> None:
    """cancel returns the place where the task was"""
    timer_ = timer()
    timer_.add(1, 7)
    timer_.add(2, 350)
    timer_.cancel(2)
    timer_.cancel(1)


@pytest.mark.parametrize("task", [1, 2, 3], ids=["first", "middle", "last"])
def test_links(timer: MakeTimer, task: int) -> None:
    """after a cancel the other tasks are still in the list, forward and backward"""
    timer_ = three(timer)
    timer_.cancel(task)
    timer_.sees_bucket(3, 1)


def test_emptied(timer: MakeTimer) -> None:
    """a bucket is empty after all its tasks were cancelled, and takes new tasks"""
    timer_ = three(timer)
    for task in (2, 1, 3):
        timer_.cancel(task)
        timer_.sees_bucket(3, 1)
    timer_.add(4, 450)
    timer_.sees_bucket(3, 1)
    timer_.advance(500)


def test_comes_down(timer: MakeTimer) -> None:
    """a task that came down is cancelled in its current bucket"""
    timer_ = three(timer)
    timer_.advance(400)
    timer_.cancel(3)
    timer_.sees_bucket(2, 2)
    timer_.advance(460)


def test_where_it_is(timer: MakeTimer) -> None:
    """the hand has moved, but the task has not: cancel returns the task's bucket"""
    timer_ = timer()
    timer_.add(1, 40)
    timer_.advance(25)
    timer_.cancel(1)


def test_not_waiting(timer: MakeTimer) -> None:
    """cancel returns None for a task that was never added, has run, or was cancelled"""
    timer_ = three(timer)
    timer_.cancel(9)
    timer_.cancel(2)
    timer_.cancel(2)
    timer_.sees_bucket(3, 1)
    timer_.advance(1_000)
    timer_.cancel(1)


def test_again(timer: MakeTimer) -> None:
    """a task may be added again after it was cancelled"""
    timer_ = three(timer)
    timer_.cancel(1)
    timer_.add(1, 451)
    timer_.sees_bucket(3, 1)
    timer_.cancel(1)
    timer_.advance(1_000)


def test_no_search(timer: MakeTimer) -> None:
    """50,000 tasks of one bucket are cancelled from the last to the first, without a search"""
    tasks = range(1, MANY + 1)
    calls: list[tuple[str, tuple[object, ...]]] = [("add", (task, 450)) for task in tasks]
    timer_ = timer()
    timer_.made.call_all(calls)
    timer_.made.call_all([("cancel", (task,)) for task in reversed(tasks)])
    timer_.sees_bucket(3, 1)


def test_many(timer: MakeTimer, seed: int) -> None:
    """hundreds of random tasks, in random wheels at random times"""
    try_many(timer, seed)
