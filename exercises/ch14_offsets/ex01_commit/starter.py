"""Exercise 14-1: say what to commit, and when. README.md describes the task.
`kafka-edu lab check 14-1` tests your code. `kafka-edu lab hint 14-1` gives a hint.
"""

from collections.abc import Sequence


class Commits:
    """Says what one consumer commits, whose workers end their records in any order."""

    def __init__(self, interval_ms: int) -> None:
        """Nothing was read yet."""
        self.interval_ms = interval_ms

    def assigned(self, partitions: Sequence[str]) -> None:
        """Begin to read these partitions, in addition to the others."""

    def polled(self, partition: str, offsets: Sequence[int]) -> None:
        """Note the records that poll() has returned. The workers have them now."""

    def done(self, partition: str, offset: int) -> None:
        """Note that a worker has ended a record."""

    def due(self, now_ms: int) -> dict[str, int]:
        """Return what to commit between two calls of poll()."""
        raise NotImplementedError(
            "Commits.due is not written yet: it returns {partition: offset}, or {}"
        )

    def answered(self, stored: bool) -> None:
        """Note whether the last commit of `due` is stored."""

    def revoked(self, partitions: Sequence[str]) -> dict[str, int]:
        """Return what to commit before these partitions are given up."""
        raise NotImplementedError(
            "Commits.revoked is not written yet: it returns {partition: offset}, or {}"
        )

    def lost(self, partitions: Sequence[str]) -> None:
        """Forget partitions that others may have already."""
