"""An invented but lifelike access log of a web server, with its true counts. Demos and labs stream
it through a cluster.

    log = WebLog(seed=7)
    for line in itertools.islice(log, 10_000):
        send(key=line.visitor, value=line.text)
    log.truth.by_status   # {200: 8,402, 304: …}: the result that any job on these lines must find

Lines are in Apache's combined format. Visitors come in sessions, more of them in the evening than
at night (a daily rhythm with its peak at 20:00). Each visitor looks at some pages, fetches what the
pages need, and thinks in between. Popular pages are seen more often (Zipf's law with exponent 1.1).
Now and then a part of the shop breaks for a minute and causes a burst of errors, as alerts are made
for. The log has its own time: a second of real time may hold an hour of it. The same seed gives the
same lines, byte for byte.
"""

import bisect
import heapq
import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

#: Wed 1 August 2018, 00:00 UTC: the week in which Kafka 2.0 was new.
DEFAULT_START_MS: Final = 1_533_081_600_000
ZIPF_EXPONENT: Final = 1.1
PEAK_HOUR: Final = 20
MEAN_PAGES_A_SESSION: Final = 5
MEAN_THINK_MS: Final = 9_000
MEAN_MINUTES_BETWEEN_BURSTS: Final = 10
BURST_MS: Final = (20_000, 90_000)

_MONTHS: Final = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)

#: Section of the site → how many pages it has.
_SECTIONS: Final = (("products", 180), ("category", 24), ("blog", 60), ("help", 16))
_SHOP: Final = (
    "/",
    "/search",
    "/cart",
    "/checkout",
    "/login",
    "/account",
    "/api/stock",
    "/api/recommendations",
)
_ASSETS: Final = ("/static/app.css", "/static/app.js", "/static/logo.svg", "/favicon.ico")
#: Requests of scanners that try every server on the net. None of these pages exists.
_PROBES: Final = ("/wp-login.php", "/.env", "/phpmyadmin/", "/cgi-bin/luci", "/index.php?id=1%27")
#: Parts of the shop that can break: the prefix of their paths, and the status code then.
_BREAKS: Final = (("/checkout", 502), ("/api/", 503), ("/search", 504), ("/products/", 500))

_BROWSERS: Final = (
    (
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
            " Chrome/68.0.3440.84 Safari/537.36"
        ),
        46,
    ),
    (
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 11_4_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML,"
            " like Gecko) Version/11.0 Mobile/15E148 Safari/604.1"
        ),
        21,
    ),
    (
        (
            "Mozilla/5.0 (Linux; Android 8.0.0; SM-G950F) AppleWebKit/537.36 (KHTML, like Gecko)"
            " Chrome/68.0.3440.85 Mobile Safari/537.36"
        ),
        18,
    ),
    ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:61.0) Gecko/20100101 Firefox/61.0", 10),
    (
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_13_6) AppleWebKit/605.1.15 (KHTML, like"
            " Gecko) Version/11.1.2 Safari/605.1.15"
        ),
        5,
    ),
)
_CRAWLER: Final = "examplebot/2.1 (+http://bot.example/about.html)"
_SCANNER: Final = "python-requests/2.19.1"


class WebLogLine(NamedTuple):
    """One request, as logged.

    `visitor` is the first field of the line. It is a good record key, because it keeps a session in
    order.
    """

    text: str
    visitor: str
    time_ms: int
    method: str
    path: str
    status: int
    size: int


class WebLogTruth:
    """The true counts of the lines so far, counted while the lines were made and not by reading
    them.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.bytes_sent = 0
        self.sessions = 0
        self.by_status: Counter[int] = Counter()
        self.by_method: Counter[str] = Counter()
        self.by_path: Counter[str] = Counter()
        self.by_minute: Counter[int] = Counter()
        """Minute since 1970 → lines."""
        self.errors_by_minute: Counter[int] = Counter()
        """Minute since 1970 → lines with a status of 500 or more."""
        self.visitors: set[str] = set()

    def add(self, line: WebLogLine) -> None:
        minute = line.time_ms // 60_000
        self.lines += 1
        self.bytes_sent += line.size
        self.by_status[line.status] += 1
        self.by_method[line.method] += 1
        self.by_path[line.path] += 1
        self.by_minute[minute] += 1
        if line.status >= 500:
            self.errors_by_minute[minute] += 1
        self.visitors.add(line.visitor)


class _Burst(NamedTuple):
    prefix: str
    status: int
    start_ms: int
    end_ms: int


class _Session:
    """One visit: the next requests of a visitor, and their times."""

    def __init__(
        self, visitor: str, user: str, agent: str, pages: int, crawls: bool, scans: bool
    ) -> None:
        self.visitor = visitor
        self.user = user
        self.agent = agent
        self.pages_left = pages
        self.crawls = crawls
        self.scans = scans
        self.referrer = "-"
        self.cached: set[str] = set()
        self.queued: list[str] = []
        """Assets of the page just fetched."""


class WebLog:
    """An endless iterator over lines in the order of their times. O(log sessions) a line.

    `truth` always matches the lines given out so far.
    """

    def __init__(
        self, seed: int, start_ms: int = DEFAULT_START_MS, sessions_a_minute: float = 60.0
    ) -> None:
        """`sessions_a_minute` is the mean over a day. Each session makes about 20 lines."""
        self.truth = WebLogTruth()
        self._random = random.Random(seed)
        self._sessions_a_ms = sessions_a_minute / 60_000
        self._paths, self._cumulative = _catalogue()
        self._order = itertools.count()
        self._next_arrival_ms = float(start_ms)
        self._due: list[tuple[float, int, _Session]] = []
        self._burst = self._next_burst(start_ms)
        self._stamp: tuple[int, str] = (-1, "")

    def __iter__(self) -> Iterator[WebLogLine]:
        return self

    def __next__(self) -> WebLogLine:
        while not self._due or self._next_arrival_ms <= self._due[0][0]:
            self._arrive()
        time_ms, _, session = heapq.heappop(self._due)
        line = self._request(session, int(time_ms))
        self.truth.add(line)
        return line

    def _arrive(self) -> None:
        rng = self._random
        now = self._next_arrival_ms
        self._next_arrival_ms = now + rng.expovariate(self._sessions_a_ms * day_rhythm(int(now)))
        kind = rng.random()
        crawls, scans = kind < 0.03, 0.03 <= kind < 0.04
        agent = (
            _CRAWLER
            if crawls
            else (
                _SCANNER
                if scans
                else rng.choices(
                    [name for name, _ in _BROWSERS], [weight for _, weight in _BROWSERS]
                )[0]
            )
        )
        pages = 1 + int(rng.expovariate(1 / (40 if crawls else MEAN_PAGES_A_SESSION - 1)))
        user = (
            f"user{rng.randrange(2_000)}"
            if not crawls and not scans and rng.random() < 0.15
            else "-"
        )
        self.truth.sessions += 1
        heapq.heappush(
            self._due,
            (now, next(self._order), _Session(self._address(), user, agent, pages, crawls, scans)),
        )

    def _address(self) -> str:
        """Return an address from the ranges for documentation and private networks, so that no real
        address is logged.
        """
        rng = self._random
        if rng.random() < 0.1:
            return f"2001:db8:{rng.randrange(1, 0xFFFF):x}::{rng.randrange(1, 0xFFFF):x}"
        return f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"

    def _request(self, session: _Session, now: int) -> WebLogLine:
        rng = self._random
        if session.queued:
            path = session.queued.pop()
            is_page = False
        else:
            session.pages_left -= 1
            path = rng.choice(_PROBES) if session.scans else self._page(session)
            is_page = not session.scans
        method = "GET"
        if path in ("/login", "/cart", "/checkout") and rng.random() < 0.5:
            method = "POST"
        elif session.crawls and rng.random() < 0.1:
            method = "HEAD"
        status = self._status(session, method, path, now)
        size = 0 if method == "HEAD" or status in (204, 304) else self._size(path, status)
        referrer = session.referrer
        if is_page and status < 400:
            session.referrer = f"https://shop.example{path}"
            if not session.crawls:
                session.queued = [
                    asset for asset in _ASSETS if asset not in session.cached or rng.random() < 0.3
                ]
        if session.queued:
            heapq.heappush(self._due, (now + rng.uniform(5, 120), next(self._order), session))
        elif session.pages_left > 0:
            think = (
                rng.lognormvariate(math.log(MEAN_THINK_MS) - 0.5, 1.0)
                if not session.crawls
                else rng.uniform(200, 1_500)
            )
            heapq.heappush(self._due, (now + think, next(self._order), session))
        text = (
            f'{session.visitor} - {session.user} [{self._clock(now)}] "{method} {path} HTTP/1.1" '
            f'{status} {size if size else "-"} "{referrer}" "{session.agent}"'
        )
        return WebLogLine(text, session.visitor, now, method, path, status, size)

    def _page(self, session: _Session) -> str:
        rng = self._random
        if session.crawls and session.referrer == "-":
            return "/robots.txt"
        path = self._paths[bisect.bisect(self._cumulative, rng.random() * self._cumulative[-1])]
        if path == "/search":
            words = ("kettle", "lamp", "tea+pot", "b%C3%BCcher", "%E8%8C%B6", "chair")
            return f"/search?q={rng.choice(words)}"
        return path

    def _status(self, session: _Session, method: str, path: str, now: int) -> int:
        rng = self._random
        if now >= self._burst.end_ms:
            self._burst = self._next_burst(now)
        if (
            now >= self._burst.start_ms
            and path.startswith(self._burst.prefix)
            and rng.random() < 0.7
        ):
            return self._burst.status
        if session.scans:
            return 404
        if path in _ASSETS:
            if path in session.cached:
                return 304
            session.cached.add(path)
            return 200
        chance = rng.random()
        if chance < 0.0008:
            return 500
        if chance < 0.012:
            return 404
        if path == "/account" and session.user == "-":
            return 401
        if method == "POST":
            return 303 if chance < 0.9 else 422
        if path == "/login" or chance < 0.03:
            return 302 if chance < 0.2 else 200
        return 204 if path == "/api/stock" else 200

    def _size(self, path: str, status: int) -> int:
        """Return the size in bytes. An asset always has the same size; a page varies around its
        own.
        """
        if status >= 300:
            return 150 + len(path)
        if path in _ASSETS:
            return (18_240, 96_512, 3_120, 1_150)[_ASSETS.index(path)]
        return int(self._random.lognormvariate(9.2, 0.5))

    def _next_burst(self, now: int) -> _Burst:
        rng = self._random
        prefix, status = rng.choice(_BREAKS)
        start = now + int(rng.expovariate(1 / (MEAN_MINUTES_BETWEEN_BURSTS * 60_000)))
        return _Burst(prefix, status, start, start + rng.randint(*BURST_MS))

    def _clock(self, now: int) -> str:
        """Format `01/Aug/2018:20:15:07 +0000`, with English months in any locale.

        Lines come in the order of time, so the previous result can often be used again.
        """
        second = now // 1000
        if self._stamp[0] != second:
            moment = datetime.fromtimestamp(second, UTC)
            self._stamp = (
                second,
                f"{moment:%d}/{_MONTHS[moment.month - 1]}/{moment:%Y:%H:%M:%S} +0000",
            )
        return self._stamp[1]


def day_rhythm(time_ms: int) -> float:
    """Return how busy the site is at this time of day, as a multiple of its mean.

    From 0.2 at 08:00 to 1.8 at 20:00 UTC. The mean over a day is 1.
    """
    hour = time_ms / 3_600_000 % 24
    return 1 + 0.8 * math.cos((hour - PEAK_HOUR) / 24 * 2 * math.pi)


def _catalogue() -> tuple[list[str], list[float]]:
    """Return all pages, the most popular first, with the running sums of their Zipf weights 1 /
    rank ** 1.1.
    """
    pages = [
        f"/{section}/{number}" for section, count in _SECTIONS for number in range(1, count + 1)
    ]
    order = random.Random(0)
    order.shuffle(pages)
    paths = list(_SHOP[:4]) + pages[:20] + list(_SHOP[4:]) + pages[20:]
    return paths, list(
        itertools.accumulate(1 / rank**ZIPF_EXPONENT for rank in range(1, len(paths) + 1))
    )
