"""Exercise 10-1: the reference solution (Kafka: Partition.maybeIncrementLeaderHW,
ReplicaFetcherThread.processPartitionData).
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
        """Return the smallest log end offset that counts, but never less than `hw`."""
        least = leo
        for broker, end, caught_up_ms in followers:
            if broker in isr or now_ms - caught_up_ms <= max_lag_ms:
                least = min(least, end)
        return max(hw, least)

    def follower(self, start: int, leo: int, leader_hw: int) -> int:
        """Return the leader's high watermark, limited to the range of the follower's log."""
        return max(start, min(leo, leader_hw))
