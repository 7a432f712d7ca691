"""Rates, computed from running totals.

Brokers report running totals ten times a second. A rate is the difference of two totals, divided by
the time between them.
"""

from collections import deque
from typing import Final

WINDOW_US: Final = 500_000
KEPT: Final = 120


class Rate:
    """The rate of one total per second. It has a value for each half second of the last minute.

    O(1) for each sample.
    """

    def __init__(self) -> None:
        self.history: deque[float] = deque(maxlen=KEPT)
        self.total = 0
        self.rose = 0
        """The difference between the last two samples."""
        self._from: tuple[int, int] | None = None

    @property
    def now(self) -> float:
        """Return the latest rate, or 0 if there is none yet."""
        return self.history[-1] if self.history else 0.0

    def sample(self, total: int, now_us: int) -> None:
        """Record a new total.

        If it is smaller than the last total, the process was restarted, and the rate starts again.
        """
        self.rose = max(total - self.total, 0) if self._from is not None else 0
        self.total = total
        if self._from is None or total < self._from[0]:
            self._from = (total, now_us)
            return
        before, at_us = self._from
        if now_us - at_us >= WINDOW_US:
            self.history.append((total - before) * 1e6 / (now_us - at_us))
            self._from = (total, now_us)

    def forget(self) -> None:
        """Forget the total. Its process is gone, and the next total belongs to a new process."""
        self.history.clear()
        self._from = None
