"""Divide long work on the event loop into turns, so that requests are served in between.

One task does all of the work, on the event loop. The work is a generator. It yields only where its
data is consistent, so other tasks may run there. When the time of a turn is used up, the other
tasks run first. The limit is a time and not a number of items, because each item takes longer on a
slow machine. The simulator's clock does not move during the work, so the simulator does all steps
in one turn.
"""

import asyncio
from collections.abc import Generator
from typing import Final, TypeVar

from kafka_edu.common.time import Time

T = TypeVar("T")
Steps = Generator[None, None, T]
"""Work that may be interrupted wherever it yields. At the end it returns its result."""

TURN_BUDGET_MS: Final = 10
"""The maximum time in ms that one piece of work takes before other tasks run.

Its last step may exceed the limit.
"""


def at_once(steps: Steps[T]) -> T:
    """Do all steps now, and return the result. This is for code without an event loop."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result


class Turn:
    """The time for which a task may run before other tasks run.

    The task calls `pause` between its steps. Only one task may use this object. If the task itself
    waits for something else, a new turn begins after that. Therefore a callback on the event loop
    marks the end of each turn.
    """

    def __init__(self, time: Time) -> None:
        self._time = time
        self._began = 0
        self._over = True

    async def pause(self) -> None:
        """Let other tasks run if the time of this turn is used up. Otherwise return at once."""
        now = self._time.nanoseconds()
        if not self._over and now - self._began >= TURN_BUDGET_MS * 1_000_000:
            await asyncio.sleep(0)
            now = self._time.nanoseconds()
        if self._over:
            self._over, self._began = False, now
            asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        self._over = True


async def in_turns(steps: Steps[T], time: Time) -> T:
    """Do all steps, with a pause for other tasks every TURN_BUDGET_MS, and return the result."""
    turn = Turn(time)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
        await turn.pause()
