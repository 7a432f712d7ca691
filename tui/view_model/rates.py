"""Rates out of totals: brokers tell running totals, ten times a second; a rate is the difference of
two of them by the time between.
"""

from collections import deque
from typing import Final

WINDOW_US: Final = 500_000
KEPT: Final = 120


class Rate:
    """One total as a rate per second, a value each half second, the last minute kept. O(1) a
    sample.
    """

    def __init__(self) -> None:
        self.history: deque[float] = deque(maxlen=KEPT)
        self.total = 0
        self._from: tuple[int, int] | None = None

    @property
    def now(self) -> float:
        """The latest rate; 0 while there is none."""
        return self.history[-1] if self.history else 0.0

    def sample(self, total: int, now_us: int) -> None:
        """Take a total. One that fell begins anew: the process was started again."""
        self.total = total
        if self._from is None or total < self._from[0]:
            self._from = (total, now_us)
            return
        before, at_us = self._from
        if now_us - at_us >= WINDOW_US:
            self.history.append((total - before) * 1e6 / (now_us - at_us))
            self._from = (total, now_us)

    def forget(self) -> None:
        """The process is gone; the next total is another's."""
        self.history.clear()
        self._from = None
