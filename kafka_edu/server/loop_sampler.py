"""Find the call that holds the loop: a separate thread reads the loop's stack when the loop is
late.

The loop cannot do this itself, because the call is over when the loop continues. A call that blocks
in the kernel (fsync, open) releases the interpreter's lock. So this thread runs meanwhile. It wakes
ten times a second, and does nothing while the loop is on time.
"""

import sys
import threading
import time
from types import FrameType
from typing import Final

LATE_S: Final = 0.2
LOOK_EVERY_S: Final = 0.1
FRAMES_TOLD: Final = 4
OURS: Final = "kafka_edu"


class LoopSampler:
    """Created on the loop's thread. The loop calls `tick` regularly. `take` returns the call that
    held the loop since the last `take`.
    """

    def __init__(self) -> None:
        self._loop_thread = threading.get_ident()
        self._ticked = time.monotonic()
        self._held_by = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="loop-sampler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def tick(self) -> None:
        """Note that the loop is alive."""
        self._ticked = time.monotonic()

    def take(self) -> str:
        """Return the call that held the loop, innermost first, and forget it. Return "" if the loop
        was not late.
        """
        held_by, self._held_by = self._held_by, ""
        return held_by

    def _run(self) -> None:
        while not self._stop.wait(LOOK_EVERY_S):
            if not self._held_by and time.monotonic() - self._ticked > LATE_S:
                frame = sys._current_frames().get(self._loop_thread)
                if frame is not None:
                    self._held_by = describe(frame)


def describe(frame: FrameType) -> str:
    """Name the innermost calls: the frame itself, and the frames of our own code below it."""
    told: list[str] = []
    here: FrameType | None = frame
    while here is not None and len(told) < FRAMES_TOLD:
        module = str(here.f_globals.get("__name__", "?"))
        if not told or module.partition(".")[0] == OURS:
            told.append(f"{module.removeprefix(f'{OURS}.')}.{here.f_code.co_name}:{here.f_lineno}")
        here = here.f_back
    return " < ".join(told)
