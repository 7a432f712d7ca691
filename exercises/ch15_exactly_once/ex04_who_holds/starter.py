"""Exercise 15-4: find out who holds the last stable offset, and fix the coordinator. README.md
describes the task. `kafka-edu lab check 15-4` tests your code. `kafka-edu lab hint 15-4` gives a
hint.
"""

Markers = list[tuple[int, int]]  # (partition, epoch) of each marker


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
        """Abort the transaction. It was open for longer than transaction.timeout.ms."""
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
        raise NotImplementedError(
            "Coordinator.diagnosis is not written yet: it returns (producer, number of the event)"
        )
