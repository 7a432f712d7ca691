"""Public tests of exercise 02-4, run by `kafka-edu lab check 02-4`. The learner's class runs in
another process, and the fixture `learner` sends it the calls.
"""

from collections.abc import Callable

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch, Words
from ..timer_check import CheckedTimer, try_many
from .material import run


@pytest.fixture
def timer(learner: Learner) -> Callable[..., CheckedTimer]:
    """A function that makes a timer of the learner's class: timer(tick_ms, slots, start_ms)."""

    def make(tick_ms: int = 1, slots: tuple[int, ...] = (20,), start_ms: int = 0) -> CheckedTimer:
        return CheckedTimer(learner, tick_ms, slots, start_ms)

    return make


MakeTimer = Callable[..., CheckedTimer]


def test_event(learner: Learner, material: int) -> None:
    """diagnosis names the first wrong event of events.txt, and how late the task runs"""
    lines, found = run(material)
    came = learner.make(1, [20], 0).call("diagnosis")
    expected = Words("(number of the first wrong event, how many ms late, name of a method)")
    match came:
        case (int(number), int(late_ms), str()):
            pass
        case _:
            raise Mismatch("diagnosis()", expected, came, "the answer has three values")
    if number != found.number:
        why = f"events.txt has the events 1 to {len(lines)}"
        if 1 <= number <= len(lines):
            line = lines[number - 1]
            why = f"event {number} is task {line.task}, which {line.text} at {line.time_ms} ms"
            if line.move is None:
                why += ": that is the right bucket, so nothing was wrong yet"
            elif number < found.number:
                why += ": a right timer does the same"
            else:
                why += ": an earlier event was already wrong"
        raise Mismatch("diagnosis()", expected, came, why, read="events.txt, line by line")
    if late_ms != found.late_ms:
        why = "the number of the event is right; compare its time with the deadline again"
        raise Mismatch("diagnosis()", expected, came, why, read="events.txt")


def test_method(learner: Learner) -> None:
    """diagnosis names the method that is wrong"""
    came = learner.make(1, [20], 0).call("diagnosis")
    method = came[2] if isinstance(came, tuple) and len(came) == 3 else came
    reasons = {
        "place": "place put the late task into the right bucket, as events.txt shows",
        "add": "add does what place says, and the late task was in the right bucket",
        "advance_clock": "advance_clock empties what is due; how does it know when that is?",
        "tick": "the ticks are right: 1, 20 and 400 ms",
        "size": "the sizes are right: 20 slots on each level",
    }
    if method != "due_ms":
        why = reasons.get(str(method), "the late task never passes through a method of that name")
        raise Mismatch("diagnosis()", Words("the method with the wrong line"), method, why)


def test_edge(timer: MakeTimer) -> None:
    """two tasks that are due at the edge of a level both run at that time"""
    timer_ = timer()
    timer_.add(1, 40)
    timer_.advance(25)
    timer_.add(2, 40)
    timer_.advance(40)
    timer_.advance(100)


def test_edge_of_level_3(timer: MakeTimer) -> None:
    """three tasks from three levels, due at the edge of level 3, run at that time"""
    timer_ = timer()
    timer_.add(1, 800)
    timer_.advance(450)
    timer_.add(2, 800)
    timer_.advance(790)
    timer_.add(3, 800)
    timer_.advance(800)
    timer_.advance(2_000)


def test_late_call(timer: MakeTimer) -> None:
    """one late call makes the same moves as many calls would have made"""
    timer_ = timer()
    for task, deadline_ms in enumerate((450, 7, 455, 20, 8_000, 40)):
        timer_.add(task, deadline_ms)
    timer_.advance(9_000)


def test_not_early(timer: MakeTimer) -> None:
    """tasks that are not due at an edge run neither early nor late"""
    timer_ = timer()
    timer_.add(1, 13)
    timer_.add(2, 333)
    for time_ms in (12, 13, 320, 332, 333):
        timer_.advance(time_ms)


def test_many(timer: MakeTimer, seed: int) -> None:
    """hundreds of random tasks, in random wheels at random times"""
    try_many(timer, seed)
