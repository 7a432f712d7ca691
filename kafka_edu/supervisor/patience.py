"""Time limits for processes on a busy machine.

A limit in seconds is meant for a machine that has a core for whoever wants one. A process that is
ready to run and gets no core has not done anything wrong. Linux counts how long each process has
waited for a core (`busy_machine`). Where it does not, all time counts.
"""

import time
from collections.abc import Callable, Iterable
from typing import Final

from kafka_edu.common.busy_machine import waited_for_a_core_s

#: How often `Patience.left_s` must be looked at, in seconds. Between two looks the process that
#: waited longest counts for all.
LOOK_EVERY_S: Final = 0.5


class Patience:
    """A limit of `limit_s` seconds in which the time does not count for which one of these
    processes waited for a core.
    """

    def __init__(
        self,
        limit_s: float,
        pids: Callable[[], Iterable[int]],
        *,
        clock_s: Callable[[], float] = time.monotonic,
        waited_s: Callable[[int], float] = waited_for_a_core_s,
    ) -> None:
        """`pids` returns the ids of the processes now. 0 stands for one that is stopped."""
        self._pids = pids
        self._clock_s = clock_s
        self._waited_s = waited_s
        self._left_s = limit_s
        self._looked_at_s = clock_s()
        self._waited = self._look()

    def _look(self) -> dict[int, float]:
        return {pid: self._waited_s(pid) for pid in self._pids() if pid}

    def left_s(self) -> float:
        """Return the seconds that are left; 0 or less if there are none. Look at it every
        LOOK_EVERY_S.
        """
        now_s, waited = self._clock_s(), self._look()
        starved_s = max((w - self._waited.get(pid, 0.0) for pid, w in waited.items()), default=0.0)
        self._left_s -= max(0.0, now_s - self._looked_at_s - starved_s)
        self._looked_at_s, self._waited = now_s, waited
        return self._left_s

    def slice_s(self) -> float:
        """Return how long to wait before the next look."""
        return min(LOOK_EVERY_S, max(self.left_s(), 0.0))
