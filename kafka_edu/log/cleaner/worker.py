"""Run a cleaning pass in a process of its own: `python -m kafka_edu.log.cleaner.worker`.

The process reads one job as a line of JSON from standard input, and writes the result as a line to
standard output. It exits when its standard input is closed, because then the broker has ended. A
thread in the broker would not do, because it would hold the interpreter lock (GIL) and so block the
broker's loop.
"""

import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Final

from kafka_edu.common.files import OsFileSystem
from kafka_edu.log.cleaner.clean_job import EXIT_DISK, read_job
from kafka_edu.log.cleaner.cleaner import Cleaner, Throttle

NICE: Final = 10
"""The nice value of this process: the broker and its clients get the CPU first."""
AUTOGROUP: Final = Path("/proc/self/autogroup")
AUTOGROUP_TRIES: Final = 50
AUTOGROUP_PAUSE_S: Final = 0.1


def main() -> int:
    """Read one job, do it, and write the result. Return the exit code."""
    job = read_job(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_the_broker, daemon=True).start()
    give_way(AUTOGROUP)
    try:
        throttle = Throttle(job.max_bytes_per_second, time.monotonic, time.sleep)
        result = Cleaner(job, OsFileSystem(), throttle.took).clean()
    except OSError as error:
        print(json.dumps([error.errno or 0, str(error)]), flush=True)
        return EXIT_DISK
    print(json.dumps(result), flush=True)
    return 0


def give_way(autogroup: Path) -> None:
    """Lower the priority of this process compared with the broker, its clients and all others.

    Many Linux systems schedule by session: each session is an autogroup, all autogroups get the
    same share of a core, and a nice value counts only inside its own autogroup. There a nice
    cleaner in the broker's session gets as much of a core as a producer in another session: 50 %
    of a core that both want. So this process begins a session of its own, and gives that autogroup
    the nice value too. Then it gets 10 %.

    The start of Python and its imports are over by then, at the normal priority. So a pass over a
    small log also ends soon on a busy machine.
    """
    with contextlib.suppress(OSError, AttributeError):  # Windows has no nice
        os.nice(NICE)
    if not autogroup.exists():
        return
    with contextlib.suppress(PermissionError):  # It has a session of its own already.
        os.setsid()
    for _ in range(AUTOGROUP_TRIES):
        try:
            autogroup.write_text(str(NICE))
            return
        except BlockingIOError:  # Linux allows it to users other than root only now and then.
            time.sleep(AUTOGROUP_PAUSE_S)
        except OSError:
            return


def _end_with_the_broker() -> None:
    while os.read(0, 4096):  # not sys.stdin: its lock would be held when the interpreter ends
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
