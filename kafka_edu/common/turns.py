"""Divide long work on the loop into turns, so that requests are served in between.

One task owns the work and does all of it on the loop. The work is a generator that yields where it
may pause: its state is then whole. The shell drives it. When the time budget of a turn is used up,
the other tasks get their turn first. A number of items would be no limit, because an item takes
longer on a slow machine. Time on a clock that stands still never ends, so the simulator does all
steps in one turn.
"""

import asyncio
from collections.abc import Generator
from typing import Final, TypeVar

from kafka_edu.common.time import Time

T = TypeVar("T")
Steps = Generator[None, None, T]
"""Work that may pause wherever it yields. It returns its result at the end."""

TURN_BUDGET_MS: Final = 10
"""The longest time that one piece of work takes before other tasks get their turn. The last step
may go over it."""


def at_once(steps: Steps[T]) -> T:
    """Do all steps now, and return the result. For a caller that has no loop."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result


class Turn:
    """The time for which a task may go on before others get their turn. The task calls `pause`
    between its steps. Owned by one task.

    When the task waits for something else, its next turn begins. So the loop is asked to note that
    it has gone round.
    """

    def __init__(self, time: Time) -> None:
        self._time = time
        self._began = 0
        self._over = True

    async def pause(self) -> None:
        """Let other tasks run if the budget of this turn is used up. Otherwise this returns at
        once.
        """
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
    """Do all steps, at most TURN_BUDGET_MS of them a turn of the loop, and return the result."""
    turn = Turn(time)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
        await turn.pause()
