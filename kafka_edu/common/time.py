"""The clock as an object that is passed to the code, so that time can be real or simulated.

Kafka: Time.java, SystemTime.java, MockTime.java.

The core (the code that makes decisions) never reads a clock: it gets the time as the argument
`now_ms`. Only the code around the core reads a `Time`. In real time, this is `SystemTime`. A unit
test passes `MockTime` and moves it by hand. The simulator has a clock that jumps to the next event.
"""

import asyncio
import time
from typing import Protocol


class Time(Protocol):
    """A clock, and a method to wait on it."""

    def milliseconds(self) -> int:
        """Return wall-clock time in ms since 1970, for timestamps of records and znodes.

        Never use it to measure how long something took.
        """
        ...

    def hi_res_clock_ms(self) -> int:
        """Return monotonic time in ms, for deadlines, timers and lag (Kafka: hiResClockMs).

        It starts at an arbitrary value, so only differences are meaningful.
        """
        ...

    def nanoseconds(self) -> int:
        """Return monotonic time in ns, to measure how long something took."""
        ...

    async def sleep(self, ms: float) -> None:
        """Wait for `ms` milliseconds of this clock. With 0 or less, other tasks run once."""
        ...


class SystemTime:
    """The real clocks of the machine."""

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
        """Move the clock `ms` forward. It cannot be moved back."""
        if ms < 0:
            raise ValueError(f"a clock cannot be advanced by {ms} ms")
        self._now_ns += int(ms * 1_000_000)
