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
from typing import Final

from kafka_edu.common.files import OsFileSystem
from kafka_edu.log.cleaner.clean_job import EXIT_DISK, read_job
from kafka_edu.log.cleaner.cleaner import Cleaner, Throttle

NICE: Final = 10
"""The nice value of this process: the broker, which serves clients, gets the CPU first."""


def main() -> int:
    """Read one job, do it, and write the result. Return the exit code."""
    with contextlib.suppress(OSError, AttributeError):  # Windows has no nice
        os.nice(NICE)
    job = read_job(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_the_broker, daemon=True).start()
    try:
        throttle = Throttle(job.max_bytes_per_second, time.monotonic, time.sleep)
        result = Cleaner(job, OsFileSystem(), throttle.took).clean()
    except OSError as error:
        print(json.dumps([error.errno or 0, str(error)]), flush=True)
        return EXIT_DISK
    print(json.dumps(result), flush=True)
    return 0


def _end_with_the_broker() -> None:
    while os.read(0, 4096):  # not sys.stdin: its lock would be held when the interpreter ends
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
