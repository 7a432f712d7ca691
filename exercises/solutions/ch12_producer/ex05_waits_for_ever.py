"""Exercise 12-5: the reference solution. linger.ms begins with the first record of a batch."""


class Batch:
    """A batch that waits."""

    def __init__(self, number: int, now_ms: int) -> None:
        self.number = number
        self.size = 0
        self.since_ms = now_ms
        self.closed = False  # whether another batch has begun behind it


class Accumulator:
    """The batches of all partitions that wait to be sent."""

    def __init__(self, batch_size: int, linger_ms: int) -> None:
        self.batch_size = batch_size
        self.linger_ms = linger_ms
        self.waiting: dict[int, Batch] = {}  # number -> batch, the lowest first
        self.open: dict[str, Batch] = {}  # partition -> the batch that takes its records
        self.numbers = 0

    def append(self, partition: str, size: int, now_ms: int) -> int:
        """Put a record into the last batch of its partition. Return the batch's number."""
        batch = self.open.get(partition)
        if batch is None or batch.size + size > self.batch_size:
            if batch is not None:
                batch.closed = True
            self.numbers += 1
            batch = Batch(self.numbers, now_ms)
            self.open[partition] = self.waiting[self.numbers] = batch
        batch.size += size
        return batch.number

    def ready(self, now_ms: int) -> list[int]:
        """Remove the batches that are sent now, and return their numbers."""
        found = [batch for batch in self.waiting.values() if self.wait_ms(batch, now_ms) <= 0]
        for batch in found:
            del self.waiting[batch.number]
            for partition in [name for name, one in self.open.items() if one is batch]:
                del self.open[partition]
        return [batch.number for batch in found]

    def next_ms(self, now_ms: int) -> int | None:
        """Return the ms until the next batch is sent if no record comes. None: no batch waits."""
        return min((self.wait_ms(batch, now_ms) for batch in self.waiting.values()), default=None)

    def wait_ms(self, batch: Batch, now_ms: int) -> int:
        """Return the ms until a batch is sent. 0 or less: it is sent now."""
        if batch.closed or batch.size >= self.batch_size:
            return 0
        return batch.since_ms + self.linger_ms - now_ms

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the batch in events.txt that waits too long, and the time in ms at
        which it had to be sent.
        """
        return 3, 5712
