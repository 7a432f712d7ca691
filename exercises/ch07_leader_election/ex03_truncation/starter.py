"""Exercise 07-3: cut a log where it differs from the leader's. README.md describes the task.
`kafka-edu lab check 07-3` tests your code. `kafka-edu lab hint 07-3` gives a hint.
"""

from collections.abc import Sequence


class Truncation:
    """The rule that says at which offset a follower cuts its log."""

    def cut(
        self,
        epochs: Sequence[tuple[int, int]],
        leo: int,
        hw: int,
        leader_epoch: int,
        leader_end: int,
    ) -> tuple[int, bool]:
        """Return the new end of the log, and whether the cut is complete (if not, the follower asks
        again).
        """
        raise NotImplementedError(
            "Truncation.cut is not written yet: it returns (offset, complete)"
        )
