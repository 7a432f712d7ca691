"""Exercise 15-4: the reference solution (Kafka: TransactionMetadata.prepareFenceProducerEpoch)."""

Markers = list[tuple[int, int]]


class Coordinator:
    """The transaction coordinator of one producer."""

    def __init__(self) -> None:
        self.epoch = -1
        self.partitions: list[int] = []

    def init(self) -> tuple[int, Markers]:
        """A producer starts: give it a new epoch, and abort its open transaction."""
        self.epoch += 1
        return self.epoch, self._finish()

    def add(self, epoch: int, partition: int) -> bool:
        """Add a partition to the transaction. Return False if the epoch is old."""
        if epoch != self.epoch:
            return False
        if partition not in self.partitions:
            self.partitions.append(partition)
        return True

    def end(self, epoch: int) -> Markers | None:
        """End the transaction. Return None if the epoch is old."""
        if epoch != self.epoch:
            return None
        return self._finish()

    def expire(self) -> Markers:
        """Abort the transaction. Its markers have a new epoch, so late batches are refused."""
        self.epoch += 1
        return self._finish()

    def _finish(self) -> Markers:
        """Return a marker for each partition of the transaction, and forget the partitions."""
        markers = [(partition, self.epoch) for partition in self.partitions]
        self.partitions = []
        return markers

    def diagnosis(self) -> tuple[int, int]:
        """Return the producer that holds the last stable offset in events.txt, and the number of
        the event that wrote the first record of its transaction.
        """
        return 1, 20
