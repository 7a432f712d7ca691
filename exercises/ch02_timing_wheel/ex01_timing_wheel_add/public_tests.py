"""Public tests of exercise 02-1, run by `kafka-edu lab check 02-1`. The learner's class runs in
another process, and the fixture `learner` sends it the calls.
"""

from collections.abc import Callable
from random import Random

import pytest

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..places import Wheels


class Wheel:
    """The learner's wheel. Its answers are compared with the answers of a correct wheel."""

    def __init__(self, made: LearnerObject, wheels: Wheels) -> None:
        self.made = made
        self.wheels = wheels

    def advance(self, time_ms: int) -> None:
        self.made.call("advance_clock", time_ms)
        self.wheels = self.wheels._replace(now_ms=time_ms)

    def goes(self, expiration_ms: int, expected: tuple[int, int, int] | None) -> None:
        """Call `add`. Raises Mismatch if the answer is not `expected`."""
        came = self.made.call("add", expiration_ms)
        if came == expected and not isinstance(came, bool):
            return
        tick_ms, slots, now_ms = self.wheels
        why, read = self.wheels.why(expiration_ms, came)
        raise Mismatch(
            f"add({expiration_ms}) at {now_ms} ms, TimingWheel({tick_ms}, {list(slots)}, …)",
            expected and tuple(expected),
            came,
            why,
            drawing=self.wheels.draw(expiration_ms, came),
            read=read,
        )

    def goes_right(self, expiration_ms: int) -> None:
        """Call `add`. Raises Mismatch if the answer is not the place that the rules give."""
        self.goes(expiration_ms, self.wheels.place(expiration_ms))


MakeWheel = Callable[..., Wheel]


@pytest.fixture
def wheel(learner: Learner) -> MakeWheel:
    """A function that makes a wheel of the learner's class: wheel(tick_ms, slots, start_ms)."""

    def make(tick_ms: int = 1, slots: tuple[int, ...] = (20,), start_ms: int = 0) -> Wheel:
        return Wheel(learner.make(tick_ms, slots, start_ms), Wheels(tick_ms, slots, start_ms))

    return make


def test_due(wheel: MakeWheel) -> None:
    """add returns None for a task that is due now or was due before"""
    at_100 = wheel(start_ms=100)
    at_100.goes(100, None)
    at_100.goes(99, None)
    wheel(10, (8,), 100).goes(109, None)


def test_2_ms(wheel: MakeWheel) -> None:
    """a task due in 2 ms goes into slot 2 (图 6-7)"""
    wheel().goes(2, (1, 2, 0))


def test_8_and_19_ms(wheel: MakeWheel) -> None:
    """at 2 ms, a task due in 8 ms goes into slot 10, and one in 19 ms into slot 1 (图 6-7)"""
    at_2 = wheel()
    at_2.advance(2)
    at_2.goes(10, (1, 10, 0))
    at_2.goes(21, (1, 1, 0))


def test_ends_of_level_1(wheel: MakeWheel) -> None:
    """a task due in 19 ms still fits into level 1, a task due in 20 ms does not"""
    at_0 = wheel()
    at_0.goes(19, (1, 19, 0))
    at_0.goes(20, (2, 1, 0))


def test_350_ms(wheel: MakeWheel) -> None:
    """350 ms go up to level 2, slot 17 (图 6-8)"""
    wheel().goes(350, (2, 17, 10))


def test_450_ms(wheel: MakeWheel) -> None:
    """tasks due in 450, 446, 455 and 473 ms go to level 3, slot 1 (图 6-8)"""
    at_0 = wheel()
    for expiration_ms in (450, 446, 455, 473):
        at_0.goes(expiration_ms, (3, 1, expiration_ms - 400))


def test_demotion(wheel: MakeWheel) -> None:
    """a task due at 450 ms comes down at 400 and at 440, and is due at 450 (降级)"""
    wheel_ = wheel()
    wheel_.goes(450, (3, 1, 50))
    for now_ms, expected in ((400, (2, 2, 10)), (440, (1, 10, 0)), (450, None)):
        wheel_.advance(now_ms)
        wheel_.goes(450, expected)


def test_other_ticks(wheel: MakeWheel) -> None:
    """wheels with 8 slots and ticks of 1, 2 and 8 ms (图 3-75)"""
    wheel(1, (8,), 100).goes(103, (1, 7, 0))
    wheel(2, (8,), 100).goes(103, (1, 3, 1))
    for expiration_ms in range(120, 128):
        wheel(8, (8,), 100).goes(expiration_ms, (1, 7, expiration_ms - 120))


def test_a_clock(wheel: MakeWheel) -> None:
    """a wheel like a clock: 60 seconds, 60 minutes, 24 hours, and weeks of 7 days"""
    at_0 = wheel(1000, (60, 60, 24, 7), 0)
    for seconds, expected in (
        (20, (1, 20, 0)),
        (60, (2, 1, 0)),
        (70, (2, 1, 10_000)),
        (120, (2, 2, 0)),
        (3600, (3, 1, 0)),
        (23 * 3600 + 59, (3, 23, 59_000)),
        (25 * 3600, (4, 1, 3_600_000)),
        (8 * 24 * 3600, (5, 1, 24 * 3_600_000)),
    ):
        at_0.goes(seconds * 1000, expected)


def test_a_late_first_overflow(wheel: MakeWheel) -> None:
    """a wheel of a higher level that is made later starts at the current time"""
    late = wheel(start_ms=1_000_007)
    late.goes(1_000_032, (2, 1, 12))
    late.goes(1_000_450, (3, 1, 50))


def test_one_wheel_above(wheel: MakeWheel, learner: Learner) -> None:
    """the wheel above is made when a task first needs it, and only once"""
    before = learner.made()
    wheel_ = wheel()
    wheel_.goes(5, (1, 5, 0))
    read = "the lines that make the wheel above"
    alone = learner.made() - before
    if alone != 1:
        raise Mismatch(
            "the number of TimingWheel objects after add(5)",
            1,
            alone,
            "5 ms fit into level 1, so no wheel above is needed yet",
            read=read,
        )
    for expiration_ms in range(400, 410):
        wheel_.goes_right(expiration_ms)
    made = learner.made() - before
    if made != 3:
        raise Mismatch(
            "the number of TimingWheel objects after ten tasks on level 3",
            3,
            made,
            "one for each level: the first of these tasks makes the wheels of level 2 and 3, and"
            " the other nine find them there. A wheel that is made again at every add has lost"
            " what was in it",
            read=read,
        )


def test_many(wheel: MakeWheel, seed: int) -> None:
    """hundreds of random deadlines, in random wheels at random times"""
    random = Random(seed)
    for _ in range(12):
        slots = tuple(random.randint(2, 30) for _ in range(random.randint(1, 3)))
        now = random.randrange(10_000_000)
        wheel_ = wheel(random.choice((1, 1, 5, 10)), slots, now)
        for _ in range(40):
            edge = wheel_.wheels.reach(random.randint(1, 3))[random.randint(0, 1)]
            nearby = now + random.randrange(10 ** random.randint(1, 6))
            wheel_.goes_right(random.choice((nearby, edge - 1, edge, edge + 1)))
            if random.random() < 0.3:
                now += random.randrange(10 ** random.randint(1, 5))
                wheel_.advance(now)
