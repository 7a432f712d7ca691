"""Exercise 07-4: the reference solution (KIP-101)."""

from collections.abc import Sequence

Operation = tuple[str, int]  # ("cut", 17), ("ask", 3)


class Follower:
    """A broker that is about to follow a leader."""

    def follow(self, epochs: Sequence[Sequence[int]], leo: int, hw: int) -> Operation:
        """Return what to do first."""
        self.leo = leo
        return ("ask", epochs[-1][0]) if epochs else ("cut", 0)

    def answer(self, epoch: int, end: int) -> Operation:
        """Return what to do when the leader has answered."""
        return "cut", min(self.leo, max(end, 0))

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the record in events.txt that was acknowledged and is gone, and the
        number of the event that cut it off first.
        """
        return 7, 25
