"""A separate process that the dashboard starts, and that ends with the dashboard.

The process ends when its standard input is closed. The dashboard closes it, or the system does when
the dashboard ends, even after a crash.
"""

import subprocess
import tempfile
from contextlib import suppress
from typing import Final

from kafka_edu.common.python_process import python_command, python_environment

END_S: Final = 5.0


class SideProcess:
    """A Python program of ours. Its last line says why it ended, if it ended by itself."""

    def __init__(self, module: str, *arguments: str) -> None:
        """Start it. Raises OSError if it cannot be started."""
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - kept for its last line
        self._process = subprocess.Popen(
            python_command(module, *arguments),
            env=python_environment(),
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so Ctrl-C at this terminal reaches only the dashboard
        )

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """Ask the process to end. It may first finish its work."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def end(self) -> None:
        """Ask the process to end, and wait for it. A process that does not end is killed."""
        self.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        if self.running:
            self._process.kill()
            self._process.wait()

    def failure(self) -> str:
        """Return why the process has ended by itself; "" if it runs or has ended well."""
        if self.running or self._process.returncode == 0:
            return ""
        self._output.seek(0)
        lines = self._output.read().decode("utf-8", "replace").strip().splitlines()
        code = f"exit code {self._process.returncode}"
        return lines[-1].removeprefix("Error: ") if lines else code
