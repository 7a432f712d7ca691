"""A slow disk, in virtual time: forced writes wait in a worker, and some plain writes hold the
broker's loop.

A busy disk affects a broker in three ways:

    flush, rename, checkpoint    a worker waits; the loop goes on
    append to the page cache     the kernel makes the writer wait, and with it the whole loop
    ZooKeeper's log              every answer of ZooKeeper is late

The first is `run_blocking`. The second is `wrote`, which stops the broker's process for a while as
SIGSTOP would. The third is SimCluster's ZooKeeper latency.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

QUICK: Final = (0.0, 0.0)
STALL_CHANCE: Final = 0.02
"""How likely a write on a slow disk holds the loop."""


class SlowDisk:
    """One broker's disk. `worker_ms` and `stall_ms` are ranges to draw from. A disk with (0, 0)
    costs no time.
    """

    def __init__(self, chance: random.Random, stall: Callable[[float], None]) -> None:
        """`stall(ms)` holds the broker that is writing."""
        self._chance = chance
        self._stall = stall
        self.worker_ms = QUICK
        self.stall_ms = QUICK

    async def run_blocking(self, work: Callable[[], T]) -> T:
        """Do a worker thread's work. It is done at some moment, and the loop gets the result
        later.
        """
        low, high = self.worker_ms
        if high:
            await asyncio.sleep(self._chance.uniform(low, high) / 1000)
        done = work()
        if high:
            await asyncio.sleep(self._chance.uniform(low, high) / 1000)
        return done

    def wrote(self) -> None:
        """Note that the loop has appended to a file."""
        low, high = self.stall_ms
        if high and self._chance.random() < STALL_CHANCE:
            self._stall(self._chance.uniform(low, high))
