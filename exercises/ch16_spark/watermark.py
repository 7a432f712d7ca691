"""The right answers of exercise 16-2: window counts, and a picture of the windows."""

from collections.abc import Sequence
from typing import Final, NamedTuple

Window = tuple[int, int]
"""When a window begins (in seconds), and how many lines it has."""
NOT_YET: Final = -(10**9)
"""Stands for the watermark before the first batch, when there is none yet."""


class Fate(NamedTuple):
    """The fate of one line: its time, its window's begin, and whether it was dropped."""

    time_s: int
    begin_s: int
    dropped: bool


class RightCounts:
    """Counts by the rules of the exercise. It also keeps the facts that explain the counts."""

    def __init__(self, window_s: int, delay_s: int) -> None:
        self.window_s = window_s
        self.delay_s = delay_s
        self.watermark_s = NOT_YET
        """The watermark that holds for the next batch."""
        self.watermark_of_batch_s = NOT_YET
        """The watermark that held for the last batch."""
        self.fates: list[Fate] = []
        """The fate of each line of the last batch."""
        self.open: dict[int, int] = {}
        self.closed: dict[int, int] = {}
        self.sent = self.dropped = self._latest_s = 0
        self.batches = 0

    def batch(self, times_s: Sequence[int]) -> tuple[int, list[Window]]:
        """Count one batch. Return how many of its lines are dropped, and the windows that close."""
        self.batches += 1
        self.watermark_of_batch_s = self.watermark_s
        self.fates = []
        for time_s in times_s:
            begin_s = time_s - time_s % self.window_s
            dropped = begin_s + self.window_s <= self.watermark_s
            self.fates.append(Fate(time_s, begin_s, dropped))
            if not dropped:
                self.open[begin_s] = self.open.get(begin_s, 0) + 1
        now_dropped = sum(fate.dropped for fate in self.fates)
        self.sent += len(times_s)
        self.dropped += now_dropped
        if times_s:
            self._latest_s = max(self._latest_s, *times_s)
            self.watermark_s = self._latest_s - self.delay_s
        done = sorted(one for one in self.open if one + self.window_s <= self.watermark_s)
        closed = [(begin_s, self.open.pop(begin_s)) for begin_s in done]
        self.closed |= dict(closed)
        return now_dropped, closed

    def open_windows(self) -> list[Window]:
        """Return the windows that are still open, the earliest first."""
        return sorted(self.open.items())

    def drawn(self) -> tuple[str, ...]:
        """Draw the windows of the last batch and the last closed windows, each in its own row."""
        rows = [
            f"    batch {self.batches}: its watermark was"
            f" {self._shown(self.watermark_of_batch_s)}, now it is {self._shown(self.watermark_s)}"
        ]
        begins = {fate.begin_s for fate in self.fates} | set(list(self.closed)[-2:])
        for begin_s in sorted(begins)[:8]:
            end_s = begin_s + self.window_s
            state = "closed" if begin_s in self.closed else "open" if begin_s in self.open else "-"
            rows.append(
                f"    [{begin_s:>5}, {end_s:>5})  {state:<6}  {self._times(begin_s)}".rstrip()
            )
        return tuple(rows)

    def _times(self, begin_s: int) -> str:
        fates = [fate for fate in self.fates if fate.begin_s == begin_s]
        shown = " ".join(f"{one.time_s}{'✗' if one.dropped else ''}" for one in fates[:8])
        more = " …" if len(fates) > 8 else ""
        return shown + more + (" (✗ dropped)" if any(one.dropped for one in fates) else "")

    def _shown(self, watermark_s: int) -> str:
        return "not there yet" if watermark_s == NOT_YET else str(watermark_s)
