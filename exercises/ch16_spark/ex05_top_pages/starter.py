"""Exercise 16-5: top pages, from partial results. README.md says what is asked; `kafka-edu lab
check 16-5` tries it, `kafka-edu lab hint 16-5` helps.
"""

from collections.abc import Sequence

Line = tuple[str, str, int, str]  # client, path, status, agent


class TopPages:
    """Counts lines in parts, and merges the parts."""

    def __init__(self, n: int) -> None:
        self.n = n

    def partial(self, lines: Sequence[Line]) -> object:
        """Return the partial result of some lines."""
        raise NotImplementedError(
            "TopPages.partial is not written yet: it returns what merge and finish need"
        )

    def merge(self, one: object, other: object) -> object:
        """Return the partial result of the lines of both."""
        raise NotImplementedError("TopPages.merge is not written yet: it returns a partial result")

    def finish(self, partial: object) -> tuple[list[tuple[str, int]], int, int]:
        """Return top, bots and errors."""
        raise NotImplementedError(
            "TopPages.finish is not written yet: it returns (top, bots, errors)"
        )
