"""Exercise 18-3: make a failing run short. README.md describes the task.
`kafka-edu lab check 18-3` tests your code. `kafka-edu lab hint 18-3` gives a hint.
"""


class Shrinker:
    """Finds a few acts of a failing run that are enough to make it fail."""

    def __init__(self, acts: int) -> None:
        """The run with all acts, 0 to `acts` - 1, fails."""
        raise NotImplementedError(
            "Shrinker is not written yet: it returns, by next, the acts of a run to play"
        )

    def next(self) -> list[int] | None:
        """Return the acts of the next run to play, or None if the search has ended."""
        raise NotImplementedError("Shrinker.next is not written yet: it returns acts or None")

    def played(self, fails: bool) -> None:
        """Note whether the run that `next` has returned fails."""
        raise NotImplementedError("Shrinker.played is not written yet: it notes a result")

    def shortest(self) -> list[int]:
        """Return the acts of the shortest run found that fails."""
        raise NotImplementedError("Shrinker.shortest is not written yet: it returns acts")
