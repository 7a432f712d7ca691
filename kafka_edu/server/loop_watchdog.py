"""Says when the broker's one loop was blocked (no such thing in Kafka, which has threads).

kazoo speaks to ZooKeeper from a thread of its own, so a broker whose loop hangs keeps its session, its leaderships, and all its clients waiting.
This task asks to be woken every 100 ms. Being woken much later means that something held the loop: if our own CPU time went by meanwhile, it was our
own code; if it did not, the machine was busy, or the process stopped.
"""

from collections.abc import Callable
from typing import Final

from kafka_edu.common.time import Time
from kafka_edu.trace.events.server import LoopStalled
from kafka_edu.trace.tracer import Tracer

PERIOD_MS: Final = 100
STALL_MS: Final = 200


class LoopWatchdog:
    """`run` is a task of the broker. `cpu_ms` says how much CPU time the loop's thread has used. `rearm` is called at each tick: in a real process it
    winds a timer that dumps the stack of a loop that hangs."""

    def __init__(self, time: Time, trace: Tracer | None, cpu_ms: Callable[[], int], rearm: Callable[[], None]) -> None:
        self._time = time
        self._trace = trace
        self._cpu_ms = cpu_ms
        self._rearm = rearm

    async def run(self) -> None:
        while True:
            asleep_at, cpu_at = self._time.nanoseconds(), self._cpu_ms()
            await self._time.sleep(PERIOD_MS)
            self.on_tick((self._time.nanoseconds() - asleep_at) // 1_000_000, self._cpu_ms() - cpu_at)

    def on_tick(self, slept_ms: int, cpu_ms: int) -> None:
        """Woken `slept_ms` after falling asleep for PERIOD_MS; the thread ran for `cpu_ms` of them."""
        self._rearm()
        if slept_ms - PERIOD_MS >= STALL_MS and self._trace:
            self._trace(LoopStalled(slept_ms - PERIOD_MS, cpu_ms))
