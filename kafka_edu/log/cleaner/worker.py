"""Run a cleaning pass in a separate process: `python -m kafka_edu.log.cleaner.worker`.

The process reads one job as a line of JSON from standard input, and writes the result as a line to
standard output. It exits when its standard input is closed, because then the broker has ended. A
thread in the broker would hold the interpreter lock (GIL) and so block the broker's loop.
"""

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafka_edu.common.files import OsFileSystem
from kafka_edu.log.cleaner.clean_job import EXIT_DISK, read_job
from kafka_edu.log.cleaner.cleaner import Cleaner, Throttle

NICE: Final = 10
"""The nice value of this process: the broker and its clients get the CPU first."""
LARGE_BYTES: Final = 4 << 20
"""A pass that reads and writes more bytes than this lowers its priority (`give_way`). They take
some 10 ms of processor time. For a smaller pass this is not worth it.
"""
AUTOGROUP: Final = Path("/proc/self/autogroup")
AUTOGROUP_TRIES: Final = 50
AUTOGROUP_PAUSE_S: Final = 0.1


def main() -> int:
    """Read one job, do it, and write the result. Return the exit code."""
    with contextlib.suppress(OSError, AttributeError):  # Windows has no nice
        os.nice(NICE)
    job = read_job(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_the_broker, daemon=True).start()
    try:
        throttle = Throttle(job.max_bytes_per_second, time.monotonic, time.sleep)
        progress = Progress(throttle.took, lambda: give_way(AUTOGROUP))
        result = Cleaner(job, OsFileSystem(), progress.took).clean()
    except OSError as error:
        print(json.dumps([error.errno or 0, str(error)]), flush=True)
        return EXIT_DISK
    print(json.dumps(result), flush=True)
    return 0


class Progress:
    """Counts the bytes that a pass reads and writes. Calls `on_large` once, when there are more
    than LARGE_BYTES.
    """

    def __init__(self, took: Callable[[int], None], on_large: Callable[[], None]) -> None:
        self._took = took
        self._on_large = on_large
        self._left = LARGE_BYTES

    def took(self, count: int) -> None:
        if self._left >= 0:
            self._left -= count
            if self._left < 0:
                self._on_large()
        self._took(count)


def give_way(autogroup: Path) -> None:
    """Lower the priority of this process compared with processes outside of the broker's session.

    Many Linux systems schedule by session. Each session is an autogroup, and all autogroups get the
    same share of a core. A nice value counts only among the processes of one autogroup. On such a
    system, a cleaner with a nice value in the broker's session would get 50 % of a core that a
    producer in another session wants too. So this process begins a new session, and sets the nice
    value for the session's autogroup too. With this setting it gets 10 % of the core.
    """
    if not autogroup.exists():
        return
    with contextlib.suppress(PermissionError):  # It has a session of its own already.
        os.setsid()
    for _ in range(AUTOGROUP_TRIES):
        try:
            autogroup.write_text(str(NICE))
            return
        except BlockingIOError:  # Linux limits how often users other than root may write it.
            time.sleep(AUTOGROUP_PAUSE_S)  # this process has no loop, and nothing else to do yet
        except OSError:
            return


def _end_with_the_broker() -> None:
    while os.read(0, 4096):  # not sys.stdin: its lock would be held when the interpreter ends
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
