"""Exercise 07-5: the reference solution (Kafka: Partition.isFollowerInSync, KAFKA-6361)."""


class Leader:
    """A leader that decides which followers may join its ISR."""

    def may_join(self, leo: int, hw: int, epoch_start: int) -> bool:
        """Return whether a follower whose log ends at `leo` may join the ISR."""
        return leo >= max(hw, epoch_start)

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the acknowledged record in events.txt that is lost, and the number
        of the event by which a broker without this record joined the ISR.
        """
        return 9, 30
