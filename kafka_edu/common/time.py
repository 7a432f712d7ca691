"""Time is handed in, so that the same code runs under two clocks (Kafka: Time.java,
SystemTime.java, MockTime.java).

The core never reads a clock; it receives the time as `now_ms`. The shell reads its `Time`. In real
time that is `SystemTime`. A unit test hands in `MockTime` and moves it by hand. The simulator has a
clock that jumps to the next event.
"""

import asyncio
import time
from typing import Protocol


class Time(Protocol):
    """A clock, and a way to wait on it."""

    def milliseconds(self) -> int:
        """Return wall-clock time in ms since 1970, for timestamps of records and znodes.

        Never use it to measure how long something took.
        """
        ...

    def hi_res_clock_ms(self) -> int:
        """Return monotonic time in ms (Kafka: hiResClockMs), for deadlines, timers and lag.

        Its zero point has no meaning.
        """
        ...

    def nanoseconds(self) -> int:
        """Return monotonic time in ns, to measure how long something took."""
        ...

    async def sleep(self, ms: float) -> None:
        """Wait for `ms` milliseconds of this clock. 0 or less lets other tasks run once."""
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
    """A clock for tests of the core. It stands still until `advance` moves it.

    `sleep` advances the clock and returns at once.
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
        """Move the clock `ms` forward. A clock never runs backward."""
        if ms < 0:
            raise ValueError(f"a clock cannot be advanced by {ms} ms")
        self._now_ns += int(ms * 1_000_000)
