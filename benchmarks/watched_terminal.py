"""Run a kafka-edu program in a terminal, and measure from outside when it answers a key.

The program's own reports are not used. A key counts as answered when the terminal has received a
text that only the new picture contains. The time that a terminal needs for drawing, about 10 ms, is
not included.
"""

import contextlib
import fcntl
import os
import pty
import re
import struct
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

SIZE: Final = (45, 150)
"""Rows and columns. The footer of each screen fits into this width."""
_CONTROL: Final = re.compile(rb"\x1b(\[[0-9;?<>=]*[a-zA-Z]|[^\[])")
#: A duration in the format of `kafka_edu.common.words.duration`: 1.4 s, 12 min 05 s, 2 h 07 min.
_LATE: Final = re.compile(
    r"▶ (?:live|(?:(\d+) h )?(?:(\d+) min ?)?(?:([\d.]+) s ?)?(?:(\d+) ms ?)?late)"
)


def plain(data: bytes) -> str:
    """Return the text that a terminal would show, without positions and colours."""
    return _CONTROL.sub(b"", data).decode("utf-8", "replace")


def lateness_said(shown: str) -> float | None:
    """Return the lateness in s from the last status line in the text.

    Return None if there is no status line. The line says "live" up to 2 s, which counts as 0.
    """
    said = list(_LATE.finditer(shown))
    if not said:
        return None
    hours, minutes, seconds, ms = (float(part or 0) for part in said[-1].groups())
    return 3600 * hours + 60 * minutes + seconds + ms / 1000


class WatchedTerminal:
    """A program in its own terminal. `close` ends the program."""

    def __init__(self, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(cwd)
                os.execvpe(command[0], [*command], dict(env))
            finally:
                os._exit(127)
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        self._changed = threading.Condition()
        self._came: list[tuple[float, bytes]] = []
        self._ended = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except OSError:
                data = b""
            with self._changed:
                if data:
                    self._came.append((time.monotonic(), data))
                self._ended = not data
                self._changed.notify_all()
            if not data:
                return

    def since(self, moment_s: float) -> str:
        """Return the text that the program wrote after this moment."""
        with self._changed:
            return plain(b"".join(data for at, data in self._came if at >= moment_s))

    @property
    def last_s(self) -> float:
        """Time of the program's last output, in s of the monotonic clock. 0 if there is none."""
        with self._changed:
            return self._came[-1][0] if self._came else 0.0

    def wait_for(self, text: str, since_s: float, patience_s: float) -> float | None:
        """Wait for `text` in the output after `since_s`.

        Return the time when it came, on the monotonic clock. Return None if it does not come within
        `patience_s` seconds, or if the program ends first.
        """
        end_s = time.monotonic() + patience_s
        with self._changed:
            while True:
                came = [one for one in self._came if one[0] >= since_s]
                if text in plain(b"".join(data for _, data in came)):
                    return came[-1][0]
                left_s = end_s - time.monotonic()
                if left_s <= 0 or self._ended:
                    return None
                self._changed.wait(left_s)

    def press(self, key: str) -> float:
        """Send a key to the program. Return the time, in s of the monotonic clock."""
        pressed_s = time.monotonic()
        os.write(self._descriptor, key.encode())
        return pressed_s

    def time_key(self, key: str, answer: str, patience_s: float) -> float | None:
        """Press a key.

        Return the seconds until the text `answer` came, or None if it did not come.
        """
        pressed_s = self.press(key)
        came_s = self.wait_for(answer, pressed_s, patience_s)
        return came_s - pressed_s if came_s is not None else None

    def wait_end(self, patience_s: float) -> int | None:
        """Wait until the program ends, and return its exit code.

        Return None if it does not end within `patience_s` seconds.
        """
        end_s = time.monotonic() + patience_s
        while time.monotonic() < end_s:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                return None
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        return None

    def close(self) -> None:
        """Kill the program if it still runs."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, 9)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
            self.pid = 0
        with contextlib.suppress(OSError):
            os.close(self._descriptor)
