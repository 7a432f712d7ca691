"""Keep the disk busy, in a separate process.

`python -m kafka_edu.cli.soak.noise FILE BYTES`. This process works like `dd oflag=dsync`: it writes
blocks over the same file of limited size again and again, and forces each block to the disk. It
writes at most 50 MB/s, so that an hour does not wear out the disk. It prints the time of its
longest fsync as lines of JSON. This shows how busy the disk was. The process removes the file when
it is stopped.
"""

import json
import os
import signal
import sys
import time
from typing import Final, NoReturn

BLOCK_BYTES: Final = 1 << 20
MOST_BYTES_A_SECOND: Final = 50 << 20
_TELL_EVERY_S: Final = 2.0


def busy_disk(path: str, most_bytes: int) -> NoReturn:
    """Write blocks to the file `path` and fsync each one until the process is stopped."""
    block = os.urandom(BLOCK_BYTES)
    longest_s = reported_at = 0.0
    written = 0
    with open(path, "wb", buffering=0) as file:
        while True:
            began = time.monotonic()
            file.write(block)
            written += BLOCK_BYTES
            os.fsync(file.fileno())
            now = time.monotonic()
            longest_s = max(longest_s, now - began)
            if file.tell() + BLOCK_BYTES > most_bytes:
                file.seek(0)
            time.sleep(max(BLOCK_BYTES / MOST_BYTES_A_SECOND - (now - began), 0.0))
            if now > reported_at + _TELL_EVERY_S:
                reported_at = now
                print(
                    json.dumps(
                        {"written_mb": written >> 20, "longest_fsync_ms": round(longest_s * 1000)}
                    ),
                    flush=True,
                )


def _stop(signum: int, frame: object) -> NoReturn:
    raise SystemExit(0)


def main() -> None:
    signal.signal(signal.SIGTERM, _stop)
    # At Ctrl-C, the soak stops this process when it has all results.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    path, most_bytes = sys.argv[1:]
    try:
        busy_disk(path, int(most_bytes))
    finally:
        os.unlink(path)


if __name__ == "__main__":
    main()
