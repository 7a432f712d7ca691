"""Exercise 02-1: the reference solution."""

from collections.abc import Sequence


class TimingWheel:
    """One wheel of `slots[0]` buckets, each `tick_ms` long. It stores no tasks."""

    def __init__(self, tick_ms: int, slots: Sequence[int], start_ms: int, level: int = 1) -> None:
        self.tick_ms = tick_ms
        self.slots = slots
        self.interval_ms = tick_ms * slots[0]
        self.level = level
        self.current_time_ms = start_ms - start_ms % tick_ms
        self.overflow_wheel: TimingWheel | None = None

    def advance_clock(self, time_ms: int) -> None:
        """Move the current time of this wheel, and of the wheels above it, up to `time_ms`."""
        if time_ms >= self.current_time_ms + self.tick_ms:
            self.current_time_ms = time_ms - time_ms % self.tick_ms
            if self.overflow_wheel is not None:
                self.overflow_wheel.advance_clock(self.current_time_ms)

    def add(self, expiration_ms: int) -> tuple[int, int, int] | None:
        """(level, slot, left_over_ms), or None if it is due already."""
        if expiration_ms < self.current_time_ms + self.tick_ms:
            return None
        if expiration_ms < self.current_time_ms + self.interval_ms:
            tick, left_over_ms = divmod(expiration_ms, self.tick_ms)
            return self.level, tick % self.slots[0], left_over_ms
        if self.overflow_wheel is None:
            self.overflow_wheel = TimingWheel(
                self.interval_ms,
                self.slots[1:] or self.slots,
                self.current_time_ms,
                self.level + 1,
            )
        return self.overflow_wheel.add(expiration_ms)
