"""A slow disk in virtual time. Forced writes wait in a worker, and some plain writes block the
broker's event loop.

A busy disk affects a broker in three ways:

    flush, rename, checkpoint    a worker waits; the loop continues
    append to the page cache     the kernel makes the writer wait, and so the whole loop waits
    ZooKeeper's log              every answer of ZooKeeper is late

`run_blocking` simulates the first effect. `wrote` simulates the second effect: it stops the
broker's process for a while, as SIGSTOP would. SimCluster's ZooKeeper latency simulates the third
effect.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

QUICK: Final = (0.0, 0.0)
STALL_CHANCE: Final = 0.02
"""The probability that a plain write on a slow disk blocks the loop."""


class SlowDisk:
    """Simulates how long the operations of one broker's disk take. Each time is a random number in
    the range `worker_ms` or `stall_ms`. With the range (0, 0) the operations take no time.
    """

    def __init__(self, chance: random.Random, stall: Callable[[float], None]) -> None:
        """`stall(ms)` stops the broker for `ms`."""
        self._chance = chance
        self._stall = stall
        self.worker_ms = QUICK
        self.stall_ms = QUICK

    async def run_blocking(self, work: Callable[[], T]) -> T:
        """Do the work of a worker thread. It is done after a random time, and the loop gets the
        result after a further random time.
        """
        low, high = self.worker_ms
        if high:
            await asyncio.sleep(self._chance.uniform(low, high) / 1000)
        done = work()
        if high:
            await asyncio.sleep(self._chance.uniform(low, high) / 1000)
        return done

    def wrote(self) -> None:
        """Note that the loop has appended to a file. With a small probability, stop the broker for
        a while.
        """
        low, high = self.stall_ms
        if high and self._chance.random() < STALL_CHANCE:
            self._stall(self._chance.uniform(low, high))
