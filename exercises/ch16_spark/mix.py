"""The right answers of exercise 16-5: top pages, bots and errors; and a table of the counts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from typing import Final, NamedTuple

BOT_WORDS: Final = ("bot", "crawl", "spider")


class Hit(NamedTuple):
    """One line of the access log: a request."""

    client: str
    path: str
    status: int
    agent: str

    @property
    def by_bot(self) -> bool:
        return any(word in self.agent.lower() for word in BOT_WORDS)

    @property
    def page(self) -> str:
        return self.path.partition("?")[0]


class Result(NamedTuple):
    """The right answer: top pages, number of bots, and errors per 1,000 lines."""

    top: tuple[tuple[str, int], ...]
    bots: int
    errors: int


def right_result(hits: Iterable[Hit], n: int) -> Result:
    """Return the right answer. It counts all lines at once, not part by part."""
    pages = Counter[str]()
    bots = set[str]()
    failed = 0
    for hit in hits:
        if hit.by_bot:
            bots.add(hit.client)
        else:
            pages[hit.page] += 1
            failed += hit.status >= 500
    top = sorted(pages.items(), key=lambda item: (-item[1], item[0]))[:n]
    lines = pages.total()
    return Result(tuple(top), len(bots), failed * 1000 // lines if lines else 0)


def drawn(parts: Sequence[Sequence[Hit]], pages: Iterable[str]) -> tuple[str, ...]:
    """Draw a table that shows how many lines each page has in each partition."""
    shown = list(dict.fromkeys(pages))[:6]
    width = max(len(page) for page in ("all pages", *shown))
    counts = [Counter(hit.page for hit in part if not hit.by_bot) for part in parts[:6]]
    head = "".join(f"{f'part {number}':>8}" for number in range(len(counts)))
    rows = [f"    {'page':<{width}}{head}{'all':>8}"]
    for page in shown:
        cells = "".join(f"{count[page]:>8}" for count in counts)
        rows.append(f"    {page:<{width}}{cells}{sum(count[page] for count in counts):>8}")
    lines = "".join(f"{count.total():>8}" for count in counts)
    total = sum(count.total() for count in counts)
    rows.append(f"    {'all pages':<{width}}{lines}{total:>8}")
    return tuple(rows)


def random_parts(random: Random, parts: int) -> list[list[Hit]]:
    """Return random lines for each partition. A client may be in several partitions."""
    agents = ("Firefox/61.0", "Safari/604.1", "ExampleBot/2.1", "nice SPIDER", "a crawler", "curl")
    agent_of = {f"10.0.0.{number}": random.choice(agents) for number in range(12)}
    found: list[list[Hit]] = []
    for _ in range(parts):
        share = random.randrange(1, 60)
        part = []
        for _ in range(random.choice((0, 1, 5, 40))):
            client = random.choice(list(agent_of))
            path = f"/p{int(random.paretovariate(0.8)) % 14}" + random.choice(("", "?q=1", "?q=2"))
            status = 503 if random.randrange(60) < share else 200
            part.append(Hit(client, path, status, agent_of[client]))
        found.append(part)
    return found
