"""Hidden tests of exercise 02-3: only a grade (`kafka-edu lab grade`) runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..timer_check import CheckedTimer

NOW_MS = 1_795_000_000_123


def checked(learner: Learner, tick_ms: int, slots: tuple[int, ...], start_ms: int) -> CheckedTimer:
    """Make a timer of the learner's class. The answers of `cancel` are compared too."""
    return CheckedTimer(learner, tick_ms, slots, start_ms, judge_cancel=True)


def test_wall_clock(learner: Learner, seed: int) -> None:
    """times like those of a real clock, in ms since 1970"""
    random = Random(f"wall/{seed}")
    timer = checked(learner, 1, (20,), NOW_MS)
    for task in range(60):
        timer.add(task, NOW_MS + random.randrange(1, 10 ** random.randint(1, 6)))
        if random.random() < 0.4:
            timer.cancel(random.randrange(task + 1))
    timer.advance(NOW_MS + 10**6)


def test_two_timers(learner: Learner, seed: int) -> None:
    """two timers with the same task numbers: a cancel in one does not change the other"""
    random = Random(f"two/{seed}")
    both = (checked(learner, 1, (20,), 0), checked(learner, 5, (4,), 0))
    for task in range(40):
        for one in both:
            one.add(task, 500)
        random.choice(both).cancel(random.randrange(task + 1))
    for one in both:
        one.advance(1_000)


def test_most_are_cancelled(learner: Learner, seed: int) -> None:
    """nearly every task is cancelled before it is due, as in a broker"""
    random = Random(f"most/{seed}")
    timer = checked(learner, 1, (20,), 0)
    for task in range(400):
        timer.add(task, timer.now_ms + 30_000)
        if task >= 3:
            timer.cancel(task - random.randint(1, 3))
        if random.random() < 0.1:
            timer.advance(timer.now_ms + random.randint(1, 900))
    timer.advance(timer.now_ms + 40_000)


def test_all_of_a_bucket(learner: Learner, seed: int) -> None:
    """a bucket is filled and emptied many times in random order, and its list stays right"""
    random = Random(f"bucket/{seed}")
    timer = checked(learner, 1, (20,), 0)
    for round_ in range(6):
        tasks = [round_ * 100 + number for number in range(12)]
        for task in tasks:
            timer.add(task, 405 + task % 7)
        for task in random.sample(tasks, len(tasks)):
            timer.cancel(task)
            timer.sees_bucket(3, 1)
