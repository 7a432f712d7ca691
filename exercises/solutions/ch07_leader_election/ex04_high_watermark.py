"""Exercise 07-4: the reference solution (KIP-101)."""

from collections.abc import Sequence

Operation = tuple[str, int]  # ("cut", 17), ("ask", 3)


class Follower:
    """Decides what a broker does before it follows a leader."""

    def follow(self, epochs: Sequence[Sequence[int]], leo: int, hw: int) -> Operation:
        """Return the first operation: ask the leader about an epoch, or cut the log."""
        self.leo = leo
        return ("ask", epochs[-1][0]) if epochs else ("cut", 0)

    def answer(self, epoch: int, end: int) -> Operation:
        """Return the operation after the leader's answer about an epoch."""
        return "cut", min(self.leo, max(end, 0))

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the acknowledged record in events.txt that is lost, and the number
        of the first event that cut this record off.
        """
        return 7, 25
