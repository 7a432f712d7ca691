"""Hidden tests of exercise 16-15s: only `kafka-edu lab grade 16-15s` runs them."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from kafka_edu.supervisor.cluster import running_cluster

from ...runner.spark_learner import SparkLearner
from ..page_counts import View, random_views
from .public_tests import Jobs


@pytest.fixture
def hidden_jobs(learner: SparkLearner, left: Path) -> Iterator[Jobs]:
    """Makes jobs on a broker of their own."""
    with running_cluster("lab-16-15s-hidden", brokers=1) as cluster:
        made = Jobs(learner, cluster.bootstrap_servers, left)
        yield made
        made.close()


def test_odd_pages(hidden_jobs: Jobs) -> None:
    """pages with quotes, backslashes, blanks and other scripts, and an empty page"""
    pages = ('/a"b', "/a\\b", "/ a ", "", "/页", "/a\nb", "/A", "/a", "null", "/" + "x" * 500)
    job = hidden_jobs.job()
    job.writes([View(page, at) for at, page in enumerate(pages)])
    job.writes([View(page, 299) for page in pages[:4]])


def test_midnight(hidden_jobs: Jobs) -> None:
    """views around midnight, a run that changes nothing, and Spark's own connector"""
    midnight_s = 14 * 3_600
    for job in hidden_jobs.of_each_connector():
        job.writes([View("/", midnight_s - 1), View("/", midnight_s), View("/", midnight_s + 299)])
        job.writes([View(None, midnight_s), View("/", midnight_s - 10_000)])
        job.writes([View("/", midnight_s - 1)])


def test_uneven_runs(hidden_jobs: Jobs, seed: int) -> None:
    """views that come up to 15 minutes late, in a large run, a small one, and a large one"""
    views = random_views(Random(f"uneven/{seed}"), 700, (0, 1, 7), latest_s=900)
    job = hidden_jobs.job()
    for begin, end in ((0, 400), (400, 403), (403, 700)):
        job.writes(views[begin:end])
