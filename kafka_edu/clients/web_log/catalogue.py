"""The invented shop whose web log `generator` writes: tables of pages, visitors and times.

Every probability distribution is a table of whole numbers, and a random number is an index into the
table. While the generator makes lines, it uses no floating-point numbers. So a seed gives the same
bytes on every machine.
"""

import math
from collections.abc import Sequence
from enum import IntEnum
from itertools import accumulate
from statistics import NormalDist
from typing import Final, NamedTuple

#: Wed 1 August 2018, 00:00 UTC, in ms since 1970. Kafka 2.0 was released in that week.
DEFAULT_START_MS: Final = 1_533_081_600_000
ZIPF_EXPONENT: Final = 1.1
PEAK_HOUR: Final = 20

#: Random indices are from 0 to CHOICES - 1 and equally likely. Tables of probabilities have this
#: length.
CHOICES: Final = 1 << 16


class Visitor(IntEnum):
    """The kind of client that sends the requests of a session, such as a person or a crawler."""

    PERSON = 0
    CRAWLER = 1
    SCANNER = 2
    NOISE = 3
    """A visitor that sends one request, which becomes a bad line. It belongs to no session."""


class Kind(IntEnum):
    """Kinds of request. They differ in their statuses and request times."""

    PAGE = 0
    ASSET = 1
    ACTION = 2
    """A POST request."""
    API = 3
    PROBE = 4
    """A scanner's attempt to find a weak page. None of these pages exists."""


class Request(NamedTuple):
    """A method and a path.

    `weight` says how common this request is among the requests of its kind of visitor.
    """

    method: str
    path: str
    kind: Kind
    weight: float


class Agent(NamedTuple):
    """A user agent as the log shows it.

    `weight` says how common the agent is among its kind of visitor.
    """

    name: str
    visitor: Visitor
    weight: float


SITE: Final = "https://shop.example"
ASSETS: Final = ("/static/app.css", "/static/app.js", "/static/logo.svg", "/favicon.ico")
_PROBES: Final = ("/wp-login.php", "/.env", "/phpmyadmin/", "/cgi-bin/luci", "/index.php?id=1%27")
_SECTIONS: Final = (("products", 600), ("category", 24), ("blog", 120), ("help", 16))
_SHOP: Final = ("/", "/search?q=lamp", "/search?q=tea+pot", "/cart", "/login", "/account")
_API: Final = ("/api/stock", "/api/recommendations")
#: Parts of the shop that can break: the beginning of their paths, and the status while they are
#: broken.
BREAKS: Final = (("/checkout", 502), ("/api/", 503), ("/products/", 500), ("/", 504))

AGENTS: Final = (
    Agent(
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
        " Chrome/68.0.3440.84 Safari/537.36",
        Visitor.PERSON,
        46,
    ),
    Agent(
        "Mozilla/5.0 (iPhone; CPU iPhone OS 11_4_1 like Mac OS X) AppleWebKit/605.1.15"
        " (KHTML, like Gecko) Version/11.0 Mobile/15E148 Safari/604.1",
        Visitor.PERSON,
        24,
    ),
    Agent(
        "Mozilla/5.0 (Linux; Android 8.0.0; SM-G950F) AppleWebKit/537.36 (KHTML, like Gecko)"
        " Chrome/68.0.3440.85 Mobile Safari/537.36",
        Visitor.PERSON,
        18,
    ),
    Agent(
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:61.0) Gecko/20100101 Firefox/61.0",
        Visitor.PERSON,
        10,
    ),
    # This agent contains a quote. The web server has put a backslash before it.
    Agent(r"Mozilla/5.0 (\"Kiosk\" 7; Linux armv7l) Firefox/52.0", Visitor.PERSON, 2),
    Agent("examplebot/2.1 (+http://bot.example/about.html)", Visitor.CRAWLER, 3),
    Agent("Mozilla/5.0 (compatible; FictionalSpider/1.0)", Visitor.CRAWLER, 1),
    Agent("python-requests/2.19.1", Visitor.SCANNER, 1),
    Agent("Mozilla/5.0 (Windows NT 6.1; WOW64; Trident/7.0; rv:11.0) like Gecko", Visitor.NOISE, 1),
)

#: Per mille of all sessions.
VISITORS: Final = (
    (Visitor.PERSON, 890),
    (Visitor.CRAWLER, 25),
    (Visitor.SCANNER, 15),
    (Visitor.NOISE, 70),
)

#: For each kind of request: status → how often it occurs, of 10,000 requests. A browser gets 304
#: for an asset that it has already.
STATUSES: Final = {
    Kind.PAGE: ((200, 9_700), (404, 120), (302, 120), (401, 50), (500, 10)),
    Kind.ASSET: ((200, 6_000), (304, 3_995), (404, 5)),
    Kind.ACTION: ((303, 9_000), (422, 980), (500, 20)),
    Kind.API: ((200, 7_500), (204, 2_450), (429, 35), (503, 15)),
    Kind.PROBE: ((404, 9_800), (403, 195), (400, 5)),
}
#: Median of the request times in µs, for each kind of request.
MEDIAN_US: Final = {
    Kind.PAGE: 42_000,
    Kind.ASSET: 1_300,
    Kind.ACTION: 95_000,
    Kind.API: 12_000,
    Kind.PROBE: 2_100,
}


def pages() -> list[str]:
    """Return the paths that persons visit. The most popular path is first."""
    numbered = [
        f"/{section}/{number}" for section, count in _SECTIONS for number in range(1, count + 1)
    ]
    # Mix the sections in the order of popularity. 389 has no common divisor with the number of
    # pages.
    spread = [numbered[rank * 389 % len(numbered)] for rank in range(len(numbered))]
    return [*_SHOP[:4], *_API, *spread[:20], *_SHOP[4:], "/checkout", *spread[20:]]


def requests() -> list[Request]:
    """Return all requests: first the requests of persons, then the requests for assets, then the
    probes of scanners.

    The requests of persons are weighted by Zipf's law (1 / rank ** 1.1).
    """
    found = []
    for rank, path in enumerate(pages(), 1):
        weight = 1 / rank**ZIPF_EXPONENT
        if path in ("/cart", "/login", "/checkout"):
            found.append(Request("POST", path, Kind.ACTION, weight / 2))
            weight /= 2
        kind = Kind.API if path.startswith("/api/") else Kind.PAGE
        found.append(Request("GET", path, kind, weight))
    found += [Request("GET", path, Kind.ASSET, 1) for path in ASSETS]
    found += [Request("GET", path, Kind.PROBE, 1) for path in _PROBES]
    return found


def choices(weights: Sequence[float]) -> list[int]:
    """Return a table with CHOICES entries, which are indices of `weights`. Each index occurs as
    often as its weight says.
    """
    sums = list(accumulate(weights))
    ends = [round(CHOICES * one / sums[-1]) for one in sums]
    return [
        index
        for index, (begin, end) in enumerate(zip([0, *ends], ends, strict=False))
        for _ in range(end - begin)
    ]


def quantiles_lognormal(median: int, sigma: float, lowest: int, highest: int) -> list[int]:
    """Return CHOICES rising values with a log-normal distribution, from `lowest` to `highest`."""
    normal = NormalDist()
    return [
        min(
            highest,
            max(lowest, round(median * math.exp(sigma * normal.inv_cdf((index + 0.5) / CHOICES)))),
        )
        for index in range(CHOICES)
    ]


def quantiles_exponential(mean: int) -> list[int]:
    """Return CHOICES rising values with an exponential distribution and this mean."""
    return [round(-mean * math.log(1 - (index + 0.5) / CHOICES)) for index in range(CHOICES)]


def sessions_by_minute(sessions_a_second: float, unit: int) -> list[int]:
    """Return how many sessions have started since midnight, at the start of each minute and at the
    end of the day.

    The numbers are in units of 1 / `unit` session. Most sessions start at 20:00 UTC.
    """
    return [
        0,
        *accumulate(
            max(1, round(60 * sessions_a_second * day_rhythm(minute * 60_000 + 30_000) * unit))
            for minute in range(1440)
        ),
    ]


def day_rhythm(time_ms: int) -> float:
    """Return how busy the site is at this time of day, as a multiple of the day's mean.

    The result is 0.2 at 08:00 and 1.8 at 20:00 UTC. Its mean over a day is 1.
    """
    hour = time_ms / 3_600_000 % 24
    return 1 + 0.8 * math.cos((hour - PEAK_HOUR) / 24 * 2 * math.pi)
