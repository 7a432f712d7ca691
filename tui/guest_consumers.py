"""Consumers that the Groups screen starts: they join a group, fall silent, come back, and leave.

Each consumer is a process of its own with an unmodified client, because SIGSTOP stops a whole
process.
"""

import contextlib
import signal
import subprocess
from typing import Final

from kafka_edu.common.python_process import python_command, python_environment

MODULE: Final = "kafka_edu.clients.load.guest_consumer"


class GuestConsumers:
    """The consumers that this dashboard has started, the newest last.

    They end with the dashboard.
    """

    def __init__(self, *, commit: bool = False) -> None:
        """Start with no consumers.

        With `commit`, the consumers commit offsets. Other members then do not get the records
        before these offsets.
        """
        self._commit = commit
        self._processes: list[tuple[str, subprocess.Popen[bytes]]] = []
        self._started = 0
        self._stopped: set[int] = set()

    def names(self) -> list[str]:
        """Return the client ids of the consumers that run, including those stopped by SIGSTOP."""
        self._processes = [each for each in self._processes if each[1].poll() is None]
        return [name for name, _ in self._processes]

    def is_stopped(self) -> bool:
        """Return whether one of the consumers is stopped by SIGSTOP."""
        return any(process.pid in self._stopped for _, process in self._processes)

    def join(self, bootstrap: str, group: str, topic: str) -> str:
        """Start one more consumer and return its client id.

        Raises OSError if it cannot be started.
        """
        self._started += 1
        name = f"guest-{self._started}"
        process = subprocess.Popen(
            python_command(MODULE, bootstrap, group, topic, name, *["commit"] * self._commit),
            env=python_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so Ctrl-C at this terminal reaches only the dashboard
        )
        self._processes.append((name, process))
        return name

    def silence(self) -> str:
        """Stop the newest running consumer with SIGSTOP. Return its name, or "" if none runs."""
        for name, process in reversed(self._processes):
            if process.poll() is None and process.pid not in self._stopped:
                process.send_signal(signal.SIGSTOP)
                self._stopped.add(process.pid)
                return name
        return ""

    def wake(self) -> str:
        """Resume the newest stopped consumer. Return its name, or "" if none is stopped."""
        for name, process in reversed(self._processes):
            if process.poll() is None and process.pid in self._stopped:
                process.send_signal(signal.SIGCONT)
                self._stopped.discard(process.pid)
                return name
        return ""

    def leave(self) -> str:
        """Let the newest consumer leave its group and end. Return its name, or "" if none runs."""
        if not self.names():
            return ""
        name, process = self._processes.pop()
        process.send_signal(signal.SIGCONT)
        self._stopped.discard(process.pid)
        if process.stdin is not None:
            process.stdin.close()
        return name

    def close(self) -> None:
        """Kill all consumers, because the dashboard ends."""
        for _, process in self._processes:
            with contextlib.suppress(OSError):
                process.kill()
                process.wait(timeout=5)
        self._processes.clear()
