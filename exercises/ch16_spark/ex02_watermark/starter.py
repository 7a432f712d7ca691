"""Exercise 16-2: write the watermark rule. README.md says what is asked; `kafka-edu lab check 16-2`
tries it, `kafka-edu lab hint 16-2` helps.
"""

from collections.abc import Sequence

Window = tuple[int, int]  # when it begins, and how many lines it has


class WindowCounts:
    """Counts lines by window, and drops what is too late."""

    def __init__(self, window_s: int, delay_s: int) -> None:
        self.window_s = window_s
        self.delay_s = delay_s

    def batch(self, times: Sequence[int]) -> tuple[int, list[Window]]:
        """Count one batch. Return how many lines are dropped, and the windows that are closed."""
        raise NotImplementedError(
            "WindowCounts.batch is not written yet: it returns (dropped, closed)"
        )

    def open_windows(self) -> list[Window]:
        """Return the windows that are not closed, the first first."""
        raise NotImplementedError(
            "WindowCounts.open_windows is not written yet: it returns a list of (begin, lines)"
        )
