"""Exercise 16-6: write an alarm for bursts of errors. README.md has the task.
`kafka-edu lab check 16-6` tests your code, and `kafka-edu lab hint 16-6` gives you a hint.
"""

from collections.abc import Sequence

Row = tuple[int, str, int, int]  # minute, agent, status, lines


class ErrorAlarm:
    """Finds the minutes in which more requests fail than usual."""

    def __init__(self, learn: int, least: int, times: int, rest: int) -> None:
        self.learn = learn
        self.least = least
        self.times = times
        self.rest = rest

    def batch(self, rows: Sequence[Row], until: int) -> list[tuple[object, ...]]:
        """Add rows, judge the minutes before `until`, and return the messages in their order."""
        raise NotImplementedError(
            "ErrorAlarm.batch is not written yet: it returns a list of ('begins', minute) and"
            " ('ends', begin, end, failed)"
        )

    def baseline(self) -> tuple[int, int]:
        """Return (failed, lines): the sums over the minutes that are in the baseline now."""
        raise NotImplementedError(
            "ErrorAlarm.baseline is not written yet: it returns (failed, lines)"
        )
