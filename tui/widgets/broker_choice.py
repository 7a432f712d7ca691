"""A broker that a reader chooses with ← and →."""

from collections.abc import Sequence


class BrokerChoice:
    """The chosen one of the brokers that are known. It may become unknown, and come back."""

    def __init__(self) -> None:
        self._chosen: int | None = None

    def of(self, known: Sequence[int]) -> int | None:
        """Return the chosen broker; the first one if it is not known; None without brokers."""
        if self._chosen in known:
            return self._chosen
        return known[0] if known else None

    def move(self, known: Sequence[int], by: int) -> None:
        """Choose the next broker."""
        now = self.of(known)
        if now is not None:
            self._chosen = known[(known.index(now) + by) % len(known)]
