"""The file that `--report FILE` writes: delays of the view, answers to keys, and costs.

Each line is a JSON object. About one line is written per second. While the dashboard gets no
processor time, no line is written. The next line also covers that time:

    {"at": 1700000000.0, "late_ms": 310, "rss_bytes": 81000000, "cpu_s": 4.2, "frames": 5,
     "keys": [{"key": "2", "pressed_at": 1699999999.3, "drawn_ms": 41}], "left_out": {}}

`at` and `pressed_at` are seconds of the wall clock. `late_ms` is the longest delay in this time,
which is the age of the oldest event that the picture did not show yet. On an idle machine it is
about 350, because events are held for a quarter of a second to put them in order. `rss_bytes` is
the process's resident memory (0 if the system does not report it). `cpu_s` is its processor time
since its start. `frames` is the number of frames painted since the last line. `left_out` counts, by
type, the events that were not shown since the last line because there was no time.

A key is listed when the frame with its effect is painted. `pressed_at` is the time when it was read
from the terminal. `drawn_ms` is the time from then to the first frame after its action. A key
without an action is not listed. The last line is written when the dashboard ends. It also lists
keys without such a frame, for example `q`. Their time ends with the dashboard.
"""

import json
import mmap
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, TextIO

LINE_EVERY_S: Final = 1.0


def rss_bytes() -> int:
    """Return the resident memory of this process in bytes, or 0 if it is not known."""
    try:
        status = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return int(status[1]) * _PAGE


_PAGE: Final = mmap.PAGESIZE


class PressedKey(NamedTuple):
    """A key that was read from the terminal, and its time in seconds of the monotonic clock."""

    key: str
    read_s: float


class AppReport:
    """Collects what the application does, and writes one line for each second.

    If the file cannot be written, it is closed, and `failure` says why. The application continues.

    Times are seconds of the monotonic clock, as in `time.monotonic` and in Textual's messages.
    """

    def __init__(self, path: Path, now_s: float) -> None:
        """Open the file. Raises OSError if it cannot be written."""
        self.failure = ""
        """The reason why the report ended too early, or "" if it did not."""
        self._path = path
        self._file: TextIO | None = path.open("w", encoding="utf-8")
        self._last_s = now_s
        self._shown_until_s: float | None = None
        self._late_s = 0.0
        self._frames = 0
        self._pressed: PressedKey | None = None
        self._acted: list[PressedKey] = []
        self._keys: list[dict[str, object]] = []
        self._left_out: Counter[str] = Counter()

    def key_read(self, key: str, read_s: float) -> None:
        """Record that the app begins to handle a key, which was read at `read_s`."""
        self._pressed = PressedKey(key, read_s)

    def key_acted(self) -> None:
        """Record that the last key's action has run. The next frame shows its result."""
        if self._pressed is not None:
            self._acted.append(self._pressed)
            self._pressed = None

    def frame(self, now_s: float) -> None:
        """Record that a frame has been painted."""
        self._frames += 1
        self._look(now_s)
        self._answer(now_s)

    def taken(self, now_s: float, late_s: float, left_out: Counter[str]) -> None:
        """Record that events were taken: the view now knows all events up to `late_s` seconds ago.

        `left_out` counts the events that were never shown, since the start.
        """
        self._look(now_s)
        self._shown_until_s = now_s - late_s
        if now_s - self._last_s >= LINE_EVERY_S:
            self._write(left_out)
            self._last_s = now_s

    def _look(self, now_s: float) -> None:
        if self._shown_until_s is not None:
            self._late_s = max(self._late_s, now_s - self._shown_until_s)

    def _answer(self, now_s: float) -> None:
        wall = time.time() - time.monotonic()
        for key, read_s in self._acted:
            drawn_ms = round((now_s - read_s) * 1000)
            self._keys.append(
                {"key": key, "pressed_at": round(wall + read_s, 3), "drawn_ms": drawn_ms}
            )
        self._acted.clear()

    def _write(self, left_out: Counter[str]) -> None:
        if self._file is None:
            return
        line = {
            "at": round(time.time(), 3),
            "late_ms": round(self._late_s * 1000),
            "rss_bytes": rss_bytes(),
            "cpu_s": round(time.process_time(), 3),
            "frames": self._frames,
            "keys": self._keys,
            "left_out": dict(left_out - self._left_out),
        }
        try:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        except OSError as error:
            with suppress(OSError):  # it tries to write the rest again
                self._file.close()
            self._file = None
            self.failure = (
                f"the report {self._path} has ended, because it cannot be written"
                f" ({error.strerror}); its lines up to then can be read"
            )
        self._left_out = left_out.copy()
        self._late_s, self._frames, self._keys = 0.0, 0, []

    def close(self, now_s: float, left_out: Counter[str]) -> None:
        """Write the last line, and close the file."""
        self.key_acted()
        self._answer(now_s)
        self._look(now_s)
        self._write(left_out)
        if self._file is not None:
            self._file.close()
