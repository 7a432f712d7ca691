"""Start a process that helps the soak and prints lines of JSON. The process ends with the soak.

There are two kinds of such processes: one subscribes to the trace, and one keeps the disk busy.
"""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import Final

from kafka_edu.common.python_process import python_command, python_environment

_PATIENCE_S: Final = 5.0


class SideProcess:
    """A process that starts when this object is made.

    A thread calls `on_line` with each line that the process prints.
    """

    def __init__(
        self, module: str, arguments: list[str], on_line: Callable[[dict[str, object]], None]
    ) -> None:
        self._process = subprocess.Popen(
            python_command(
                "kafka_edu.supervisor.supervised_child", str(os.getpid()), module, *arguments
            ),
            env=python_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._on_line = on_line
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                fields = json.loads(line)
            except ValueError:  # an incomplete line, from a killed process
                continue
            self._on_line(fields)

    def stop(self) -> None:
        """Send SIGTERM to the process, and SIGKILL if it does not end in time."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
