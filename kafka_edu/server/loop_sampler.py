"""Says which call holds the loop: a thread of its own looks at the loop's stack when the loop is
late.

The loop cannot say it itself: when it comes to speak again, the call is over. A call that blocks in
the kernel (fsync, open) gives the interpreter's lock away, and so this thread runs meanwhile. It
wakes ten times a second and does nothing while the loop is in time.
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
    """Made on the loop's thread. `tick` is called by the loop, again and again; `take` returns what
    held it since.
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
        """The loop is alive."""
        self._ticked = time.monotonic()

    def take(self) -> str:
        """Return the call that held the loop, innermost first, and forget it; empty if the loop was
        not seen late.
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
    """Name the innermost calls: the frame itself, and those of our own code below it."""
    told: list[str] = []
    here: FrameType | None = frame
    while here is not None and len(told) < FRAMES_TOLD:
        module = str(here.f_globals.get("__name__", "?"))
        if not told or module.partition(".")[0] == OURS:
            told.append(f"{module.removeprefix(f'{OURS}.')}.{here.f_code.co_name}:{here.f_lineno}")
        here = here.f_back
    return " < ".join(told)
