"""Time is handed in, so that one code base runs under two clocks (Kafka: Time.java,
SystemTime.java, MockTime.java).

The core never asks what time it is: it is told, as `now_ms`. The shell asks its `Time`. In real
time that is `SystemTime`; a unit test hands in `MockTime` and moves it by hand; the simulator has a
clock that jumps to the next thing that happens.
"""

import asyncio
import time
from typing import Protocol


class Time(Protocol):
    """A clock and a way to wait on it."""

    def milliseconds(self) -> int:
        """Wall-clock time in ms since 1970: for timestamps of records and znodes, never for
        measuring how long something took.
        """
        ...

    def hi_res_clock_ms(self) -> int:
        """Monotonic time in ms (Kafka: hiResClockMs): for deadlines, timers, lag; its zero means
        nothing.
        """
        ...

    def nanoseconds(self) -> int:
        """Monotonic time in ns: for measuring how long something took."""
        ...

    async def sleep(self, ms: float) -> None:
        """Return after `ms` milliseconds of this clock; 0 or less lets other tasks run once."""
        ...


class SystemTime:
    """The machine's clocks."""

    def milliseconds(self) -> int:
        return time.time_ns() // 1_000_000

    def hi_res_clock_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def nanoseconds(self) -> int:
        return time.monotonic_ns()

    async def sleep(self, ms: float) -> None:
        await asyncio.sleep(max(ms, 0) / 1000)


class MockTime:
    """A clock that stands still until it is told otherwise, for tests of the core. `sleep` advances
    it and returns at once.
    """

    def __init__(self, now_ms: int = 1_600_000_000_000) -> None:
        self._now_ns = now_ms * 1_000_000

    def milliseconds(self) -> int:
        return self._now_ns // 1_000_000

    def hi_res_clock_ms(self) -> int:
        return self._now_ns // 1_000_000

    def nanoseconds(self) -> int:
        return self._now_ns

    async def sleep(self, ms: float) -> None:
        self.advance(ms)
        await asyncio.sleep(0)

    def advance(self, ms: float) -> None:
        """Move the clock `ms` forward; a clock never runs backward."""
        if ms < 0:
            raise ValueError(f"a clock cannot be advanced by {ms} ms")
        self._now_ns += int(ms * 1_000_000)
