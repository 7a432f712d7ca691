"""A topic of a real broker whose records have timestamps around a day, and the right report on that
day, for exercise 16-19s.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from random import Random
from typing import Final, NamedTuple

from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.clients.admin.topic_calls import NewPartitions
from kafka_edu.clients.blocking import Admin
from kafka_edu.common.topic_partition import TopicPartition

from .topic_writer import Record, write

PARTITIONS: Final = 3
DAY_MS: Final = 24 * 3_600_000
BEGIN_MS: Final = 1_533_081_600_000
"""The start of the day: 2018-08-01T00:00:00Z, in ms since 1970."""
LATE_MS: Final = 600_000
"""How long the report waits for late records, by the timestamps."""
PAGES: Final = ("/", "/cart", "/shop", "/a b", "/页")


class View(NamedTuple):
    """A view of a page: a record of the topic."""

    at_ms: int
    """The record's timestamp, in ms since the start of the day."""
    page: str = "/"

    @property
    def counts(self) -> bool:
        """Whether the view is in the day of the report."""
        return 0 <= self.at_ms < DAY_MS

    def drawn(self) -> str:
        """Return the timestamp as it is on the clock, and the page."""
        day, ms = divmod(self.at_ms, DAY_MS)
        seconds, ms = divmod(ms, 1_000)
        name = {-1: "the day before", 0: "the day", 1: "the day after"}.get(day, "another day")
        clock = f"{seconds // 3_600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"
        return f"{name}, {clock} {self.page}"


class Range(NamedTuple):
    """The offsets of a partition that a report has read."""

    partition: int
    first: int
    next: int
    """The offset after the last one of the range."""


class ViewsTopic:
    """A topic with views, whose partitions are filled one by one."""

    def __init__(self, servers: str, name: str, replicas: int = 1) -> None:
        self._servers = servers
        self.name = name
        self.views: list[list[View]] = [[] for _ in range(PARTITIONS)]
        """The records of each partition that were ever written, by offset."""
        self._begins = [0] * PARTITIONS
        # The broker compares retention.ms with the timestamps, and these are of 2018.
        make_topic(servers, name, PARTITIONS, replicas, {"retention.ms": "-1"})

    @property
    def options(self) -> dict[str, str]:
        """The options that each source needs."""
        return {"kafka.bootstrap.servers": self._servers}

    def write(self, views: Mapping[int, Iterable[View]]) -> None:
        """Write views to these partitions, in this order. Raises ClusterError."""
        records = []
        for partition, new in views.items():
            for view in new:
                self.views[partition].append(view)
                at_ms = BEGIN_MS + view.at_ms
                records.append(Record(view.page, partition=partition, timestamp_ms=at_ms))
        write(self._servers, self.name, records)

    def delete_before(self, partition: int, offset: int) -> None:
        """Delete the records of a partition before an offset, as retention does."""
        with Admin({"bootstrap.servers": self._servers}) as admin:
            admin.delete_records({TopicPartition(self.name, partition): offset}).all()
        self._begins[partition] = offset

    def grow(self) -> None:
        """Add one partition to the topic."""
        with Admin({"bootstrap.servers": self._servers}) as admin:
            admin.create_partitions({self.name: NewPartitions(len(self.views) + 1)}).all()
        self.views.append([])
        self._begins.append(0)

    def ranges(self) -> list[Range]:
        """Return the offsets that a report must read if it is made now. Empty ranges are left
        out.
        """
        found = []
        for partition, views in enumerate(self.views):
            there = range(self._begins[partition], len(views))
            first = next((at for at in there if views[at].at_ms >= 0), len(views))
            late = DAY_MS + LATE_MS
            end = next((at for at in there if views[at].at_ms >= late), len(views))
            if first < end:
                found.append(Range(partition, first, end))
        return found

    def report(self, ranges: Iterable[Range]) -> Counter[str]:
        """Return how many views of the day each page has in these ranges."""
        return Counter(
            view.page
            for partition, first, end in ranges
            for view in self.views[partition][first:end]
            if view.counts
        )

    def drawing(self, partition: int) -> tuple[str, ...]:
        """Return a line for each of the last records of a partition."""
        views = list(enumerate(self.views[partition]))[self._begins[partition] :]
        return tuple(f"    {partition}/{at}: {view.drawn()}" for at, view in views[-12:])


def random_views(random: Random, number: int) -> list[View]:
    """Return views from some hours before the day to some hours after it. Most come in the order of
    their timestamps, some up to 15 minutes late.
    """
    hour_ms = 3_600_000
    came = sorted(random.randrange(-3 * hour_ms, DAY_MS + 3 * hour_ms) for _ in range(number))
    return [
        View(at - random.choice((0, 0, 0, random.randrange(900_000))), random.choice(PAGES))
        for at in came
    ]
