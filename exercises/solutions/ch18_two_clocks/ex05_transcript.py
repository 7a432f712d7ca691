"""Exercise 18-5: the reference solution (Kafka: Partition.maybeIncrementLeaderHW)."""

from collections.abc import Sequence


class Rules:
    """Five rules of a broker. The broker calls them, and does what follows."""

    def elect(self, replicas: Sequence[int], isr: Sequence[int], live: Sequence[int]) -> int | None:
        """Return the first replica that is alive and in the ISR, or None."""
        for broker in replicas:
            if broker in live and broker in isr:
                return broker
        return None

    def leaving(
        self, isr: Sequence[int], silent: Sequence[tuple[int, int]], max_lag_ms: int
    ) -> list[int]:
        """Return the members that were silent for too long."""
        return [broker for broker, ms in silent if broker in isr and ms > max_lag_ms]

    def may_join(self, leo: int, hw: int, epoch_start: int) -> bool:
        """Return whether a follower has all committed records, and this epoch's beginning."""
        return leo >= hw and leo >= epoch_start

    def high_watermark(
        self, hw: int, leo: int, isr: Sequence[int], followers: Sequence[tuple[int, int]]
    ) -> int:
        """Return the least end of all logs in the ISR, because each member may be elected.

        Raft needs only a majority, because voters refuse a candidate without a committed record.
        """
        return max(hw, min([leo, *(end for broker, end in followers if broker in isr)]))

    def cut(self, end: int, leader_end: int) -> int:
        """Return up to where both logs are the same."""
        return min(end, leader_end)

    def diagnosis(self) -> tuple[str, int, int]:
        """Return the wrong rule, the new leader, and the first record that it did not have."""
        return "high_watermark", 3, 42
