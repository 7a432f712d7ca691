"""Exercise 18-5: one of these five rules is wrong. README.md describes the task.
`kafka-edu lab check 18-5` tests your code. `kafka-edu lab hint 18-5` gives a hint.
"""

from collections.abc import Sequence


class Rules:
    """Five rules of a broker. The broker calls them, and acts on the answers."""

    def elect(self, replicas: Sequence[int], isr: Sequence[int], live: Sequence[int]) -> int | None:
        """Return the new leader, or None. The controller calls this when a leader is dead."""
        for broker in replicas:
            if broker in live and broker in isr:
                return broker
        return None

    def leaving(
        self, isr: Sequence[int], silent: Sequence[tuple[int, int]], max_lag_ms: int
    ) -> list[int]:
        """Return the members that must leave the ISR. The leader calls this regularly."""
        return [broker for broker, ms in silent if broker in isr and ms > max_lag_ms]

    def may_join(self, leo: int, hw: int, epoch_start: int) -> bool:
        """Return whether a follower may join the ISR. The leader calls this at each fetch."""
        return leo >= hw and leo >= epoch_start

    def high_watermark(
        self, hw: int, leo: int, isr: Sequence[int], followers: Sequence[tuple[int, int]]
    ) -> int:
        """Return the new high watermark. The leader calls this at each append and fetch."""
        ends = sorted([leo, *(end for broker, end in followers if broker in isr)])
        return max(hw, ends[(len(ends) - 1) // 2])

    def cut(self, end: int, leader_end: int) -> int:
        """Return where a follower cuts its log. It calls this before it follows a new leader."""
        return min(end, leader_end)

    def diagnosis(self) -> tuple[str, int, int]:
        """Return the name of the wrong rule, the broker that became the leader without all
        acknowledged records, and the offset of the first record that it did not have.
        """
        raise NotImplementedError(
            "Rules.diagnosis is not written yet: it returns (rule, broker, offset)"
        )
