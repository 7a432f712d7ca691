"""Exercise 02-1: write TimingWheel.add. README.md says what is asked; `kafka-edu lab check 02-1`
tries it, `kafka-edu lab hint 02-1` helps.
"""


class TimingWheel:
    """One wheel (时间轮) of `wheel_size` buckets of `tick_ms` each. It holds numbers only: the
    broker keeps the tasks in the buckets you name.
    """

    def __init__(self, tick_ms: int, wheel_size: int, start_ms: int, level: int = 1) -> None:
        self.tick_ms = tick_ms
        self.wheel_size = wheel_size
        self.interval_ms = tick_ms * wheel_size
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
        """Where does a task that is due at `expiration_ms` go? (level, slot, left_over_ms), or None
        if it is due already.
        """
        raise NotImplementedError(
            "TimingWheel.add is not written yet: it is to answer (level, slot, left_over_ms), or"
            " None for what is due"
        )
