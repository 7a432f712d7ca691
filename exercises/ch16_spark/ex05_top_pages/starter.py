"""Exercise 16-5: find the top pages by merging partial results. README.md has the task.
`kafka-edu lab check 16-5` tests your code, and `kafka-edu lab hint 16-5` gives you a hint.
"""

from collections.abc import Sequence

Line = tuple[str, str, int, str]  # client, path, status, agent


class TopPages:
    """Counts the lines of each page part by part, and merges the partial results."""

    def __init__(self, n: int) -> None:
        self.n = n

    def partial(self, lines: Sequence[Line]) -> object:
        """Return the partial result for `lines`, which are a part of all lines."""
        raise NotImplementedError(
            "TopPages.partial is not written yet: it returns what merge and finish need"
        )

    def merge(self, one: object, other: object) -> object:
        """Return the partial result for all lines of `one` and `other`."""
        raise NotImplementedError("TopPages.merge is not written yet: it returns a partial result")

    def finish(self, partial: object) -> tuple[list[tuple[str, int]], int, int]:
        """Return the top pages, the number of bots, and the errors per 1,000 lines."""
        raise NotImplementedError(
            "TopPages.finish is not written yet: it returns (top, bots, errors)"
        )
