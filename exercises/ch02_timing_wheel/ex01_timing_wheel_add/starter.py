"""Exercise 02-1: write TimingWheel.add. README.md says what is asked; `kafka-edu lab check 02-1`
tries it, `kafka-edu lab hint 02-1` helps.
"""

from collections.abc import Sequence


class TimingWheel:
    """One wheel (时间轮) of `slots[0]` buckets of `tick_ms` each. `slots[1]` is the number of
    buckets of the wheel above, and so on. The last number is that of all wheels above. The wheel
    holds numbers only: the broker keeps the tasks in the buckets you name.
    """

    def __init__(self, tick_ms: int, slots: Sequence[int], start_ms: int, level: int = 1) -> None:
        self.tick_ms = tick_ms
        self.slots = slots
        self.interval_ms = tick_ms * slots[0]
        self.level = level
        self.current_time_ms = (
            start_ms - start_ms % tick_ms
        )  # the hand: always a multiple of the tick
        self.overflow_wheel: TimingWheel | None = None  # the wheel above, when there is one

    def advance_clock(self, time_ms: int) -> None:
        """Move the hand, and the hands of the wheels above. This works; you need not change it."""
        if time_ms >= self.current_time_ms + self.tick_ms:
            self.current_time_ms = time_ms - time_ms % self.tick_ms
            if self.overflow_wheel is not None:
                self.overflow_wheel.advance_clock(self.current_time_ms)

    def add(self, expiration_ms: int) -> tuple[int, int, int] | None:
        """Return where a task that is due at `expiration_ms` goes: (level, slot, left_over_ms), or
        None if it is due already.
        """
        raise NotImplementedError(
            "TimingWheel.add is not written yet: it returns (level, slot, left_over_ms), or None"
            " for a task that is due"
        )
