"""The load that the dashboard's key starts: a process of its own, `kafka-edu load`.

It ends when the other end of its standard input is closed: by the key, or because the dashboard
has ended, however that came about.
"""

import subprocess
import tempfile
from collections.abc import Sequence
from typing import IO

from kafka_edu.common.python_process import python_command, python_environment


class LoadProcess:
    """At most one load at a time. One that was stopped may still wait for its last answers while
    the next one begins.
    """

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None
        self._ending: list[subprocess.Popen[bytes]] = []

    @property
    def running(self) -> bool:
        """Return whether a load runs that was not stopped."""
        return self._process is not None and self._process.poll() is None

    def start(self, options: Sequence[str] = ()) -> None:
        """Start it, with these options of the command. Raises OSError."""
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
            start_new_session=True,  # Ctrl-C at this terminal is the dashboard's
        )

    def stop(self) -> None:
        """Ask it to end. It waits for its last answers first, for some seconds."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._ending.append(self._process)
        self._process = self._output = None

    def failure(self) -> str | None:
        """Return why it ended by itself, once; None if it runs or was stopped."""
        process, output = self._process, self._output
        if process is None or process.poll() is None:
            return None
        self._process = self._output = None
        if output is None or process.returncode == 0:
            return None
        output.seek(0)
        lines = output.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1].removeprefix("Error: ") if lines else f"exit code {process.returncode}"
