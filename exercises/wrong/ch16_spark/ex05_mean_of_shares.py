"""Exercise 16-5, wrong: the shares of errors are averaged."""

from collections import Counter
from collections.abc import Sequence
from typing import TypedDict

Line = tuple[str, str, int, str]  # client, path, status, agent


class Partial(TypedDict):
    """A partial result that can be merged."""

    pages: dict[str, int]
    bots: list[str]
    failed: int


def is_bot(agent: str) -> bool:
    """Return whether a user agent is a bot's."""
    return any(word in agent.lower() for word in ("bot", "crawl", "spider"))


class TopPages:
    """Counts lines in parts, and merges the parts."""

    def __init__(self, n: int) -> None:
        self.n = n

    def partial(self, lines: Sequence[Line]) -> Partial:
        """Return the partial result of some lines."""
        people = [line for line in lines if not is_bot(line[3])]
        bots = {line[0] for line in lines if is_bot(line[3])}
        pages = dict(Counter(path.partition("?")[0] for _, path, _, _ in people))
        failed = sum(status >= 500 for _, _, status, _ in people)
        failed = failed * 1000 // len(people) if people else 0
        return {"pages": pages, "bots": sorted(bots), "failed": failed}

    def merge(self, one: Partial, other: Partial) -> Partial:
        """Return the partial result of the lines of both."""
        pages = dict(Counter(one["pages"]) + Counter(other["pages"]))
        bots = sorted({*one["bots"], *other["bots"]})
        return {"pages": pages, "bots": bots, "failed": (one["failed"] + other["failed"]) // 2}

    def finish(self, partial: Partial) -> tuple[list[tuple[str, int]], int, int]:
        """Return top, bots and errors."""
        pages = partial["pages"]
        top = sorted(pages.items(), key=lambda item: (-item[1], item[0]))[: self.n]
        return top, len(partial["bots"]), partial["failed"]
