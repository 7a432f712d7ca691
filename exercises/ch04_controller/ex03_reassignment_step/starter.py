"""Exercise 04-3: decide the next step of a reassignment. README.md describes the task.
`kafka-edu lab check 04-3` tests your code. `kafka-edu lab hint 04-3` gives a hint.
"""

from collections.abc import Sequence

Sets = tuple[list[int], list[int], list[int]]  # (replicas, adding, removing)
Step = tuple[str, list[int]]  # (what to do, with which brokers)


class Reassignment:
    """One partition, which either stays where it is or moves to other brokers."""

    def __init__(self, replicas: Sequence[int]) -> None:
        """The partition starts on the brokers `replicas`, and does not move."""
        self.replicas = list(replicas)

    def order(self, target: Sequence[int] | None) -> None:
        """Start a move to the brokers `target`. None cancels the move that is running."""
        raise NotImplementedError("Reassignment.order is not written yet: it returns None")

    def sets(self) -> Sets:
        """Return three lists of brokers: all replicas, those being added, those being removed."""
        raise NotImplementedError(
            "Reassignment.sets is not written yet: it returns three lists of brokers"
        )

    def next(
        self, leader: int, isr: Sequence[int], live: Sequence[int], stopped: Sequence[int]
    ) -> Step:
        """Return the next step of the move, and the ids of the brokers that the step concerns."""
        raise NotImplementedError(
            "Reassignment.next is not written yet: it returns (step, brokers)"
        )
