"""Exercise 07-4: this follower can cut off what was acknowledged. README.md describes the task.
`kafka-edu lab check 07-4` tests your code. `kafka-edu lab hint 07-4` gives a hint.
"""

from collections.abc import Sequence

Operation = tuple[str, int]  # ("cut", 17), ("ask", 3)


class Follower:
    """A broker that is about to follow a leader."""

    def follow(self, epochs: Sequence[Sequence[int]], leo: int, hw: int) -> Operation:
        """Return what to do first."""
        return "cut", min(hw, leo)

    def answer(self, epoch: int, end: int) -> Operation:
        """Return what to do when the leader has answered."""
        return "cut", end

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the record in events.txt that was acknowledged and is gone, and the
        number of the event that cut it off first.
        """
        raise NotImplementedError(
            "Follower.diagnosis is not written yet: it returns (number of the record, number of the"
            " event that cut it off)"
        )
