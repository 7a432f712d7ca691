"""Exercise 18-3: the reference solution (ddmin: Zeller and Hildebrandt, 2002)."""

from collections.abc import Iterator


class Shrinker:
    """Finds a few acts of a failing run that are enough to make it fail."""

    def __init__(self, acts: int) -> None:
        """The run with all acts, 0 to `acts` - 1, fails."""
        self.best = list(range(acts))
        self.held: set[tuple[int, ...]] = set()
        self.asked: list[int] = []
        self.search = self.candidates()

    def candidates(self) -> Iterator[list[int]]:
        """Yield each run to play: the best run without one of its parts, which become smaller."""
        parts = 2
        while self.best:
            size = max(len(self.best) // parts, 1)
            for start in range(0, len(self.best), size):
                rest = self.best[:start] + self.best[start + size :]
                if tuple(rest) not in self.held:
                    yield rest
                if self.best == rest:
                    parts = max(parts - 1, 2)
                    break
            else:
                if size == 1:
                    return
                parts = min(parts * 2, len(self.best))

    def next(self) -> list[int] | None:
        """Return the acts of the next run to play, or None if the search has ended."""
        candidate = next(self.search, None)
        if candidate is not None:
            self.asked = candidate
        return candidate

    def played(self, fails: bool) -> None:
        """Note whether the run that `next` has returned fails."""
        if fails:
            self.best = self.asked
        else:
            self.held.add(tuple(self.asked))

    def shortest(self) -> list[int]:
        """Return the acts of the shortest run found that fails."""
        return self.best
