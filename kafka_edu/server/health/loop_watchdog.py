"""Detect that the broker's event loop was blocked. (Kafka has no event loop and no such check.)

kazoo talks to ZooKeeper from its own thread. So a broker whose loop hangs keeps its session and its
leaderships, and its clients wait. The watchdog's task wakes every 100 ms. If it wakes much later,
the loop was blocked. If the loop's thread used CPU time meanwhile, the broker's code blocked the
loop. Otherwise the machine was busy, or the process was stopped. While the loop is blocked, the
thread of `loop_sampler` reads the stack and the processor time of the loop's thread.
"""

import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from kafka_edu.common.log_limiter import LogLimiter
from kafka_edu.common.time import Time
from kafka_edu.trace.events.server import LoopStalled
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

PERIOD_MS: Final = 100
STALL_MS: Final = 200


class LoopHeld(NamedTuple):
    """The data that the sampler's thread collected while the loop was late."""

    held_by: str = ""
    """The call that blocked the loop, with the innermost function first. "" if the sampler saw
    none.
    """
    turn_cpu_ms: int = -1
    """The processor time in ms that the loop's thread used while the loop was late. -1 if it is not
    known.
    """
    core_wait_ms: int = -1
    """How many ms the loop's thread was ready to run but got no core. -1 if it is not known."""


class LoopWatchdog:
    """Measures delays of the event loop. The broker runs `run` as a task.

    `cpu_ms` returns the CPU time in ms that the loop's thread has used. `rearm` is called at each
    tick. In a real process it restarts a timer that prints the stack if the loop hangs. `held`
    returns what blocked the loop since the last tick.
    """

    def __init__(
        self,
        time: Time,
        trace: Tracer | None,
        cpu_ms: Callable[[], int],
        rearm: Callable[[], None],
        held: Callable[[], LoopHeld] = LoopHeld,
    ) -> None:
        self._time = time
        self._trace = trace
        self._cpu_ms = cpu_ms
        self._rearm = rearm
        self._held = held
        self._logged = LogLimiter(time.hi_res_clock_ms)
        self.longest_ms = 0
        """The longest delay so far, in ms."""

    async def run(self) -> None:
        while True:
            asleep_at, cpu_at = self._time.nanoseconds(), self._cpu_ms()
            await self._time.sleep(PERIOD_MS)
            self.on_tick(
                (self._time.nanoseconds() - asleep_at) // 1_000_000, self._cpu_ms() - cpu_at
            )

    def on_tick(self, slept_ms: int, cpu_ms: int) -> None:
        """Handle one tick. `slept_ms` is the time since the task fell asleep for PERIOD_MS.
        `cpu_ms` is the CPU time that the thread used in that time.
        """
        held, stalled_ms = self._held(), slept_ms - PERIOD_MS
        self._rearm()
        if stalled_ms < STALL_MS:
            return
        if stalled_ms > self.longest_ms:
            self.longest_ms = stalled_ms
        if self._logged.allows():
            log.warning(
                "the loop was blocked for %d ms. Its thread computed for %s of them, and waited for"
                " a core for %s; the call seen: %s",
                stalled_ms,
                _ms(held.turn_cpu_ms if held.turn_cpu_ms >= 0 else cpu_ms),
                _ms(held.core_wait_ms),
                held.held_by or "nothing",
            )
        if self._trace:
            self._trace(
                LoopStalled(
                    stalled_ms=stalled_ms,
                    cpu_ms=cpu_ms,
                    held_by=held.held_by,
                    turn_cpu_ms=held.turn_cpu_ms,
                    core_wait_ms=held.core_wait_ms,
                )
            )


def _ms(ms: int) -> str:
    return f"{ms} ms" if ms >= 0 else "an unknown time"
