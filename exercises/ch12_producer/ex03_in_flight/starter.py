"""Exercise 12-3: which batch may be sent, and what happens to a batch that was refused.
README.md describes the task. `kafka-edu lab check 12-3` tests your code. `kafka-edu lab hint 12-3`
gives a hint.
"""

from collections.abc import Sequence


class InFlight:
    """Decides for all brokers and partitions of one producer."""

    def __init__(self, max_in_flight: int, idempotent: bool, retries: int) -> None:
        """Nothing was sent yet."""
        self.max_in_flight = max_in_flight
        self.idempotent = idempotent
        self.retries = retries

    def may_send(self, broker: int, partition: str, batch: int) -> bool:
        """Return whether the first batch of a partition's queue may go to this broker now."""
        raise NotImplementedError("InFlight.may_send is not written yet: it returns True or False")

    def sent(self, broker: int, batches: Sequence[tuple[str, int]]) -> None:
        """A request with these (partition, batch) pairs is in flight now. Return nothing."""
        raise NotImplementedError(
            "InFlight.sent is not written yet: it returns nothing, and remembers the request"
        )

    def answered(self, broker: int, results: Sequence[tuple[str, int, str, bool]]) -> list[str]:
        """Return "done", "again" or "failed" for each (partition, batch, error, retriable)."""
        raise NotImplementedError("InFlight.answered is not written yet: it returns a list")

    def expired(self, partition: str, batch: int) -> None:
        """A batch has failed because its delivery.timeout.ms is over. Return nothing."""
        raise NotImplementedError(
            "InFlight.expired is not written yet: it returns nothing, and forgets the batch"
        )
