"""Exercise 02-1: write the method TimingWheel.add. README.md describes the task. Check your file
with `kafka-edu lab check 02-1`. `kafka-edu lab hint 02-1` gives a hint.
"""

from collections.abc import Sequence


class TimingWheel:
    """A timing wheel (时间轮) with `slots[0]` buckets of `tick_ms` each. `slots[1]` is the number
    of buckets of the wheel above, and so on. The last number counts for all higher wheels. This
    wheel holds only numbers: the broker keeps the tasks in the buckets that you return.
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
        """Move the hands of this wheel and of all wheels above. This works; do not change it."""
        if time_ms >= self.current_time_ms + self.tick_ms:
            self.current_time_ms = time_ms - time_ms % self.tick_ms
            if self.overflow_wheel is not None:
                self.overflow_wheel.advance_clock(self.current_time_ms)

    def add(self, expiration_ms: int) -> tuple[int, int, int] | None:
        """Return the place for a task that is due at `expiration_ms`: (level, slot, left_over_ms).
        If the task is due already, return None.
        """
        raise NotImplementedError(
            "TimingWheel.add is not written yet: it returns (level, slot, left_over_ms), or None"
            " for a task that is due"
        )
