"""Hidden tests of exercise 02-2: only a grade (`kafka-edu lab grade`) runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..timer_check import CheckedTimer

NOW_MS = 1_795_000_000_123


def test_a_very_late_call(learner: Learner, seed: int) -> None:
    """hundreds of tasks, and one late call after all of them are due"""
    random = Random(f"late/{seed}")
    timer = CheckedTimer(learner, 1, (20,), 0)
    for task in range(700):
        timer.add(task, random.randint(1, 60_000))
    timer.advance(70_000)


def test_wall_clock(learner: Learner, seed: int) -> None:
    """times like those of a real clock, in ms since 1970"""
    random = Random(f"wall/{seed}")
    timer = CheckedTimer(learner, 1, (20,), NOW_MS)
    for task in range(40):
        timer.add(task, NOW_MS + random.randrange(10 ** random.randint(1, 8)))
    while timer.now_ms < NOW_MS + 10**8:
        timer.advance(timer.now_ms + random.randrange(10 ** random.randint(4, 8)))


def test_two_timers(learner: Learner, seed: int) -> None:
    """two timers with the same task numbers do not share their buckets"""
    random = Random(f"two/{seed}")
    both = (CheckedTimer(learner, 1, (20,), 0), CheckedTimer(learner, 10, (3, 5), 70))
    for task in range(30):
        deadline_ms = random.randint(80, 9_000)
        for one in both:
            one.add(task, deadline_ms)
        if random.random() < 0.2:
            random.choice(both).cancel(random.randrange(task + 1))
    for time_ms in (100, 400, 1_000, 9_000):
        for one in both:
            one.advance(time_ms)


def test_two_slots(learner: Learner, seed: int) -> None:
    """wheels with two slots: a task comes down a dozen times"""
    random = Random(f"slots/{seed}")
    timer = CheckedTimer(learner, 1, (2,), random.randrange(1_000))
    for task in range(25):
        timer.add(task, timer.now_ms + random.randint(1, 5_000))
    for _ in range(30):
        timer.advance(timer.now_ms + random.randint(1, 300))
