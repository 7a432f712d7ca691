"""The right answers of exercise 16-15s: the views of each page by five minutes, as records."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from .minutes import DELAY_S, clock

SPAN_S: Final = 300
PAGES: Final = ("/", "/cart", "/shop/7", "/shop/8")


class View(NamedTuple):
    """A record of the topic: a view of a page. `time_s` is in seconds after 10:00:00."""

    page: str | None
    time_s: int
    client: str = "10.0.0.1"

    @property
    def value(self) -> str:
        """The value of the record, as JSON."""
        return json.dumps({"page": self.page, "time": text_of(self.time_s), "client": self.client})


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


def text_of(time_s: int) -> str:
    """Return a time, given in seconds after 10:00:00, as the text in the records."""
    return f"{clock(time_s).replace(' ', 'T')}Z"


def key_of(begin_s: int, page: str) -> str:
    """Return the key of a record: the start of the five minutes, a blank, and the page."""
    return f"{text_of(begin_s)} {page}"


def value_of(begin_s: int, page: str, views: int) -> Mapping[str, object]:
    """Return the fields of a record's JSON value."""
    return {"page": page, "begin": text_of(begin_s), "views": views}


def fields_of(value: object) -> object:
    """Return the fields of a JSON value, or the value itself if it is not JSON."""
    try:
        return json.loads(value) if isinstance(value, str | bytes) else value
    except ValueError:
        return value


def random_views(
    random: Random, count: int, steps_s: Sequence[int], latest_s: int = DELAY_S
) -> list[View]:
    """Return random views, in the order in which they come. Some are up to `latest_s` late.

    A view without a page is never the latest one. So it does not matter whether it moves the
    watermark.
    """
    now_s = latest_page_s = 0
    found = list[View]()
    for _ in range(count):
        now_s += random.choice(steps_s)
        at_s = max(0, now_s - random.choice((0, 0, 0, random.randrange(latest_s))))
        pages: tuple[str | None, ...] = (*PAGES, *PAGES[:2])
        page = random.choice((None, *pages) if at_s <= latest_page_s else pages)
        if page is not None:
            latest_page_s = max(latest_page_s, at_s)
        found.append(View(page, at_s, f"10.0.0.{random.randrange(9)}"))
    return found
