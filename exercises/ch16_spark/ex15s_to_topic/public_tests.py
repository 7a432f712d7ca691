"""Public tests of exercise 16-15s. Run them with `kafka-edu lab check 16-15s`. The learner's job
runs in another process with its own Spark, and reads and writes topics of a real broker.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

import pytest

from kafka_edu.supervisor.cluster import Cluster, running_cluster

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import SparkLearner
from ..both_connectors import SOURCES, connectors_here
from ..made_again import PARTITIONS, Topic
from ..page_counts import RightCounts, View, fields_of, random_views
from ..topic_reader import TopicReader, Written

NUMBERS: Final = count()


class Job:
    """The learner's job between two topics, with a check of the records that it writes."""

    def __init__(self, learner: SparkLearner, servers: str, folder: Path, connector: str) -> None:
        number = next(NUMBERS)
        self._learner = learner
        self._views = Topic(servers, f"views-{number}")
        self._counts = Topic(servers, f"page-counts-{number}")
        self._reader = TopicReader(servers, self._counts.name, PARTITIONS)
        self._sink = {"kafka.bootstrap.servers": servers, "topic": self._counts.name}
        self._folder = str(folder / f"{number}")
        self._connector = connector
        self._right = RightCounts()

    def writes(self, views: Sequence[View]) -> None:
        """Add these views to the topic, and run the job. Raise Mismatch unless it writes the right
        records.
        """
        self._views.write([view.value for view in views])
        self._learner.run_with(
            SOURCES[self._connector],
            self._views.options,
            self._sink,
            self._folder,
            connector=self._connector,
        )
        expected, wrote = self._right.batch(views), self._reader.new()
        if why := why_other(expected, wrote):
            raise Mismatch(
                f"the new records after a run with the connector {self._connector}",
                sorted(expected.items()),
                [(text(one.key), fields_of(one.value)) for one in wrote],
                why,
                drawing=tuple(f"    came: {view}" for view in views[:6]),
                read="feed",
            )

    def close(self) -> None:
        self._reader.close()


class Jobs:
    """Makes jobs with topics of their own, and closes them."""

    def __init__(self, learner: SparkLearner, servers: str, folder: Path) -> None:
        learner.may_reach(servers)
        self._learner = learner
        self._servers = servers
        self._folder = folder
        self._made: list[Job] = []

    def job(self, connector: str = "python") -> Job:
        """Return a job between two new topics."""
        self._made.append(Job(self._learner, self._servers, self._folder, connector))
        return self._made[-1]

    def of_each_connector(self) -> Iterator[Job]:
        """Yield a job for each connector: ours, and Spark's own if it can be fetched."""
        yield from map(self.job, connectors_here())

    def close(self) -> None:
        for job in self._made:
            job.close()


def text(key: bytes | None) -> str | None:
    """Return a key as text."""
    return None if key is None else key.decode(errors="replace")


def why_other(expected: dict[str, object], wrote: Sequence[Written]) -> str:
    """Return why the first record that differs is wrong; empty if all are right."""
    keys = Counter(text(one.key) for one in wrote)
    missing = next((one for one in expected if one not in keys), None)
    if missing is not None:
        return f"there is no record with the key {missing!r}: a view has changed its count"
    for one in wrote:
        key = text(one.key)
        if key is None or key not in expected:
            return f"there must be no record with the key {key!r}: no view has changed its count"
        if keys[key] > 1:
            return f"{keys[key]} records of one run have the key {key!r}"
        if fields_of(one.value) != expected[key]:
            return f"the value of {key!r} should have the fields {expected[key]}"
    return ""


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster of one broker."""
    with running_cluster("lab-16-15s", brokers=1) as cluster:
        yield cluster


@pytest.fixture
def jobs(learner: SparkLearner, cluster: Cluster, left: Path) -> Iterator[Jobs]:
    """Makes jobs with topics of their own."""
    made = Jobs(learner, cluster.bootstrap_servers, left)
    yield made
    made.close()


def test_counts(jobs: Jobs) -> None:
    """a record for each count that the new views have changed, with its new value"""
    job = jobs.job()
    job.writes([View("/", 0), View("/cart", 299), View("/", 10, "10.0.0.2"), View("/", 300)])
    job.writes([View("/cart", 30), View(None, 31), View("/shop 7", 32), View("/cart", 40)])


def test_late(jobs: Jobs) -> None:
    """a view that comes 2 minutes late is counted, and one that comes later is not"""
    job = jobs.job()
    job.writes([View("/", 10), View("/", 419)])
    job.writes([View("/cart", 298), View("/", 420)])
    job.writes([View("/cart", 299), View("/", 300)])


def test_nothing_new(jobs: Jobs) -> None:
    """a run without new views writes nothing"""
    job = jobs.job()
    job.writes([View("/", 0), View("/cart", 900)])
    job.writes([])


def test_many(jobs: Jobs, seed: int) -> None:
    """random views, some late and some without a page"""
    views = random_views(Random(seed), 60, (0, 5, 40))
    job = jobs.job()
    for at in range(0, len(views), 20):
        job.writes(views[at : at + 20])
