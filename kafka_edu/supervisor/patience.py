"""Time limits for processes on a busy machine.

A limit in seconds assumes that a process always gets a core when it is ready to run. On a busy
machine a process may have to wait for a core. That time must not count against the limit. Linux
counts how long each process has waited for a core (`busy_machine`). On other systems all time
counts.
"""

import time
from collections.abc import Callable, Iterable
from typing import Final

from kafka_edu.common.busy_machine import waited_for_a_core_s

#: `Patience.left_s` must be called at least this often, in seconds. If several processes waited for
#: a core between two calls, the longest of their waiting times is not counted.
LOOK_EVERY_S: Final = 0.5


class Patience:
    """A limit of `limit_s` seconds. The time in which one of the processes waited for a core does
    not count.
    """

    def __init__(
        self,
        limit_s: float,
        pids: Callable[[], Iterable[int]],
        *,
        clock_s: Callable[[], float] = time.monotonic,
        waited_s: Callable[[int], float] = waited_for_a_core_s,
    ) -> None:
        """`pids` returns the current ids of the processes. The id 0 stands for a stopped
        process.
        """
        self._pids = pids
        self._clock_s = clock_s
        self._waited_s = waited_s
        self._left_s = limit_s
        self._looked_at_s = clock_s()
        self._waited = self._look()

    def _look(self) -> dict[int, float]:
        return {pid: self._waited_s(pid) for pid in self._pids() if pid}

    def left_s(self) -> float:
        """Return how many seconds are left, or a number ≤ 0 if the time is over. Call this every
        LOOK_EVERY_S seconds.
        """
        now_s, waited = self._clock_s(), self._look()
        starved_s = max((w - self._waited.get(pid, 0.0) for pid, w in waited.items()), default=0.0)
        self._left_s -= max(0.0, now_s - self._looked_at_s - starved_s)
        self._looked_at_s, self._waited = now_s, waited
        return self._left_s

    def slice_s(self) -> float:
        """Return how many seconds to wait before the next call of `left_s`."""
        return min(LOOK_EVERY_S, max(self.left_s(), 0.0))
