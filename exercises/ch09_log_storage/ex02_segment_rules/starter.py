"""Exercise 09-2: when a segment rolls, and which segments are deleted. README.md describes the
task. `kafka-edu lab check 09-2` tests your code. `kafka-edu lab hint 09-2` gives a hint.
"""

from typing import Any


class SegmentRules:
    """The rules by which new segments begin and old segments are deleted."""

    def roll(
        self, limits: dict[str, int], segment: dict[str, Any], batch: dict[str, int], now_ms: int
    ) -> str | None:
        """Return the reason why the segment cannot take the batch; None if it can."""
        raise NotImplementedError(
            "SegmentRules.roll is not written yet: it returns a reason, or None"
        )

    def take(self, limits: dict[str, int], log: dict[str, Any], now_ms: int) -> list[str]:
        """Return the reasons why the oldest segments are deleted, one reason for each segment."""
        raise NotImplementedError("SegmentRules.take is not written yet: it returns a list")
