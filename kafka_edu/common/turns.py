"""Divide long work on the event loop into turns, so that requests are served in between.

The work is a generator, and one task executes it on the event loop. The generator yields only where
its data is consistent, so other tasks may run at each yield. A turn is the time for which the work
may run without a pause. At the end of a turn, the other tasks run first, and then the next turn
begins. The limit of a turn is a time and not a number of items, because each item takes longer on a
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
    """Do all steps without a pause, and return the result. For code that runs without an event
    loop.
    """
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result


class Turn:
    """The time for which a task may run before other tasks run.

    The task calls `pause` between its steps. Only one task may use this object. A turn also ends
    when the task itself waits for something, such as a response. To notice this, the turn puts a
    callback on the event loop: the callback runs as soon as the task waits, and marks the turn as
    over.
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
