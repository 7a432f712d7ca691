"""Exercise 09-4: the reference solution (KIP-534, since Kafka 3.1)."""


class Tombstones:
    """The rule by which the cleaner removes old tombstones."""

    def may_go(
        self, written_ms: int, cleaned_ms: int, now_ms: int, delete_retention_ms: int
    ) -> bool:
        """Return whether the cleaning pass at `now_ms` may remove a tombstone."""
        return cleaned_ms >= 0 and now_ms - cleaned_ms > delete_retention_ms

    def diagnosis(self) -> tuple[int, int]:
        """Return the offset of the tombstone that the reader needed, and the number of the event
        that removed this tombstone.
        """
        return 3, 22
