"""The right answers of exercise 16-11s: failed requests, and the deployments before them."""

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

from ..runner.spark_learner import Row, Tables
from .minutes import BEGIN_S, DELAY_S, clock

SCHEMAS: Final = {
    "requests": "service string, time timestamp, status int",
    "deployments": "service string, time timestamp, version string",
}
TEAMS: Final[dict[str, str]] = {"cart": "blue", "pay": "red"}
TABLES: Final[Tables] = {"teams": ("service string, team string", list(TEAMS.items()))}
SPAN_S: Final = 600
"""A deployment is a suspect for this many seconds."""
END_S: Final = 100_000


class Request(NamedTuple):
    """A request. `time_s` is its time in seconds after 10:00:00."""

    service: str
    time_s: int
    status: int = 500

    def row(self) -> Row:
        return (self.service, (BEGIN_S + self.time_s) * 1_000_000, self.status)


class Deployment(NamedTuple):
    """A new version of a service. `time_s` is its time in seconds after 10:00:00."""

    service: str
    time_s: int
    version: str

    def row(self) -> Row:
        return (self.service, (BEGIN_S + self.time_s) * 1_000_000, self.version)


Events = Sequence[Request] | Sequence[Deployment]
#: The last two micro-batches. Their times are so late that all rows before them are written.
ENDS: Final[tuple[Events, Events]] = (
    [Request("end", END_S)],
    [Deployment("end", END_S + 1, "end")],
)


class RightBlame:
    """Finds the rows by the exercise's rules. It keeps all rows that did not come too late."""

    def __init__(self) -> None:
        self.latest_s: dict[type, int] = {}
        self.failed: list[Request] = []
        self.deployed: list[Deployment] = []
        self.too_late: set[Request | Deployment] = set()

    @property
    def watermark_s(self) -> int:
        """The earlier one of the two streams' watermarks."""
        if len(self.latest_s) < 2:
            return -(10**9)
        return min(self.latest_s.values()) - DELAY_S

    def batch(self, events: Events) -> None:
        """Add the rows of a micro-batch. All of them are of one stream."""
        watermark_s = self.watermark_s
        for one in events:
            if isinstance(one, Request) and one.status < 500:
                continue
            if one.time_s <= watermark_s:
                self.too_late.add(one)
            elif isinstance(one, Request):
                self.failed.append(one)
            else:
                self.deployed.append(one)
            kind = type(one)
            self.latest_s[kind] = max(self.latest_s.get(kind, one.time_s), one.time_s)

    def suspects(self, request: Request) -> list[Deployment]:
        """Return the deployments of the request's service in the ten minutes before it."""
        return [
            one
            for one in self.deployed
            if one.service == request.service and 0 <= request.time_s - one.time_s < SPAN_S
        ]

    def rows(self) -> list[Row]:
        """Return all rows, except those of requests that may still get more suspects."""
        found: list[Row] = []
        for request in self.failed:
            team = TEAMS.get(request.service)
            at = (request.service, clock(request.time_s))
            suspects = self.suspects(request)
            found += ((*at, one.version, team) for one in suspects)
            if not suspects and request.time_s <= self.watermark_s:
                found.append((*at, None, team))
        return sorted(found, key=repr)


def random_events(random: Random, steps: int) -> list[Events]:
    """Return random micro-batches of requests and deployments. Some come late, some too late."""
    now_s, found = 0, list[Events]()
    for number in range(steps):
        now_s += random.choice((30, 90, 300))
        late_s = random.choice((0, 0, 60, 119, 400))
        at_s = max(0, now_s - late_s)
        service = random.choice(("cart", "pay", "mail"))
        if number % 2:
            found.append([Deployment(service, at_s, f"v{number}"), Deployment("cart", now_s, "c")])
        else:
            services = random.choices(("cart", "pay", "mail"), k=4)
            requests = [Request(one, now_s - random.randrange(60)) for one in services]
            found.append([*requests, Request(service, at_s), Request("pay", at_s, 404)])
    return [*found, *ENDS]
