"""Notice when the broker's one loop was blocked (Kafka has threads and nothing like this).

kazoo talks to ZooKeeper from its own thread. So a broker whose loop hangs keeps its session, its
leaderships, and all its waiting clients. This task wakes every 100 ms. If it wakes much later,
something held the loop. If our own CPU time passed meanwhile, our code did. If not, the machine was
busy, or the process was stopped. Meanwhile a sampler's thread (`loop_sampler`) has read the stack.
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
    """`run` is a task of the broker. `cpu_ms` returns the CPU time that the loop's thread has used.
    `rearm` is called at each tick. In a real process it restarts a timer that dumps the stack of a
    loop that hangs. `held_by` returns the call that held the loop since the last tick, or "".
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
        """Handle one tick. It came `slept_ms` after the task fell asleep for PERIOD_MS, and the
        thread ran for `cpu_ms` of that time.
        """
        self._rearm()
        held_by, stalled_ms = self._held_by(), slept_ms - PERIOD_MS
        if stalled_ms < STALL_MS:
            return
        if stalled_ms > self.longest_ms:
            self.longest_ms = stalled_ms
        if self._logged.allows():
            log.warning(
                "the loop was blocked for %d ms, and computed for %d ms of them; the call seen: %s",
                stalled_ms,
                cpu_ms,
                held_by or "nothing",
            )
        if self._trace:
            self._trace(LoopStalled(stalled_ms=stalled_ms, cpu_ms=cpu_ms, held_by=held_by))
