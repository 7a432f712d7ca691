"""Public tests of exercise 16-5. Run them with `kafka-edu lab check 16-5`. The learner's class runs
in another process, and the fixture `learner` calls it there.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..mix import Hit, drawn, random_parts, right_result

ROUNDS: Final = 25
NAMES: Final = ("top", "bots", "errors")


class Checked:
    """Merges the learner's partial results in a given order, and checks the final result."""

    def __init__(self, learner: Learner, n: int) -> None:
        self._made = learner.make(n)
        self._n = n

    def agrees(self, *parts: Sequence[Hit], random: Random | None = None) -> None:
        """Merge the parts from the left, or in a random order if `random` is given. Raise Mismatch
        unless the final result is right for all lines.
        """
        merged = [self._made.call("partial", [list(hit) for hit in part]) for part in parts]
        while len(merged) > 1:
            at = random.randrange(len(merged) - 1) if random else 0
            one, other = merged[at], merged[at + 1]
            if random and random.random() < 0.5:
                one, other = other, one
            merged[at : at + 2] = [self._made.call("merge", one, other)]
        came = self._made.call("finish", merged[0])
        hits = [hit for part in parts for hit in part]
        expected = right_result(hits, self._n)
        if came == tuple(expected):
            return
        pages = [page for page, _ in expected.top]
        if isinstance(came, tuple) and came and isinstance(came[0], tuple):
            pages += [one[0] for one in came[0] if isinstance(one, tuple) and one]
            came = (list(came[0]), *came[1:])
        raise Mismatch(
            f"finish of {len(parts)} merged parts, {len(hits)} lines, TopPages({self._n})",
            (list(expected.top), expected.bots, expected.errors),
            came,
            self._why(hits, parts, came),
            drawing=drawn(parts, [str(page) for page in pages]),
            read="merge" if len(parts) > 1 else "partial and finish",
        )

    def _why(self, hits: list[Hit], parts: Sequence[Sequence[Hit]], came: object) -> str:
        expected = right_result(hits, self._n)
        if not (isinstance(came, tuple) and len(came) == 3 and isinstance(came[0], list)):
            return "finish returns (top, bots, errors), and top is a list of (page, lines)"
        if came[0] != list(expected.top):
            return self._why_top(hits, expected.top, came[0])
        if came[1] != expected.bots:
            if not any(hit.by_bot for hit in hits):
                return "no agent here has one of the words, in small or capital letters"
            each = [len({hit.client for hit in part if hit.by_bot}) for part in parts]
            return (
                f"different clients that were bots: {expected.bots}. The parts have {each} of them:"
                " a client that is in two parts, or has two lines, counts once"
            )
        people = [hit for hit in hits if not hit.by_bot]
        failed = sum(hit.status >= 500 for hit in people)
        return (
            f"{failed} of {len(people)} lines failed that are not a bot's. Shares of parts of"
            " different sizes cannot be averaged: add the counts, and divide at the end"
        )

    def _why_top(
        self, hits: list[Hit], expected: tuple[tuple[str, int], ...], came: list[object]
    ) -> str:
        counts: dict[str, int] = {}
        for hit in hits:
            if not hit.by_bot:
                counts[hit.page] = counts.get(hit.page, 0) + 1
        rows = [row for row in came if isinstance(row, tuple) and len(row) == 2]
        if len(rows) != len(came) or not all(isinstance(lines, int) for _, lines in rows):
            return "top is a list of (page, lines)"
        queries = [page for page, _ in rows if "?" in str(page)]
        if queries:
            return f"the page of {queries[0]!r} is what comes before the ?"
        for page, lines in rows:
            right = counts.get(page, 0)
            if lines > right:
                return (
                    f"{page} has {right} lines that are not a bot's, and your code says {lines}."
                    " Lines of bots do not count, and the words are in small or capital letters"
                )
            if lines < right:
                return (
                    f"{page} has {right} lines in all parts together, and your code says {lines}."
                    " A part must keep its lines even of a page that is not among its first"
                )
        if sorted(map(str, came)) == sorted(map(str, expected)):
            return "the most frequent page comes first; equally frequent ones by their names"
        missing = next((row for row in expected if row not in came), None)
        if missing is None:
            return f"top has at most {self._n} pages"
        if any(lines == missing[1] for _, lines in rows):
            return (
                f"{missing[0]} has as many lines as another page, {missing[1]}, and equally"
                " frequent pages come in the order of their names"
            )
        return (
            f"{missing[0]} has {missing[1]} lines in all parts together, and belongs to the first"
            f" {self._n}. A part must keep its lines even of a page that is not among its first"
        )


MakeTop = Callable[..., Checked]


@pytest.fixture
def top(learner: Learner) -> MakeTop:
    """A function top(n): the learner's TopPages, with a check of its result."""
    return lambda n=3: Checked(learner, n)


def hits(*paths: str, client: str = "10.0.0.1", status: int = 200, agent: str = "x") -> list[Hit]:
    """Return a line of the log for each path."""
    return [Hit(client, path, status, agent) for path in paths]


def test_one_part(top: MakeTop) -> None:
    """the top pages of the lines of one partition"""
    top().agrees(hits("/a", "/b", "/b", "/c", "/c", "/c", "/d"))
    top(1).agrees(hits("/a", "/b", "/b"))
    top(9).agrees(hits("/a"))


def test_ties(top: MakeTop) -> None:
    """equally frequent pages come in the order of their names"""
    top(2).agrees(hits("/c", "/b", "/a"))
    top(2).agrees(hits("/c", "/b"), hits("/a", "/z"))


def test_pages(top: MakeTop) -> None:
    """the part of a path after ? does not belong to the page"""
    top().agrees(hits("/s?q=1", "/s?q=2?", "/s", "/t"))


def test_bots(top: MakeTop) -> None:
    """lines of bots do not count; the agent names the bot, in small or capital letters"""
    person = hits("/a", "/b", "/b", client="10.0.0.9")
    for agent in ("ExampleBot/2.1", "a web CRAWLER", "BigSpider", "robot"):
        top().agrees(person + hits("/a", "/a", "/x", agent=agent, status=500))


def test_no_lines(top: MakeTop) -> None:
    """no lines at all, and only lines of a bot"""
    top().agrees([])
    top().agrees(hits("/a", agent="bot"))
    top().agrees([], hits("/a"), [])


def test_top_of_tops(top: MakeTop) -> None:
    """a page that is first in no single partition, but first in all partitions together"""
    one, other = hits("/a", "/a", "/a", "/b", "/b"), hits("/c", "/c", "/c", "/b", "/b")
    top(1).agrees(one, other)


def test_same_bot(top: MakeTop) -> None:
    """a bot that is in two partitions counts as one bot"""
    name = "10.0.0.7"
    one = hits("/a", "/b", client=name, agent="bot")
    top().agrees(one, hits("/c", client=name, agent="bot"))
    top().agrees(one, hits("/c", client="10.0.0.8", agent="bot"))


def test_shares(top: MakeTop) -> None:
    """the share of errors, from partitions of different sizes"""
    good, bad = hits(*["/a"] * 97), hits("/b", "/b", status=503)
    top().agrees(good, bad)
    top().agrees(hits("/a", "/a"), hits("/b", status=500))


def test_any_order(top: MakeTop, seed: int) -> None:
    """the same parts, merged in different orders"""
    random = Random(seed)
    parts = random_parts(random, 5)
    for _ in range(6):
        random.shuffle(parts)
        top(4).agrees(*parts, random=random)


def test_many(top: MakeTop, seed: int) -> None:
    """random partitions and lines"""
    random = Random(seed)
    for _ in range(ROUNDS):
        parts = random_parts(random, random.randrange(1, 6))
        top(random.randrange(1, 6)).agrees(*parts, random=random)
