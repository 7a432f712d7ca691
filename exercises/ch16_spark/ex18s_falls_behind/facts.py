"""The facts about exercise 16-18s' cluster, shop and query that are graded, and the rules that
grade them. This module needs no running cluster.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import not_made_again, settings_kept
from ...runner.verdict import Step
from .material import TOPIC
from .query import SMALL, Seen

CALM: Final = 3
"""The number of micro-batches in a row that must leave no lag."""
FALLEN: Final = 50
BROUGHT: Final = 400
"""While the query brings BROUGHT clicks, a larger lag has to fall by FALLEN."""
BATCHES: Final = 2
"""The smallest number of micro-batches that the query gets for that."""
BEFORE: Final = 2
"""The number of micro-batches that are not judged. The first one may have begun before the
check.
"""

Place = tuple[int, int]
"""A partition and an offset."""


class Result(NamedTuple):
    """The rows of the query, compared with the log."""

    right: int = 0
    """The number of clicks in the log that the query reports as written."""
    missing: int = 0
    twice: int = 0
    """The number of duplicate rows."""
    wrong: int = 0
    """The rows that do not fit: the log has a different click at their offset, or the query says
    that it has not come so far.
    """


class Facts(NamedTuple):
    """The state of the cluster, the shop and the query at one moment."""

    state: str
    """The state of the broker, as the supervisor reports it: running, paused or stopped."""
    topic: TopicFacts
    shop: int
    """The process id of the shop. 0: it has written nothing, or has ended."""
    query: Seen | None
    """None: the query has written nothing."""
    result: Result
    watched: Seen | None = None
    """The query's notes from when the check began to watch its lag."""


def judge(before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state in the trouble."""
    yield Step("the broker runs", now.state == "running", f"broker 0 is {now.state}")
    yield not_made_again(TOPIC, "without its clicks", before.topic, now.topic)
    yield settings_kept(before.topic.settings, now.topic.settings)
    yield _same_programs(before, now)
    yield _same_query(before.query, now.query)
    yield _each_once(now.result)
    yield _lag(now)


def _same_programs(before: Facts, now: Facts) -> Step:
    says = "the shop is open, and the query runs"
    again = "run lab reset, then lab start"
    if now.shop != before.shop or not now.shop:
        return Step(says, False, f"the shop of before has ended: {again}")
    if before.query is None or now.query is None or now.query.pid != before.query.pid:
        return Step(says, False, f"the query's program of before has ended: {again}")
    return Step(says, not now.query.complaint, now.query.complaint)


def _same_query(before: Seen | None, now: Seen | None) -> Step:
    says = "the query has gone on from its checkpoint"
    same = before is not None and now is not None and now.id == before.id
    seen = "Spark has given it another id, so it has begun with a new checkpoint"
    return Step(says, same, "" if same else seen)


def _each_once(result: Result) -> Step:
    says = "each click is in the rows once"
    faults = []
    if result.missing:
        faults.append(f"{result.missing:,} clicks are missing")
    if result.twice:
        faults.append(f"{result.twice:,} rows are there again")
    if result.wrong:
        faults.append(f"{result.wrong:,} rows do not fit the log, or are from another checkpoint")
    return Step(says, not faults, "; ".join(faults) or f"{result.right:,} clicks")


def _lag(now: Facts) -> Step:
    says = "the lag falls to zero, and stays there"
    if now.query is None or now.watched is None or now.query.run != now.watched.run:
        return Step(says, False, "the query has got new settings during the check")
    if is_calm(now.watched, now.query):
        return Step(says, True, f"the last {CALM} micro-batches have left nothing behind")
    batches = now.query.batch - now.watched.batch
    if not batches:
        return Step(says, False, "no micro-batch was finished during the check")
    clicks = brought(now.query) - brought(now.watched)
    seen = f"{batches} micro-batches have brought {clicks:,} clicks, and the last one has left"
    return Step(says, False, f"{seen} {now.query.lag:,} behind")


def brought(seen: Seen) -> int:
    """Return how many clicks the query has written since it was created."""
    return sum(seen.ends.values())


def is_calm(began: Seen, now: Seen) -> bool:
    """Return whether the lag is gone: since `began`, CALM or more micro-batches have ended, and
    after each of the last CALM at most SMALL clicks waited.
    """
    return now.batch - began.batch >= CALM <= now.zeros


class Fall:
    """Decides whether a lag falls fast enough while the query works."""

    def __init__(self, began: Seen) -> None:
        self._first = began.batch + BEFORE
        self._base: Seen | None = None

    def is_too_slow(self, now: Seen) -> bool:
        """Return whether the query has brought BROUGHT clicks in at least BATCHES micro-batches,
        and the lag has not fallen by FALLEN meanwhile. A small lag need not fall.
        """
        if now.batch < self._first:
            return False
        base = self._base = self._base or now
        if now.batch - base.batch < BATCHES or brought(now) - brought(base) < BROUGHT:
            return False
        self._base = now
        return now.lag > max(SMALL, base.lag - FALLEN)


def compared(log: Mapping[Place, str], rows: Iterable[Mapping[str, Any]]) -> Result:
    """Compare each row with the click that the log has at the row's partition and offset."""
    times = Counter[Place]()
    wrong = 0
    for row in rows:
        place = row["partition"], row["offset"]
        times[place] += 1
        wrong += log.get(place) != row["click"]
    missing = sum(place not in times for place in log)
    return Result(len(log), missing, times.total() - len(times), wrong)
