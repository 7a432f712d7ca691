"""Exercise 12-3: the reference solution (Kafka: Sender, RecordAccumulator, TransactionManager)."""

from collections import Counter, defaultdict
from collections.abc import Sequence


class InFlight:
    """Decides for all brokers and partitions of one producer."""

    def __init__(self, max_in_flight: int, idempotent: bool, retries: int) -> None:
        self.max_in_flight = max_in_flight
        self.idempotent = idempotent
        self.retries = retries
        self.requests: Counter[int] = Counter()
        self.in_flight: defaultdict[str, set[int]] = defaultdict(set)
        self.endless: defaultdict[str, set[int]] = defaultdict(set)
        self.again: Counter[int] = Counter()

    def may_send(self, broker: int, partition: str, batch: int) -> bool:
        """Return whether the first batch of a partition's queue may go to this broker now."""
        if self.requests[broker] >= self.max_in_flight:
            return False
        if self.idempotent:
            endless = self.endless[partition]
            return batch not in endless or batch == min(endless)
        return self.max_in_flight > 1 or not self.in_flight[partition]

    def sent(self, broker: int, batches: Sequence[tuple[str, int]]) -> None:
        """A request with these (partition, batch) pairs is in flight now."""
        self.requests[broker] += 1
        for partition, batch in batches:
            self.in_flight[partition].add(batch)
            self.endless[partition].add(batch)

    def answered(self, broker: int, results: Sequence[tuple[str, int, str, bool]]) -> list[str]:
        """Return "done", "again" or "failed" for each (partition, batch, error, retriable)."""
        self.requests[broker] -= 1
        words = []
        for partition, batch, error, retriable in results:
            self.in_flight[partition].discard(batch)
            word = self.word(partition, batch, error, retriable)
            if word == "again":
                self.again[batch] += 1
            else:
                self.endless[partition].discard(batch)
            words.append(word)
        return words

    def word(self, partition: str, batch: int, error: str, retriable: bool) -> str:
        """Return "done", "again" or "failed" for one batch."""
        if batch not in self.endless[partition]:
            return "failed"
        if error in ("NONE", "DUPLICATE_SEQUENCE_NUMBER"):
            return "done"
        if self.again[batch] >= self.retries:
            return "failed"
        if error == "OUT_OF_ORDER_SEQUENCE_NUMBER":
            retriable = batch > min(self.endless[partition])
        return "again" if retriable else "failed"

    def expired(self, partition: str, batch: int) -> None:
        """Note that a batch has failed, because its time was over."""
        self.endless[partition].discard(batch)
