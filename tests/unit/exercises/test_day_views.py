"""Exercise 16-19s: the topic with the page views of one day, and the right report on that day."""

from collections.abc import Iterable
from itertools import pairwise
from random import Random

import pytest

from exercises.ch16_spark import day_views
from exercises.ch16_spark.day_views import (
    BEGIN_MS,
    DAY_MS,
    LATE_MS,
    Range,
    View,
    ViewsTopic,
    random_views,
)
from exercises.ch16_spark.topic_writer import Record


@pytest.fixture
def wrote(monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """Replace the broker: collect the records of a topic in a list, and return the list."""
    records: list[Record] = []

    def write(servers: str, topic: str, new: Iterable[Record]) -> None:
        records.extend(new)

    monkeypatch.setattr(day_views, "make_topic", lambda *_: None)
    monkeypatch.setattr(day_views, "write", write)
    return records


def test_a_range_waits_for_late_records_and_a_report_has_those_of_the_day(
    wrote: list[Record],
) -> None:
    topic = ViewsTopic("nowhere", "views")
    early, late = View(-1), View(DAY_MS + LATE_MS - 1, "/late")
    day = [View(0, "/a"), View(DAY_MS, "/b"), View(DAY_MS - 1, "/a"), late]
    behind_it = View(DAY_MS + LATE_MS)
    topic.write({0: [early, *day, behind_it, View(5, "/too late")], 1: [early], 2: [behind_it]})
    assert topic.ranges() == [Range(0, 1, 5)]
    assert topic.report(topic.ranges()) == {"/a": 2}
    assert wrote[0] == Record("/", partition=0, timestamp_ms=BEGIN_MS - 1)
    topic.write({1: [View(7, "/c")]})
    assert topic.ranges() == [Range(0, 1, 5), Range(1, 1, 2)]


def test_a_record_shows_the_clock_of_its_day() -> None:
    assert View(-1).drawn() == "the day before, 23:59:59.999 /"
    assert View(DAY_MS + LATE_MS, "/a").drawn() == "the day after, 00:10:00.000 /a"
    assert View(DAY_MS // 2).drawn() == "the day, 12:00:00.000 /"


def test_random_views_are_of_three_days_and_some_are_late() -> None:
    views = random_views(Random(1), 300)
    assert {view.at_ms // DAY_MS for view in views} == {-1, 0, 1}
    late = [after.at_ms < one.at_ms for one, after in pairwise(views)]
    assert any(late)
    assert not all(late)
