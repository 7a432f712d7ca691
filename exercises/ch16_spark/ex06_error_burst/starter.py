"""Exercise 16-6: write an alarm for bursts of errors. README.md says what is asked; `kafka-edu lab
check 16-6` tries it, `kafka-edu lab hint 16-6` helps.
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
        """Return the failed lines and all lines of the minutes in the baseline."""
        raise NotImplementedError(
            "ErrorAlarm.baseline is not written yet: it returns (failed, lines)"
        )
