"""Exercise 15-1: the reference solution (Kafka: ProducerAppendInfo, ProducerStateEntry)."""

from collections import deque

Answer = str | tuple[str, int]
NUMBERS = 2**31


class SequenceCheck:
    """The check of one idempotent producer's batches, in one partition."""

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.batches: deque[tuple[int, int, int]] = deque(maxlen=5)

    def check(self, epoch: int, first: int, count: int) -> Answer:
        """Check for a duplicate of the last five batches, then the epoch, then `first`."""
        if self.epoch is None:
            return "write"
        if epoch < self.epoch:
            return "INVALID_PRODUCER_EPOCH"
        expected = 0
        if epoch == self.epoch:
            for begin, end, offset in self.batches:
                if (begin, end) == (first, (first + count - 1) % NUMBERS):
                    return "duplicate", offset
                expected = (end + 1) % NUMBERS
        return "write" if first == expected else "OUT_OF_ORDER_SEQUENCE_NUMBER"

    def written(self, epoch: int, first: int, count: int, offset: int) -> None:
        """Remember a batch that was written."""
        self.fence(epoch)
        self.batches.append((first, (first + count - 1) % NUMBERS, offset))

    def fence(self, epoch: int) -> None:
        """Forget the batches of an older epoch."""
        if epoch != self.epoch:
            self.batches.clear()
        self.epoch = epoch
