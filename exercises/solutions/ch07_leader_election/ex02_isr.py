"""Exercise 07-2: the reference solution (Kafka: Partition.getOutOfSyncReplicas,
isFollowerInSync).
"""

from collections.abc import Sequence


class Isr:
    """The rules by which a leader removes followers from its ISR, and lets them join."""

    def leaving(
        self,
        isr: Sequence[int],
        followers: Sequence[tuple[int, int]],
        now_ms: int,
        max_lag_ms: int,
    ) -> list[int]:
        """Return the ISR members that must leave: they lag for more than `max_lag_ms`."""
        return [
            broker
            for broker, caught_up_ms in followers
            if broker in isr and now_ms - caught_up_ms > max_lag_ms
        ]

    def may_join(self, leo: int, hw: int, epoch_start: int) -> bool:
        """Return whether a follower whose log ends at `leo` may join the ISR."""
        return leo >= hw and leo >= epoch_start
