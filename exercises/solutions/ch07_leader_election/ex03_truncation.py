"""Exercise 07-3: the reference solution (Kafka: AbstractFetcherThread.getOffsetTruncationState,
KIP-101, KIP-279).
"""

from collections.abc import Sequence


class Truncation:
    """The rule by which a follower truncates its log."""

    def cut(
        self,
        epochs: Sequence[tuple[int, int]],
        leo: int,
        hw: int,
        leader_epoch: int,
        leader_end: int,
    ) -> tuple[int, bool]:
        """Return the new end of the log, and whether the truncation is complete."""
        if leader_end == -1:
            return min(hw, leo), True
        newer = [start for epoch, start in epochs if epoch > leader_epoch]
        own = [epoch for epoch, _ in epochs if epoch <= leader_epoch]
        if leader_epoch == -1 or not epochs or epochs[-1][0] < leader_epoch:
            return min(leader_end, leo), True
        end = newer[0] if newer else leo
        if own and own[-1] != leader_epoch:
            return min(end, leo), False
        return min(end, leader_end, leo), True
