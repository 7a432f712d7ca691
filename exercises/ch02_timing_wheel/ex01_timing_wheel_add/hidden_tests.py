"""Hidden tests of exercise 02-1: only a grade (`kafka-edu lab grade`) runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..places import Wheels
from .public_tests import Wheel


def wheel(learner: Learner, tick_ms: int, slots: tuple[int, ...], start_ms: int) -> Wheel:
    """Make a wheel of the learner's class. Its answers are compared with the right answers."""
    return Wheel(learner.make(tick_ms, slots, start_ms), Wheels(tick_ms, slots, start_ms))


def test_two_timers(learner: Learner) -> None:
    """two timers do not share the wheels of their higher levels"""
    one = wheel(learner, 1, (20,), 0)
    other = wheel(learner, 5, (7, 3), 1_000_000)
    for distance_ms in (30, 450, 9_000):
        one.goes_right(distance_ms)
        other.goes_right(1_000_000 + distance_ms)
    one.advance(400)
    other.goes_right(1_000_450)
    one.goes_right(450)


def test_wall_clock(learner: Learner) -> None:
    """times like those of a real clock, in ms since 1970"""
    now_ms = 1_795_000_000_123
    today = wheel(learner, 1, (20,), now_ms)
    for distance_ms in (0, 1, 19, 20, 399, 400, 30_000, 86_400_000, 31_536_000_000):
        today.goes_right(now_ms + distance_ms)


def test_asked_again(learner: Learner) -> None:
    """add returns the same place if it is called again for the same task"""
    again = wheel(learner, 1, (20, 4), 3)
    for _ in range(3):
        for expiration_ms in (3, 4, 23, 24, 90, 450):
            again.goes_right(expiration_ms)


def test_long_pause(learner: Learner) -> None:
    """after a pause of many rounds, the hands of all levels are right"""
    idle = wheel(learner, 2, (5,), 0)
    idle.goes_right(900)
    idle.advance(123_457)
    for distance_ms in (1, 2, 9, 10, 11, 49, 50, 51, 250, 1_250):
        idle.goes_right(123_457 + distance_ms)


def test_chosen(learner: Learner, seed: int) -> None:
    """random wheels and deadlines"""
    random = Random(seed)
    for _ in range(8):
        slots = (random.randint(2, 9), *(random.randint(2, 60) for _ in range(3)))
        start_ms = random.randrange(1 << 40)
        chosen = wheel(learner, random.randint(1, 12), slots, start_ms)
        for _ in range(20):
            chosen.goes_right(start_ms + random.randrange(10 ** random.randint(1, 7)))
