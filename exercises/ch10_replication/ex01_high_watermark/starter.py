"""Exercise 10-1: move the high watermark. README.md describes the task. `kafka-edu lab check 10-1`
tests your code. `kafka-edu lab hint 10-1` gives a hint.
"""

from collections.abc import Sequence


class HighWatermark:
    """The rules by which a leader and its followers move their high watermarks."""

    def leader(
        self,
        hw: int,
        leo: int,
        isr: Sequence[int],
        followers: Sequence[Sequence[int]],
        now_ms: int,
        max_lag_ms: int,
    ) -> int:
        """Return the leader's new high watermark. Each follower is [broker, leo, caught_up_ms]."""
        raise NotImplementedError("HighWatermark.leader is not written yet: it returns an offset")

    def follower(self, start: int, leo: int, leader_hw: int) -> int:
        """Return the high watermark of a follower whose log begins at `start` and ends at `leo`."""
        raise NotImplementedError("HighWatermark.follower is not written yet: it returns an offset")
