"""Exercise 10-4: the reference solution (Kafka: Replica.updateFetchState, the fetch offset)."""

from collections.abc import Sequence


class Leader:
    """A leader. It stores the log end of each follower, and moves the high watermark."""

    def __init__(self) -> None:
        self.ends: dict[int, int] = {}

    def fetched(self, follower: int, offset: int, sent: int) -> None:
        """Store the follower's log end, which is `offset`: it asks for what it does not have."""
        self.ends[follower] = offset

    def high_watermark(self, hw: int, leo: int, isr: Sequence[int]) -> int:
        """Return the new high watermark. `leo` is the end of the leader's own log."""
        ends = [self.ends[member] for member in isr if member in self.ends]
        if len(ends) < len(isr) - 1:
            return hw  # a follower in the ISR has not fetched yet
        return max(hw, min([leo, *ends]))

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the record in events.txt that was acknowledged but is lost, and the
        number of the event that acknowledged it.
        """
        return 10, 39
