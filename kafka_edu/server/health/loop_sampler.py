"""When the event loop is late, find the call that blocks it, and measure the processor time of the
loop's thread. A separate thread does this.

The loop cannot do this itself, because the call is over when the loop continues. A call that blocks
in the kernel (fsync, open) releases the interpreter's lock, so the separate thread can run during
the call. This thread wakes ten times a second, shortly after the loop's next tick is due. While the
loop is on time, it does nothing.

If the loop hangs, the sampler writes the stacks of all threads to standard error. It counts its own
checks, not the time on the clock, because a process that was paused (SIGSTOP) has not hung.
Python's `faulthandler.dump_traceback_later` is not used. It depends on the clock, and reads the
stacks without the interpreter's lock. So a paused process may end with SIGSEGV when it continues.
"""

import contextlib
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Final, NamedTuple

from kafka_edu.server.health.loop_watchdog import PERIOD_MS, LoopHeld

LATE_S: Final = 0.2
LOOK_EVERY_S: Final = 0.1
NOTICED_S: Final = PERIOD_MS / 1000 + 0.02
"""The sampler reads the loop's times this many seconds after a tick, if the next tick is late."""
HANG_LOOKS: Final = 300
"""The loop counts as hanging when the sampler has found it late in this number of checks in a row.

That takes 30 s, or more on a busy machine.
"""
MOST_FRAMES: Final = 4
OURS: Final = "kafka_edu"


class ThreadTimes(NamedTuple):
    """The times of one thread since it began, in ns."""

    cpu_ns: int
    core_wait_ns: int
    """How many ns the thread was ready to run but got no core. -1 if the system does not provide
    it.
    """


class LoopSampler:
    """Samples the thread that creates it, which must be the loop's thread. The loop must call
    `tick` regularly. `take` returns what blocked the loop since the last `take`.
    """

    def __init__(self, on_hang: Callable[[str], None] | None = None) -> None:
        """`on_hang` is called with the stacks of all threads when the loop hangs.

        If it is None, the stacks go to standard error.
        """
        self._on_hang = on_hang or _to_standard_error
        self._loop_thread = threading.get_ident()
        self._thread_id = threading.get_native_id()
        self._ticked = time.monotonic()
        self._held_by = ""
        self._when_late: ThreadTimes | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="loop-sampler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def tick(self) -> None:
        """Record that the loop is alive. The loop calls this at each tick."""
        self._ticked = time.monotonic()

    def take(self) -> LoopHeld:
        """Return the call that blocked the loop, and the times of the loop's thread. Then clear
        both. They are empty if the loop was not late.
        """
        held_by, self._held_by = self._held_by, ""
        late, self._when_late = self._when_late, None
        now = self.times() if late is not None else None
        if late is None or now is None:
            return LoopHeld(held_by)
        waited_ms = (
            (now.core_wait_ns - late.core_wait_ns) // 1_000_000 if late.core_wait_ns >= 0 else -1
        )
        return LoopHeld(held_by, (now.cpu_ns - late.cpu_ns) // 1_000_000, waited_ms)

    def times(self) -> ThreadTimes | None:
        """Return the times of the loop's thread, or None if the system does not provide them. May
        be called from any thread.

        The file `/proc/self/task/N/schedstat` contains both times. Its first number is the
        processor time, its second number is the time of waiting for a core.
        """
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/self/task/{self._thread_id}/schedstat") as file:
                cpu_ns, core_wait_ns, _ = map(int, file.read().split())
            return ThreadTimes(cpu_ns, core_wait_ns)
        if hasattr(time, "pthread_getcpuclockid"):
            return ThreadTimes(
                time.clock_gettime_ns(time.pthread_getcpuclockid(self._loop_thread)), -1
            )
        return None

    def _run(self) -> None:
        looks, ticked = 0, self._ticked
        while not self._stop.wait(self._pause()):
            late_s = time.monotonic() - self._ticked
            looks = looks + 1 if ticked == self._ticked else 0
            ticked = self._ticked
            if looks == HANG_LOOKS:
                self._on_hang(stacks())
            if late_s >= NOTICED_S and self._when_late is None:
                self._when_late = self.times()
            if not self._held_by and late_s > LATE_S:
                frame = sys._current_frames().get(self._loop_thread)
                if frame is not None:
                    self._held_by = describe(frame)

    def _pause(self) -> float:
        """Return how many seconds the sampler's thread waits before it checks the loop again."""
        until_due = self._ticked + NOTICED_S - time.monotonic()
        return until_due if 0 < until_due < LOOK_EVERY_S + 0.02 else LOOK_EVERY_S


def _to_standard_error(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def stacks() -> str:
    """Return the present stack of each thread of this process, the innermost call last."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = ["the loop hangs; the stacks of all threads:\n"]
    for ident, frame in sys._current_frames().items():
        parts.append(f"thread {names.get(ident, ident)}:\n")
        parts += traceback.format_stack(frame)
    return "".join(parts)


def describe(frame: FrameType) -> str:
    """Return the names of the innermost calls: the current function, and the functions of this
    project that led to it.
    """
    parts: list[str] = []
    here: FrameType | None = frame
    while here is not None and len(parts) < MOST_FRAMES:
        module = str(here.f_globals.get("__name__", "?"))
        if not parts or module.partition(".")[0] == OURS:
            parts.append(f"{module.removeprefix(f'{OURS}.')}.{here.f_code.co_name}:{here.f_lineno}")
        here = here.f_back
    return " < ".join(parts)
