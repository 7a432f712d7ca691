"""Exercise 14-1: decide what to commit, and when. README.md describes the task.
`kafka-edu lab check 14-1` tests your code. `kafka-edu lab hint 14-1` gives a hint.
"""

from collections.abc import Sequence


class Commits:
    """Decides what one consumer commits. Its workers finish their records in any order."""

    def __init__(self, interval_ms: int) -> None:
        """Nothing was read yet."""
        self.interval_ms = interval_ms

    def assigned(self, partitions: Sequence[str]) -> None:
        """The consumer now has these partitions too. It keeps the partitions that it had."""

    def polled(self, partition: str, offsets: Sequence[int]) -> None:
        """poll() has returned these records. The workers have them now."""

    def done(self, partition: str, offset: int) -> None:
        """A worker has finished a record."""

    def due(self, now_ms: int) -> dict[str, int]:
        """Return what to commit between two calls of poll()."""
        raise NotImplementedError(
            "Commits.due is not written yet: it returns {partition: offset}, or {}"
        )

    def answered(self, stored: bool) -> None:
        """The last commit from `due` has ended. `stored`: the broker has stored it."""

    def revoked(self, partitions: Sequence[str]) -> dict[str, int]:
        """Return what to commit before these partitions are given up."""
        raise NotImplementedError(
            "Commits.revoked is not written yet: it returns {partition: offset}, or {}"
        )

    def lost(self, partitions: Sequence[str]) -> None:
        """Forget partitions that other members may already have."""
