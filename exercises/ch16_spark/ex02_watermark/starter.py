"""Exercise 16-2: write the watermark rule. README.md has the task. `kafka-edu lab check 16-2` tests
your code, and `kafka-edu lab hint 16-2` gives you a hint.
"""

from collections.abc import Sequence

Window = tuple[int, int]  # when it begins, and how many lines it has


class WindowCounts:
    """Counts log lines in time windows, and drops lines that come too late."""

    def __init__(self, window_s: int, delay_s: int) -> None:
        self.window_s = window_s
        self.delay_s = delay_s

    def batch(self, times: Sequence[int]) -> tuple[int, list[Window]]:
        """Count one batch. Return how many of its lines are dropped, and the windows that close."""
        raise NotImplementedError(
            "WindowCounts.batch is not written yet: it returns (dropped, closed)"
        )

    def open_windows(self) -> list[Window]:
        """Return the windows that are still open, the earliest first."""
        raise NotImplementedError(
            "WindowCounts.open_windows is not written yet: it returns a list of (begin, lines)"
        )
