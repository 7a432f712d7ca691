"""Exercise 04-3: decide the next step of a reassignment. README.md says what is asked;
`kafka-edu lab check 04-3` tries it, `kafka-edu lab hint 04-3` helps.
"""

from collections.abc import Sequence

Sets = tuple[list[int], list[int], list[int]]  # (replicas, adding, removing)
Step = tuple[str, list[int]]  # (what to do, with which brokers)


class Reassignment:
    """One partition, at rest or on its way to other brokers."""

    def __init__(self, replicas: Sequence[int]) -> None:
        """The partition is at rest, held by these brokers."""
        self.replicas = list(replicas)

    def order(self, target: Sequence[int] | None) -> None:
        """Order a move to these brokers; None cancels the one that is running."""
        raise NotImplementedError("Reassignment.order is not written yet: it returns None")

    def sets(self) -> Sets:
        """Return three lists of brokers: all replicas, those being added, those being removed."""
        raise NotImplementedError(
            "Reassignment.sets is not written yet: it returns three lists of brokers"
        )

    def next(
        self, leader: int, isr: Sequence[int], live: Sequence[int], stopped: Sequence[int]
    ) -> Step:
        """Return the next step, and the brokers that it concerns."""
        raise NotImplementedError(
            "Reassignment.next is not written yet: it returns (step, brokers)"
        )
