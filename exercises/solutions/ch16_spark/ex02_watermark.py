"""Exercise 16-2: the reference solution."""

from collections.abc import Sequence

Window = tuple[int, int]  # when it begins, and how many lines it has


class WindowCounts:
    """Counts log lines in time windows, and drops lines that come too late."""

    def __init__(self, window_s: int, delay_s: int) -> None:
        self.window_s = window_s
        self.delay_s = delay_s
        self.latest_s: int | None = None
        self.open: dict[int, int] = {}

    def is_over(self, begin: int) -> bool:
        """Return whether the window that begins at `begin` ends at the watermark or before it."""
        if self.latest_s is None:
            return False
        return begin + self.window_s <= self.latest_s - self.delay_s

    def batch(self, times: Sequence[int]) -> tuple[int, list[Window]]:
        """Count one batch. Return how many of its lines are dropped, and the windows that close."""
        dropped = 0
        for time in times:
            begin = time - time % self.window_s
            if self.is_over(begin):
                dropped += 1
            else:
                self.open[begin] = self.open.get(begin, 0) + 1
        if times:
            self.latest_s = max(times) if self.latest_s is None else max(self.latest_s, *times)
        closed = [begin for begin in sorted(self.open) if self.is_over(begin)]
        return dropped, [(begin, self.open.pop(begin)) for begin in closed]

    def open_windows(self) -> list[Window]:
        """Return the windows that are still open, the earliest first."""
        return sorted(self.open.items())
