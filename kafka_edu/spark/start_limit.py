"""Limit the time that programs may take to start, on a machine that may be busy.

A JVM starts in a second, or in minutes if it hardly gets a processor core. Therefore a start does
not fail after a fixed time. It fails if the program has used much processor time, or has done
nothing for a long time although it could have run (see `busy_machine`). If the system does not
report such numbers, the time on the clock counts.
"""

import time
from collections.abc import Callable, Iterable
from typing import Final

from kafka_edu.common.busy_machine import Allowance, Meter, overdrawn

ALLOWANCE: Final = Allowance(processor_s=180.0, idle_s=90.0, clock_s=180.0)
_LOOK_EVERY_S: Final = 0.5


class StartLimit:
    """Decides whether all of the given programs have used up their time.

    As long as one program still has time, the start may go on, because the other programs may be
    waiting for this one.
    """

    def __init__(
        self,
        pids: Iterable[int],
        allowance: Allowance = ALLOWANCE,
        *,
        meter_of: Callable[[int], Meter] = Meter,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._allowance = allowance
        self._meters = [meter_of(pid) for pid in pids]
        self._clock_s = clock_s
        self._look_at_s = clock_s() + _LOOK_EVERY_S

    def is_over(self) -> bool:
        """Return whether the start must be given up. It checks only twice a second, because a check
        reads all of /proc.
        """
        if self._clock_s() < self._look_at_s:
            return False
        self._look_at_s = self._clock_s() + _LOOK_EVERY_S
        spent = [meter.look() for meter in self._meters]
        return all(overdrawn(each, self._allowance) for each in spent)
