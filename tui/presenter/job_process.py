"""The process that runs a chapter's jobs. It reads a job's name from each line of its input.

One process serves the whole presentation, because Spark takes seconds to start. It ends when its
standard input is closed. This happens at the end of the presentation, even after a crash.
"""

import subprocess
import tempfile
from collections.abc import Sequence
from typing import IO

from kafka_edu.common.python_process import python_command, python_environment


class JobProcess:
    """Runs at most one process at a time. If it has ended, the next job starts it again."""

    def __init__(self, cluster: str, command: Sequence[str]) -> None:
        """Prepare the process.

        `command` are the words of the `kafka-edu` command that runs the jobs.
        """
        self._cluster = cluster
        self._command = tuple(command)
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    def open(self) -> None:
        """Start the process unless it runs. Raises OSError if it cannot be started."""
        if self._process is not None and self._process.poll() is None:
            return
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - kept for its last line
        self._process = subprocess.Popen(
            python_command("kafka_edu", *self._command, "--cluster", self._cluster),
            env=python_environment(),
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so Ctrl-C at this terminal reaches only the dashboard
        )

    def run(self, name: str) -> None:
        """Give the process the next job.

        The previous job ends. Raises OSError if the process is gone.
        """
        self.open()
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{name}\n".encode())
        self._process.stdin.flush()

    def close(self) -> None:
        """Close the process's standard input, so that it ends."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def failure(self) -> str:
        """Return why the process ended by itself, or "" if it runs or was never started.

        Each reason is returned only once.
        """
        process, output = self._process, self._output
        if process is None or output is None or process.poll() is None:
            return ""
        self._process = self._output = None
        output.seek(0)
        lines = output.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1].removeprefix("Error: ") if lines else f"exit code {process.returncode}"
