"""The true statistics of a web log, which are counted while `generator` makes the log.

Whether a line is late depends on the order of the lines. A line is `late` if an earlier line of the
log has a later time. It is `too late` if that time is later by more than the watermark. A streaming
job may drop lines that are too late, but it must count all others. So `windows` has the lines that
are not too late. `windows_of_all` has every good line, as a batch job finds them.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafka_edu.clients.web_log import bad_lines, catalogue
from kafka_edu.clients.web_log.catalogue import Visitor
from kafka_edu.common.arrays import Bools, Int64s

if TYPE_CHECKING:
    from kafka_edu.clients.web_log.block import LogBlock


PERCENT: Final = 99
HELD_LINES: Final = 500_000
"""Complete windows are closed only when at least this many request times are in memory."""
MAX_STATUS: Final = 600


class WindowTruth(NamedTuple):
    """One window: its lines, its errors (status of 500 or more), and the exact 99th percentile of
    its request times.
    """

    lines: int
    errors: int
    p99_us: int
    """99th percentile in µs: the smallest request time that 99 % of the lines do not exceed."""

    @property
    def error_rate(self) -> float:
        """Return errors / lines, a number from 0 to 1."""
        return self.errors / self.lines


class Windows:
    """Collect request times by window. Close a window when no more lines can belong to it."""

    def __init__(self, window_s: int) -> None:
        self._window_s = window_s
        self._closed: dict[int, WindowTruth] = {}
        self._window: list[Int64s] = []
        self._value: list[Int64s] = []
        self._held = 0
        self._close_at = HELD_LINES

    def add(self, time_s: Int64s, status: Int64s, duration_us: Int64s, complete_s: int) -> None:
        """Count lines. After this call, no line with a time before `complete_s` will come."""
        self._window.append(time_s // self._window_s)
        # The lowest bit of the value says whether the line is an error. So one sort orders both.
        self._value.append(duration_us << 1 | (status >= 500))
        self._held += time_s.size
        if self._held >= self._close_at:
            self._close(complete_s // self._window_s)

    def _close(self, before: int) -> None:
        window, value = np.concatenate(self._window), np.concatenate(self._value)
        done = window < before
        self._closed |= _windows(window[done], value[done], self._window_s)
        self._window, self._value = [window[~done]], [value[~done]]
        self._held = int(window.size - done.sum())
        self._close_at = max(HELD_LINES, 2 * self._held)

    @property
    def held(self) -> int:
        """Return the number of request times in memory.

        These request times belong to windows that are not closed yet.
        """
        return self._held

    def result(self) -> dict[int, WindowTruth]:
        """Return the start of each window (seconds since 1970) → window, for all lines so far."""
        open_ones = (
            _windows(np.concatenate(self._window), np.concatenate(self._value), self._window_s)
            if self._window
            else {}
        )
        return dict(sorted((self._closed | open_ones).items()))


def _windows(window: Int64s, value: Int64s, window_s: int) -> dict[int, WindowTruth]:
    if not window.size:
        return {}
    order = np.lexsort((value, window))
    window, value = window[order], value[order]
    numbers, begins = np.unique(window, return_index=True)
    ends = np.append(begins[1:], window.size)
    errors = np.add.reduceat(value & 1, begins)
    lines = ends - begins
    rank = np.maximum(1, -(-PERCENT * lines // 100))
    p99 = value[begins + rank - 1] >> 1
    return {
        int(number) * window_s: WindowTruth(int(count), int(bad), int(p99_us))
        for number, count, bad, p99_us in zip(numbers, lines, errors, p99, strict=True)
    }


def _counts(lengths: Int64s) -> dict[int, int]:
    """Return each length greater than 0 → the number of times it occurs."""
    counts = np.bincount(lengths[lengths > 0])
    return {int(one): int(counts[one]) for one in np.flatnonzero(counts)}


class LogTruth:
    """The statistics of all lines so far.

    The counts are plain Python numbers and can be compared.
    """

    def __init__(self, window_s: int, watermark_s: int, longest_delay_s: int) -> None:
        """No line is written more than `longest_delay_s` seconds after its time."""
        self._longest_delay_s = longest_delay_s
        self.window_s = window_s
        self.watermark_s = watermark_s
        self.lines = 0
        self.bad = 0
        self.late = 0
        """Number of good lines that are late: they follow a line with a later time, within the
        watermark.
        """
        self.too_late = 0
        self.bytes_sent = 0
        self._requests = catalogue.requests()
        self._status: Int64s = np.zeros(MAX_STATUS, np.int64)
        self._request: Int64s = np.zeros(len(self._requests), np.int64)
        self._visitor: Int64s = np.zeros(len(Visitor), np.int64)
        self._bad: Int64s = np.zeros(len(bad_lines.MAKERS), np.int64)
        self._lines_of: Int64s = np.zeros(1, np.int64)
        self._dropped_of: Int64s = np.zeros(1, np.int64)
        self._windows = Windows(window_s)
        self._windows_of_all = Windows(window_s)
        self._too_late: dict[int, int] = {}
        self.latest_s = 0
        """The latest time of a good line so far, in seconds since 1970."""

    def add(self, block: "LogBlock") -> None:
        """Add the lines of a block to all counts."""
        is_bad = block.visitor == Visitor.NOISE
        self.lines += len(block)
        self.bad += int(is_bad.sum())
        self._bad += np.bincount(
            block.chance[is_bad] % len(bad_lines.MAKERS), minlength=len(bad_lines.MAKERS)
        )
        good = ~is_bad
        time_s, status = block.time_ms[good] // 1000, block.status[good]
        duration_us, session = block.duration_us[good], block.session[good]
        if not time_s.size:
            return
        self._status += np.bincount(status, minlength=MAX_STATUS)
        self._request += np.bincount(block.request[good], minlength=self._request.size)
        self._visitor += np.bincount(block.visitor[good], minlength=len(Visitor))
        self.bytes_sent += int(np.maximum(block.size[good], 0).sum())
        latest = np.maximum.accumulate(np.append(self.latest_s, time_s))
        self.latest_s = int(latest[-1])
        behind_s = latest[:-1] - time_s
        is_too_late = behind_s > self.watermark_s
        self.late += int(((behind_s > 0) & ~is_too_late).sum())
        self.too_late += int(is_too_late.sum())
        for window, lines in zip(
            *np.unique(time_s[is_too_late] // self.window_s, return_counts=True), strict=True
        ):
            begin_s = int(window) * self.window_s
            self._too_late[begin_s] = self._too_late.get(begin_s, 0) + int(lines)
        self._count_sessions(session, is_too_late)
        on_time = ~is_too_late
        self._windows.add(
            time_s[on_time],
            status[on_time],
            duration_us[on_time],
            self.latest_s - self.watermark_s,
        )
        self._windows_of_all.add(
            time_s, status, duration_us, int(block.arrival_ms[-1]) // 1000 - self._longest_delay_s
        )

    def _count_sessions(self, session: Int64s, is_too_late: Bools) -> None:
        lines = np.bincount(session, minlength=self._lines_of.size)
        dropped = np.bincount(session[is_too_late], minlength=lines.size)
        lines[: self._lines_of.size] += self._lines_of
        dropped[: self._dropped_of.size] += self._dropped_of
        self._lines_of, self._dropped_of = lines, dropped

    @property
    def good(self) -> int:
        """Return the number of lines that are not bad."""
        return self.lines - self.bad

    @property
    def by_status(self) -> dict[int, int]:
        """Return status → number of good lines."""
        return {int(one): int(self._status[one]) for one in np.flatnonzero(self._status)}

    @property
    def by_reason(self) -> dict[str, int]:
        """Return reason for quarantine → number of bad lines."""
        counts: dict[str, int] = {}
        for (reason, _), lines in zip(bad_lines.MAKERS, self._bad, strict=True):
            counts[reason.value] = counts.get(reason.value, 0) + int(lines)
        return {reason: lines for reason, lines in sorted(counts.items()) if lines}

    @property
    def by_visitor(self) -> dict[str, int]:
        """Return kind of visitor (person, crawler or scanner) → number of good lines."""
        return {
            one.name.lower(): int(self._visitor[one]) for one in Visitor if one != Visitor.NOISE
        }

    @property
    def by_path(self) -> dict[str, int]:
        """Return path → number of good lines. The most frequent path is first."""
        counts: dict[str, int] = {}
        for request, lines in zip(self._requests, self._request, strict=True):
            if lines:
                counts[request.path] = counts.get(request.path, 0) + int(lines)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    @property
    def sessions(self) -> int:
        """Return the number of sessions that have at least one good line."""
        return int((self._lines_of > 0).sum())

    @property
    def sessions_on_time(self) -> int:
        """Return the number of sessions that have at least one line that is not too late."""
        return int((self._lines_of > self._dropped_of).sum())

    @property
    def lines_by_session(self) -> dict[int, int]:
        """Return number of lines in a session → number of sessions with that many lines."""
        return _counts(self._lines_of)

    @property
    def lines_by_session_on_time(self) -> dict[int, int]:
        """Return number of lines that are not too late → number of sessions with that many such
        lines.
        """
        return _counts(self._lines_of - self._dropped_of)

    @property
    def windows(self) -> dict[int, WindowTruth]:
        """Return start in seconds since 1970 → window. Lines that are too late are left out."""
        return self._windows.result()

    @property
    def windows_of_all(self) -> dict[int, WindowTruth]:
        """Return start in seconds since 1970 → window. Every good line is counted."""
        return self._windows_of_all.result()

    def windows_held(self) -> int:
        """Return the number of request times in memory.

        This number determines how much memory a long log needs.
        """
        return self._windows.held + self._windows_of_all.held

    @property
    def too_late_by_window(self) -> dict[int, int]:
        """Return start of a window in seconds since 1970 → number of lines that came too late."""
        return dict(sorted(self._too_late.items()))

    def as_json(self, top: int = 20) -> dict[str, object]:
        """Return all statistics as a JSON document. It has the `top` most frequent paths."""
        return {
            "lines": self.lines,
            "good": self.good,
            "bad": self.bad,
            "bad_by_reason": self.by_reason,
            "late": self.late,
            "too_late": self.too_late,
            "watermark_s": self.watermark_s,
            "bytes_sent": self.bytes_sent,
            "by_status": {str(one): lines for one, lines in self.by_status.items()},
            "by_visitor": self.by_visitor,
            "top_paths": dict(list(self.by_path.items())[:top]),
            "sessions": self.sessions,
            "sessions_on_time": self.sessions_on_time,
            "sessions_by_lines": {str(one): n for one, n in self.lines_by_session.items()},
            "window_s": self.window_s,
            "windows": {
                str(begin): one._asdict() | {"error_rate": one.error_rate}
                for begin, one in self.windows.items()
            },
            "windows_of_all": {
                str(begin): one._asdict() | {"error_rate": one.error_rate}
                for begin, one in self.windows_of_all.items()
            },
            "too_late_by_window": {
                str(begin): lines for begin, lines in self.too_late_by_window.items()
            },
        }
