"""Exercise 15-2: what read_committed reads. README.md describes the task. `kafka-edu lab check
15-2` tests your code. `kafka-edu lab hint 15-2` gives a hint.
"""

from collections.abc import Sequence

Batch = tuple[int, int, int, str]  # (base, last, producer, kind)


class ReadCommitted:
    """The last stable offset and the aborted transactions of a partition, and a reader's filter."""

    def opened(self, producer: int, offset: int) -> None:
        """A transaction of the producer begins at this offset."""
        raise NotImplementedError("ReadCommitted.opened is not written yet: it notes a beginning")

    def ended(self, producer: int, offset: int) -> None:
        """The marker at this offset ends the producer's transaction."""
        raise NotImplementedError("ReadCommitted.ended is not written yet: it notes a marker")

    def last_stable(self, high_watermark: int) -> int:
        """Return the last stable offset."""
        raise NotImplementedError("ReadCommitted.last_stable is not written yet: it returns an LSO")

    def aborted(
        self, index: Sequence[tuple[int, int, int]], start: int, end: int
    ) -> list[tuple[int, int]]:
        """Return (producer, first) of the aborted transactions that overlap a fetch."""
        raise NotImplementedError("ReadCommitted.aborted is not written yet: it returns a list")

    def read(self, batches: Sequence[Batch], aborted: Sequence[tuple[int, int]]) -> list[int]:
        """Return the base offsets of the batches that the program gets."""
        raise NotImplementedError("ReadCommitted.read is not written yet: it returns offsets")
