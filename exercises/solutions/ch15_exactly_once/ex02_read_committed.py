"""Exercise 15-2: the reference solution (Kafka: ProducerStateManager.firstUnstableOffset,
TransactionIndex.collectAbortedTxns, Fetcher.CompletedFetch).
"""

from collections.abc import Sequence

Batch = tuple[int, int, int, str]


class ReadCommitted:
    """The last stable offset and the aborted transactions of a partition, and a reader's filter."""

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        self.decided: list[tuple[int, int]] = []

    def opened(self, producer: int, offset: int) -> None:
        """Store the first offset of the producer's transaction."""
        self.open[producer] = offset

    def ended(self, producer: int, offset: int) -> None:
        """Keep the transaction until its marker is below the high watermark."""
        self.decided.append((self.open.pop(producer), offset))

    def last_stable(self, high_watermark: int) -> int:
        """Return the first offset of the oldest unstable transaction, or the high watermark."""
        self.decided = [each for each in self.decided if each[1] >= high_watermark]
        unstable = [*self.open.values(), *(first for first, _ in self.decided)]
        return min([*unstable, high_watermark])

    def aborted(
        self, index: Sequence[tuple[int, int, int]], start: int, end: int
    ) -> list[tuple[int, int]]:
        """Return the transactions that begin before `end` and end at `start` or later."""
        return [
            (producer, first)
            for producer, first, marker in index
            if first < end and marker >= start
        ]

    def read(self, batches: Sequence[Batch], aborted: Sequence[tuple[int, int]]) -> list[int]:
        """Leave out markers, and batches of producers that are aborted at this moment."""
        waiting = sorted(aborted, key=lambda each: each[1], reverse=True)
        skipped: set[int] = set()
        bases = []
        for base, last, producer, kind in batches:
            while waiting and waiting[-1][1] <= last:
                skipped.add(waiting.pop()[0])
            if kind == "abort":
                skipped.discard(producer)
            elif kind == "plain" or (kind == "transactional" and producer not in skipped):
                bases.append(base)
        return bases
