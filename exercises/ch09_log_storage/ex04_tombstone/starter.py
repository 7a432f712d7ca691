"""Exercise 09-4: this cleaner removes tombstones too early. README.md describes the task.
`kafka-edu lab check 09-4` tests your code. `kafka-edu lab hint 09-4` gives a hint.
"""


class Tombstones:
    """The rule by which the cleaner removes old tombstones."""

    def may_go(
        self, written_ms: int, cleaned_ms: int, now_ms: int, delete_retention_ms: int
    ) -> bool:
        """Return whether the cleaning pass at `now_ms` may remove a tombstone."""
        return now_ms - written_ms > delete_retention_ms

    def diagnosis(self) -> tuple[int, int]:
        """Return the offset of the tombstone in events.txt that the reader needed, and the number
        of the event that removed this tombstone.
        """
        raise NotImplementedError(
            "Tombstones.diagnosis is not written yet: it returns (offset of the tombstone, number"
            " of the event)"
        )
