"""The right answers of exercise 16-15s: the views of each page by five minutes, as records."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from ..runner.spark_learner import Row
from .minutes import BEGIN_S, DELAY_S, clock

VIEWS: Final = "page string, time timestamp, client string"
SPAN_S: Final = 300
PAGES: Final = ("/", "/cart", "/shop/7", "/shop/8")


class View(NamedTuple):
    """A record of the topic: a view of a page. `time_s` is in seconds after 10:00:00."""

    page: str | None
    time_s: int
    client: str = "10.0.0.1"

    def row(self) -> Row:
        return (self.page, (BEGIN_S + self.time_s) * 1_000_000, self.client)


class RightCounts:
    """Finds the records by the exercise's rules."""

    def __init__(self) -> None:
        self.watermark_s = -(10**9)
        self.views = Counter[tuple[int, str]]()

    def batch(self, views: Sequence[View]) -> dict[str, object]:
        """Add a batch of views, and return the records of the counts that it changed."""
        changed = dict[str, object]()
        for view in views:
            begin_s = view.time_s - view.time_s % SPAN_S
            if view.page is None or begin_s + SPAN_S <= self.watermark_s:
                continue
            self.views[begin_s, view.page] += 1
            changed[key_of(begin_s, view.page)] = value_of(
                begin_s, view.page, self.views[begin_s, view.page]
            )
        latest_s = max([view.time_s for view in views], default=0)
        self.watermark_s = max(self.watermark_s, latest_s - DELAY_S)
        return changed


def key_of(begin_s: int, page: str) -> str:
    """Return the key of a record: the begin of the five minutes, a blank, and the page."""
    return f"{clock(begin_s).replace(' ', 'T')}Z {page}"


def value_of(begin_s: int, page: str, views: int) -> Mapping[str, object]:
    """Return the fields of a record's JSON value."""
    return {"page": page, "begin": f"{clock(begin_s).replace(' ', 'T')}Z", "views": views}


def fields_of(value: object) -> object:
    """Return the fields of a JSON value; or the value itself if it is no JSON."""
    try:
        return json.loads(value) if isinstance(value, str | bytes) else value
    except ValueError:
        return value


def random_views(
    random: Random, count: int, steps_s: Sequence[int], latest_s: int = DELAY_S
) -> list[View]:
    """Return random views, in the order in which they come. Some are up to `latest_s` late."""
    now_s, found = 0, list[View]()
    for _ in range(count):
        now_s += random.choice(steps_s)
        late_s = random.choice((0, 0, 0, random.randrange(latest_s)))
        page = random.choice((None, *PAGES, *PAGES[:2]))
        found.append(View(page, max(0, now_s - late_s), f"10.0.0.{random.randrange(9)}"))
    return found
