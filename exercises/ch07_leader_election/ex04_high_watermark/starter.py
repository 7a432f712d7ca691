"""Exercise 07-4: this follower can cut off acknowledged records. README.md describes the task.
`kafka-edu lab check 07-4` tests your code. `kafka-edu lab hint 07-4` gives a hint.
"""

from collections.abc import Sequence

Operation = tuple[str, int]  # ("cut", 17), ("ask", 3)


class Follower:
    """A broker that begins to follow a leader, and may have to cut its log first."""

    def follow(self, epochs: Sequence[Sequence[int]], leo: int, hw: int) -> Operation:
        """Return the first operation: ("cut", offset), or ("ask", epoch) to ask the leader."""
        return "cut", min(hw, leo)

    def answer(self, epoch: int, end: int) -> Operation:
        """Return the next operation. The leader has answered that `epoch` ends at `end`."""
        return "cut", end

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the record in events.txt that was acknowledged but is lost, and the
        number of the event that first cut it off.
        """
        raise NotImplementedError(
            "Follower.diagnosis is not written yet: it returns (number of the record, number of the"
            " event that cut it off)"
        )
