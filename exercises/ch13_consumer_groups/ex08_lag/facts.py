"""The facts about exercise 13-8's cluster and office that are graded, and the rules that grade
them. This module needs no running cluster.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import all_run, not_made_again, settings_kept
from ...runner.verdict import Step
from .material import TOPIC
from .office import Seen

SMALL: Final = 240
"""A lag of this number of orders, or less, is small."""
FALLEN: Final = 50
"""The number of orders by which a larger lag has to fall during the check."""


class Facts(NamedTuple):
    """The state of the cluster and of the office at one moment."""

    states: tuple[str, ...]
    """The state of each broker, as the supervisor reports it: running, paused or stopped."""
    topic: TopicFacts
    office: Seen | None
    """None: the office has written nothing."""
    lag: int
    """The records of the topic that the group has not committed."""
    watched: Seen | None = None
    """The office's notes when the check began to watch the lag."""
    lag_before: int = 0
    """The lag when the check began to watch it."""


def judge(before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state in the trouble."""
    yield all_run("three", now.states)
    yield not_made_again(TOPIC, "without its orders", before.topic, now.topic)
    yield settings_kept(before.topic.settings, now.topic.settings)
    yield _same_office(before.office, now.office)
    yield _none_skipped(now.office)
    yield _lag(now)


def _same_office(before: Seen | None, now: Seen | None) -> Step:
    says = "the office is open, and its workers work"
    if before is None or now is None or now.pid != before.pid:
        return Step(says, False, "the office of before has ended: run lab reset, then lab start")
    if now.complaint:
        return Step(says, False, f"it cannot use its new settings: {now.complaint}")
    return Step(says, now.workers > 0, f"it has {now.workers} workers")


def _none_skipped(now: Seen | None) -> Step:
    says = "no order was skipped"
    skipped = now.skipped if now is not None else 0
    seen = f"{skipped:,} orders were never handled" if skipped else ""
    return Step(says, not skipped, seen)


def _lag(now: Facts) -> Step:
    says = "the lag is small, or it falls"
    if now.office is None or now.watched is None or now.office.shift != now.watched.shift:
        return Step(says, False, "the office has changed its workers during the check")
    if is_calm(now.watched, now.office, now.lag_before, now.lag):
        return Step(says, True, f"it was {now.lag_before:,}, and is {now.lag:,}")
    refused = now.office.refused - now.watched.refused
    seen = f"it was {now.lag_before:,}, and is {now.lag:,}; {refused} commits were refused, and"
    seen += f" {now.office.waiting:,} orders wait for a worker"
    return Step(says, False, seen)


def is_calm(began: Seen, now: Seen, lag_before: int, lag: int) -> bool:
    """Return whether the lag is small, or has fallen during the check.

    The same must be true of the number of orders that nobody has handled yet. The lag alone is not
    enough: a large poll commits in jumps, and one jump must not count as a lag that falls.
    """
    return _falls(lag_before, lag) and _falls(began.waiting, now.waiting)


def _falls(before: int, now: int) -> bool:
    return now <= SMALL or before - now >= FALLEN
