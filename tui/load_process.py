"""The load that the dashboard's key starts: a process of its own, `kafka-edu load`.

The process ends when the dashboard's end of its standard input is closed. This happens when the key
is pressed again, and when the dashboard ends, even after a crash.
"""

import subprocess
import tempfile
from collections.abc import Sequence
from typing import IO

from kafka_edu.common.python_process import python_command, python_environment


class LoadProcess:
    """Runs at most one load at a time.

    A load that was stopped may still wait for its last answers while the next load begins.
    """

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None
        self._ending: list[subprocess.Popen[bytes]] = []

    @property
    def running(self) -> bool:
        """Return whether a load is running that was not stopped."""
        return self._process is not None and self._process.poll() is None

    def start(self, options: Sequence[str] = ()) -> None:
        """Start a load with these options of its command.

        Raises OSError if it cannot be started.
        """
        self._ending = [process for process in self._ending if process.poll() is None]
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - kept for its last line
        self._process = subprocess.Popen(
            python_command(
                "kafka_edu",
                "load",
                "--cluster",
                self._cluster,
                "--while-stdin-is-open",
                *options,
            ),
            env=python_environment(),
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so Ctrl-C at this terminal reaches only the dashboard
        )

    def stop(self) -> None:
        """Ask the load to end. It first waits some seconds for its last answers."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._ending.append(self._process)
        self._process = self._output = None

    def failure(self) -> str | None:
        """Return why the load ended by itself. Return None if it runs or was stopped.

        Each reason is returned only once.
        """
        process, output = self._process, self._output
        if process is None or process.poll() is None:
            return None
        self._process = self._output = None
        if output is None or process.returncode == 0:
            return None
        output.seek(0)
        lines = output.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1].removeprefix("Error: ") if lines else f"exit code {process.returncode}"
