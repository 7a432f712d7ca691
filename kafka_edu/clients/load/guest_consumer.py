"""Read a topic as an extra member of a group, until standard input closes or the parent ends.

The dashboard starts this process to show a rebalance, and stops it with SIGSTOP to show a silent
group member. On Linux the kernel kills the process when its parent ends, even while the process is
stopped.

    python -m kafka_edu.clients.load.guest_consumer BOOTSTRAP GROUP TOPIC CLIENT-ID [commit]
        [SESSION-TIMEOUT-MS]

It uses librdkafka, so that the group also has a client that is not part of this project.

Without `commit` it commits no offsets. So the other members of the group later read the same
records, and a load that counts the records that it reads misses none.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
from typing import Final

from confluent_kafka import Consumer

POLL_S: Final = 0.2
SESSION_TIMEOUT_MS: Final = 6_000
_PR_SET_PDEATHSIG: Final = 1


def die_with_parent() -> None:
    """Ask the Linux kernel to kill this process when its parent ends.

    Other systems cannot do this.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def run(
    bootstrap: str,
    group: str,
    topic: str,
    client_id: str,
    *,
    commit: bool,
    session_timeout_ms: int = SESSION_TIMEOUT_MS,
) -> None:
    """Read the topic until standard input is closed. Then leave the group."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": client_id,
            "auto.offset.reset": "latest",
            "enable.auto.commit": commit,
            "session.timeout.ms": session_timeout_ms,
            "heartbeat.interval.ms": 1_000,
        }
    )
    consumer.subscribe([topic])
    try:
        while True:
            consumer.poll(POLL_S)
            if select.select([sys.stdin], [], [], 0)[0] and not os.read(sys.stdin.fileno(), 1):
                return
    finally:
        consumer.close()


if __name__ == "__main__":
    die_with_parent()
    options = sys.argv[5:]
    sessions = [int(option) for option in options if option.isdecimal()]
    run(
        *sys.argv[1:5],
        commit="commit" in options,
        session_timeout_ms=sessions[0] if sessions else SESSION_TIMEOUT_MS,
    )
