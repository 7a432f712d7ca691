"""The live part of 16-15s: the learner's job reads a topic of a real cluster, writes counts to
another topic, and its driver is killed once during its work. A reader keeps the last value
of each key, as a dashboard does.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from kafka_edu.learner.learner import LearnerFailure
from kafka_edu.supervisor.cluster import Cluster, running_cluster

from ..runner.manifest import Exercise
from ..runner.material import new_seed
from ..runner.public_tests import SPARK_LIMITS
from ..runner.spark_learner import SparkLearner
from ..runner.topics import make_topic
from ..runner.verdict import Step
from .both_connectors import CONNECTORS, SOURCES, why_no_official
from .killed_job import run_and_kill
from .live_job import CLUSTER, PARTITIONS
from .live_streams import fill_topic
from .page_counts import RightCounts, fields_of, random_views
from .topic_reader import TopicReader

VIEWS: Final = 4_000
TOPIC: Final = "page-views"
LOOK_EVERY_S: Final = 0.01
NEVER_S: Final = 600.0
"""If a job has written nothing for this many seconds, its driver is not killed any more."""


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Start a cluster, and yield the steps of `check_on`. `patience_s` is not needed, because the
    job ends at the end of the topic. Raises ClusterError.
    """
    say(f"a cluster of three brokers starts, and a topic gets {VIEWS:,} views of pages")
    with (
        tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True) as home,
        running_cluster(CLUSTER, home=Path(home)) as cluster,
    ):
        yield from check_on(cluster, exercise, file, say)


def check_on(
    cluster: Cluster, exercise: Exercise, file: Path | None, say: Callable[[str], None]
) -> Iterator[Step]:
    """Fill a topic, run the job with both connectors, and yield the checks of its records.

    Raises ClusterError.
    """
    # A micro-batch takes a share of what waits in each partition, so one may be ahead. The
    # views are at most one minute late, so that they stay within the 2 minutes of the watermark.
    views = random_views(Random(new_seed()), VIEWS, (0, 0, 0, 1), latest_s=60)
    right = RightCounts().batch(views)
    fill_topic(cluster, TOPIC, [(f"{number}", one.value) for number, one in enumerate(views)])
    for connector in CONNECTORS:
        if connector == "official" and (why := why_no_official()):
            say(f"the job is not run with Spark's own connector. {why}")
            return
        say(f"the job runs with the connector {connector}, and its driver is killed once")
        learner = SparkLearner(
            file or exercise.solution, exercise.wanted, allowance=SPARK_LIMITS.call
        )
        try:
            yield from run(cluster, learner, connector, right)
        finally:
            learner.close()


def run(
    cluster: Cluster, learner: SparkLearner, connector: str, right: dict[str, object]
) -> Iterator[Step]:
    """Run the job with one connector, kill it, run it to the end, and yield the checks.

    Raises ClusterError.
    """
    servers, into = cluster.bootstrap_servers, f"page-counts-{connector}"
    make_topic(
        cluster,
        into,
        cluster.broker_ids,
        PARTITIONS,
        {"cleanup.policy": "compact"},
    )
    options = {
        "kafka.bootstrap.servers": servers,
        "subscribe": TOPIC,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": f"{VIEWS // 3}",
    }
    sink = {"kafka.bootstrap.servers": servers, "topic": into}
    says = f"the job reads the topic to its end with the connector {connector}"
    reader = TopicReader(servers, into, PARTITIONS)
    with tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True) as folder:
        try:
            job = partial(
                learner.run_with, SOURCES[connector], options, sink, folder, connector=connector
            )
            killer = Killer(learner, reader)
            if why := run_and_kill(job, killer, learner):
                yield Step(says, False, why)
                return
            try:
                job()
            except LearnerFailure as failure:
                yield Step(says, False, failure.message)
                return
            wrote = reader.new()
        finally:
            reader.close()
    seen = "its driver was killed once, and it was run again" if killer.has_killed else ""
    yield Step(says, True, seen)
    last = {(one.key or b"").decode(errors="replace"): fields_of(one.value) for one in wrote}
    wrong = sorted(key for key in {*right, *last} if right.get(key) != last.get(key))
    seen = f"{len(wrote):,} records of {len(last):,} keys"
    if wrong:
        key = wrong[0]
        seen = f"{key!r} has {last.get(key)}, and {right.get(key)} is right"
    yield Step(f"the last value of each key with the connector {connector}", not wrong, seen)


class Killer:
    """Kills the learner's driver once, as soon as the job has written records."""

    def __init__(self, learner: SparkLearner, reader: TopicReader) -> None:
        self._learner = learner
        self._reader = reader
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="killer", daemon=True)
        self.has_killed = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread. After this call, the thread kills no driver any more."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        while not self._reader.size():
            if self._over.wait(LOOK_EVERY_S) or time.monotonic() - began > NEVER_S:
                return
        self.has_killed = True
        self._learner.kill()
