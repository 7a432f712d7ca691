"""The right answers of exercise 16-14s, in plain Python, and records for it."""

import re
from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

from ..runner.spark_learner import Row

RECORDS: Final = "client string, url string, agent string, status int"
FAMILIES: Final = ("bot", "firefox", "edg", "chrome", "safari")
"""The words to search for in an agent. The first word that occurs counts."""


class Request(NamedTuple):
    """A record: a request for a page."""

    client: str | None = "10.0.3.77"
    url: str | None = "/"
    agent: str | None = "curl/7.61"
    status: int | None = 200

    def answer(self) -> Row:
        """Return the row that the job makes of this record."""
        return (masked(self.client), page(self.url), family(self.agent), kind(self.status))


def masked(client: str | None) -> str | None:
    """Return an IPv4 address with its last number replaced by 0; "hidden" for others."""
    if client is None:
        return None
    found = re.fullmatch(r"([0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})\.[0-9]{1,3}", client)
    return f"{found[1]}.0" if found else "hidden"


def page(url: str | None) -> str | None:
    """Return the path of a URL without its query, double slashes and final slash."""
    if url is None:
        return None
    path = re.sub("/+", "/", url.partition("?")[0])
    return path if path == "/" else path.removesuffix("/")


def family(agent: str | None) -> str:
    """Return the first word of FAMILIES that occurs in an agent, in any case; else "other"."""
    small = (agent or "").lower()
    return next((word for word in FAMILIES if word in small), "other")


def kind(status: int | None) -> str:
    """Return "ok", "theirs" (400 to 499), "ours" (500 and more) or "unknown"."""
    if status is None:
        return "unknown"
    return "ours" if status >= 500 else "theirs" if status >= 400 else "ok"


def random_requests(random: Random, count: int) -> Sequence[Request]:
    """Return random requests. Each field is missing sometimes."""
    agents = ("Firefox/61.0", "Chrome/67 Safari/537", "Version/11 Safari/604", "a BOT Chrome/1")
    return [
        Request(
            random.choice((None, "::1", *(f"10.{random.randrange(256)}.0.{n}" for n in range(9)))),
            random.choice((None, "//", "/a//b/", "/a?x=/b/", f"/shop/{random.randrange(99)}/?q")),
            random.choice((None, "", "Edg/1 Chrome/2", *agents)),
            random.choice((None, 200, 304, 399, 400, 404, 499, 500, 503)),
        )
        for _ in range(count)
    ]
