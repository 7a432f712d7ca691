"""Exercise 16-5: the reference solution."""

from collections import Counter
from collections.abc import Sequence
from typing import TypedDict

Line = tuple[str, str, int, str]  # client, path, status, agent


class Partial(TypedDict):
    """The counts for a part of the lines. Two partial results can be merged."""

    pages: dict[str, int]
    bots: list[str]
    failed: int


def is_bot(agent: str) -> bool:
    """Return whether a user agent is that of a bot."""
    return any(word in agent.lower() for word in ("bot", "crawl", "spider"))


class TopPages:
    """Counts the lines of each page part by part, and merges the partial results."""

    def __init__(self, n: int) -> None:
        self.n = n

    def partial(self, lines: Sequence[Line]) -> Partial:
        """Return the partial result for `lines`, which are a part of all lines."""
        people = [line for line in lines if not is_bot(line[3])]
        bots = {line[0] for line in lines if is_bot(line[3])}
        pages = dict(Counter(path.partition("?")[0] for _, path, _, _ in people))
        failed = sum(status >= 500 for _, _, status, _ in people)
        return {"pages": pages, "bots": sorted(bots), "failed": failed}

    def merge(self, one: Partial, other: Partial) -> Partial:
        """Return the partial result for all lines of `one` and `other`."""
        pages = dict(Counter(one["pages"]) + Counter(other["pages"]))
        bots = sorted({*one["bots"], *other["bots"]})
        return {"pages": pages, "bots": bots, "failed": one["failed"] + other["failed"]}

    def finish(self, partial: Partial) -> tuple[list[tuple[str, int]], int, int]:
        """Return the top pages, the number of bots, and the errors per 1,000 lines."""
        pages = partial["pages"]
        top = sorted(pages.items(), key=lambda item: (-item[1], item[0]))[: self.n]
        lines = sum(pages.values())
        errors = partial["failed"] * 1000 // lines if lines else 0
        return top, len(partial["bots"]), errors
