"""Says when the broker's one loop was blocked (no such thing in Kafka, which has threads).

kazoo speaks to ZooKeeper from a thread of its own, so a broker whose loop hangs keeps its session,
its leaderships, and all its clients waiting. This task asks to be woken every 100 ms. Being woken
much later means that something held the loop: if our own CPU time went by meanwhile, it was our own
code; if it did not, the machine was busy, or the process stopped. A sampler's thread
(`loop_sampler`) has looked at the stack meanwhile.
"""

import logging
from collections.abc import Callable
from typing import Final

from kafka_edu.common.log_limiter import LogLimiter
from kafka_edu.common.time import Time
from kafka_edu.trace.events.server import LoopStalled
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

PERIOD_MS: Final = 100
STALL_MS: Final = 200


class LoopWatchdog:
    """`run` is a task of the broker. `cpu_ms` says how much CPU time the loop's thread has used.
    `rearm` is called at each tick: in a real process it winds a timer that dumps the stack of a
    loop that hangs. `held_by` returns the call that held the loop since the last tick, or nothing.
    """

    def __init__(
        self,
        time: Time,
        trace: Tracer | None,
        cpu_ms: Callable[[], int],
        rearm: Callable[[], None],
        held_by: Callable[[], str] = lambda: "",
    ) -> None:
        self._time = time
        self._trace = trace
        self._cpu_ms = cpu_ms
        self._rearm = rearm
        self._held_by = held_by
        self._logged = LogLimiter(time.hi_res_clock_ms)
        self.longest_ms = 0
        """The longest stall so far."""

    async def run(self) -> None:
        while True:
            asleep_at, cpu_at = self._time.nanoseconds(), self._cpu_ms()
            await self._time.sleep(PERIOD_MS)
            self.on_tick(
                (self._time.nanoseconds() - asleep_at) // 1_000_000, self._cpu_ms() - cpu_at
            )

    def on_tick(self, slept_ms: int, cpu_ms: int) -> None:
        """Woken `slept_ms` after falling asleep for PERIOD_MS; the thread ran for `cpu_ms` of
        them.
        """
        self._rearm()
        held_by, stalled_ms = self._held_by(), slept_ms - PERIOD_MS
        if stalled_ms < STALL_MS:
            return
        if stalled_ms > self.longest_ms:
            self.longest_ms = stalled_ms
        if self._logged.allows():
            log.warning(
                "the loop stood still for %d ms, %d ms of it computing; it was seen in: %s",
                stalled_ms,
                cpu_ms,
                held_by or "nothing",
            )
        if self._trace:
            self._trace(LoopStalled(stalled_ms=stalled_ms, cpu_ms=cpu_ms, held_by=held_by))
