"""Exercise 07-5: the reference solution (Kafka: Partition.isFollowerInSync, KAFKA-6361)."""


class Leader:
    """A leader that keeps its ISR."""

    def may_join(self, leo: int, hw: int, epoch_start: int) -> bool:
        """Return whether a follower whose log ends at `leo` may join."""
        return leo >= max(hw, epoch_start)

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the record in events.txt that was acknowledged and is gone, and the
        number of the event by which the broker joined that lacks it.
        """
        return 9, 30
