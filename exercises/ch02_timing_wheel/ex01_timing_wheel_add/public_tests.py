"""Public tests of exercise 02-1. Run them by `kafka-edu lab check 02-1`: the learner's class lives
in another process, and `learner` asks it.
"""

from collections.abc import Callable

import pytest

Placed = Callable[..., None]


class Wheel:
    """The learner's wheel, and where its hand is."""

    def __init__(self, made, tick_ms: int, wheel_size: int, start_ms: int) -> None:  # type: ignore[no-untyped-def]
        self.made = made
        self.tick_ms = tick_ms
        self.wheel_size = wheel_size
        self.now_ms = start_ms

    def advance(self, time_ms: int) -> None:
        self.made.call("advance_clock", time_ms)
        self.now_ms = time_ms

    def add(self, expiration_ms: int) -> object:
        return self.made.call("add", expiration_ms)

    def goes(self, expiration_ms: int, expected: tuple[int, int, int] | None, why: str) -> None:
        """Fails, saying why, unless the task goes where it should."""
        answer = self.add(expiration_ms)
        match answer:
            case (int(), int(), int(left)) if left < 0:
                why += f"; yours comes due {-left} ms after the task, and the task would run late"
        assert answer == expected, (
            f"add({expiration_ms}) with the hand at {self.now_ms} ms (tick {self.tick_ms} ms,"
            f" {self.wheel_size} slots) answered {answer}; it should answer {expected}: {why}"
        )


@pytest.fixture
def wheel(learner):  # type: ignore[no-untyped-def]
    """A wheel of the learner's class: wheel(tick_ms, wheel_size, start_ms)."""

    def make(tick_ms: int = 1, wheel_size: int = 20, start_ms: int = 0) -> Wheel:
        return Wheel(learner.make(tick_ms, wheel_size, start_ms), tick_ms, wheel_size, start_ms)

    return make


def test_due(wheel: Callable[..., Wheel]) -> None:
    """what is due, or was, is not taken"""
    at_100 = wheel(start_ms=100)
    at_100.goes(100, None, "100 is now; a task of this moment is due, and is run, not stored")
    at_100.goes(99, None, "99 is past")
    wheel(10, 8, 100).goes(
        109, None, "the hand is on the tick 100-109, and all of that tick is due"
    )


def test_2_ms(wheel: Callable[..., Wheel]) -> None:
    """2 ms go into slot 2 (图 6-7)"""
    wheel().goes(
        2,
        (1, 2, 0),
        "time 0 is in slot 0, so 2 ms are in slot 2 of level 1, and nothing is left over",
    )


def test_8_and_19_ms(wheel: Callable[..., Wheel]) -> None:
    """at 2 ms, 8 ms go into slot 10 and 19 ms into slot 1 (图 6-7)"""
    at_2 = wheel()
    at_2.advance(2)
    at_2.goes(
        10,
        (1, 10, 0),
        "8 ms after 2 ms is 10 ms, slot 10: slots are counted from time 0, not from the hand",
    )
    at_2.goes(
        21,
        (1, 1, 0),
        "19 ms after 2 ms is 21 ms, and 21 goes once round 20 slots: slot 1, used again",
    )


def test_ends_of_level_1(wheel: Callable[..., Wheel]) -> None:
    """19 ms still fit into level 1, 20 ms do not"""
    at_0 = wheel()
    at_0.goes(19, (1, 19, 0), "level 1 reaches from 1 to 19 ms")
    at_0.goes(
        20,
        (2, 1, 0),
        "level 1 ends before 20 ms; slot 0 is under the hand, where nothing may go; on level 2 a"
        " bucket is 20 ms: 20 // 20 = 1",
    )


def test_350_ms(wheel: Callable[..., Wheel]) -> None:
    """350 ms go up to level 2, slot 17 (图 6-8)"""
    wheel().goes(
        350,
        (2, 17, 10),
        "350 ms are beyond level 1; on level 2 a bucket is 20 ms: 350 // 20 = 17; that bucket is"
        " due at 340, and 10 ms are left",
    )


def test_450_ms(wheel: Callable[..., Wheel]) -> None:
    """450, 446, 455 and 473 ms go up to level 3, slot 1 (图 6-8)"""
    at_0 = wheel()
    for expiration_ms in (450, 446, 455, 473):
        left = expiration_ms - 400
        why = (
            "level 2 ends before 400 ms; on level 3 a bucket is 400 ms, and slot 1 is [400, 800);"
            f" it is due at 400, and {left} ms are left"
        )
        at_0.goes(expiration_ms, (3, 1, left), why)


def test_demotion(wheel: Callable[..., Wheel]) -> None:
    """450 ms come down at 400, at 440, and are due at 450 (降级)"""
    wheel_ = wheel()
    wheel_.goes(450, (3, 1, 50), "see 450 ms")
    wheel_.advance(400)
    wheel_.goes(
        450,
        (2, 2, 10),
        "50 ms are left: level 2, the bucket [440, 460), 440 // 20 % 20 = 2, 10 ms left over",
    )
    wheel_.advance(440)
    wheel_.goes(450, (1, 10, 0), "10 ms are left: level 1, 450 % 20 = 10")
    wheel_.advance(450)
    wheel_.goes(450, None, "now it is due")


def test_other_ticks(wheel: Callable[..., Wheel]) -> None:
    """ticks of 1, 2 and 8 ms with 8 slots (图 3-75)"""
    wheel(1, 8, 100).goes(103, (1, 7, 0), "103 % 8 = 7")
    wheel(2, 8, 100).goes(
        103, (1, 3, 1), "103 // 2 % 8 = 3; the bucket is due at 102, 1 ms is left"
    )
    for expiration_ms in range(120, 128):
        left = expiration_ms - 120
        wheel(8, 8, 100).goes(
            expiration_ms,
            (1, 7, left),
            f"all of 120-127 is in bucket 120 // 8 % 8 = 7, due at 120; {left} ms are left",
        )


def test_seconds(wheel: Callable[..., Wheel]) -> None:
    """20, 60, 70, 120 and 3600 s on wheels of 60 x 1 s"""
    at_0 = wheel(1000, 60, 0)
    for seconds, expected in (
        (20, (1, 20, 0)),
        (60, (2, 1, 0)),
        (70, (2, 1, 10_000)),
        (120, (2, 2, 0)),
        (3600, (3, 1, 0)),
    ):
        at_0.goes(
            seconds * 1000,
            expected,
            "level 1 has seconds, level 2 minutes, level 3 hours, as on a clock",
        )


def test_a_late_first_overflow(wheel: Callable[..., Wheel]) -> None:
    """a wheel above that is made late starts at the present time"""
    late = wheel(start_ms=1_000_007)
    late.goes(
        1_000_032,
        (2, 1, 12),
        "the wheel above starts at 1,000,007 rounded down to its tick of 20 ms, 1,000,000; slot"
        " 1,000,032 // 20 % 20 = 1",
    )
    late.goes(
        1_000_450,
        (3, 1, 50),
        "level 2 ends before 1,000,400; on level 3 a bucket is 400 ms: 1,000,450 // 400 % 20 = 1,"
        " due at 1,000,400",
    )


def test_a_thousand(wheel: Callable[..., Wheel]) -> None:
    """a thousand deadlines at many times keep the rules"""
    tick_ms, size, now = 1, 20, 123_456
    wheel_ = wheel(tick_ms, size, now)
    for step in range(1000):
        if step % 10 == 0:
            now += step % 7 * 13
            wheel_.advance(now)
        expiration_ms = now + 1 + step * step % 30_011
        if step % 3 == 0:  # where a wheel ends, and next to it
            of_level = size ** (step // 3 % 3)
            expiration_ms = now - now % of_level + of_level * size + step % 2
        answer = wheel_.add(expiration_ms)
        asked = f"add({expiration_ms}) with the hand at {now} ms answered {answer}"
        assert isinstance(answer, tuple), f"{asked}; it should answer (level, slot, left_over_ms)"
        assert len(answer) == 3, f"{asked}; it should answer (level, slot, left_over_ms)"
        level, slot, left = answer
        tick = size ** (level - 1)
        hand = now - now % tick
        due = expiration_ms - left
        assert 0 <= left < tick, (
            f"{asked}: on level {level} a bucket is {tick} ms, so 0 to {tick - 1} ms can be left"
            " over"
        )
        assert due % tick == 0, (
            f"{asked}: that bucket would be due at {due}, which is no multiple of {tick}, the tick"
            f" of level {level}"
        )
        assert slot == due // tick % size, (
            f"{asked}: a bucket that is due at {due} has slot {due // tick % size} on level {level}"
        )
        assert hand < due < hand + tick * size, (
            f"{asked}: level {level} reaches from {hand + tick} to before {hand + tick * size}"
        )
        fits_below = level > 1 and expiration_ms < now - now % (tick // size) + tick
        assert not fits_below, (
            f"{asked}: it would have fitted into level {level - 1}; the lowest level that reaches"
            " far enough is right"
        )
