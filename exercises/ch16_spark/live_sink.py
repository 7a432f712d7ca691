"""The live part of 16-4s: a stream writes records from a real cluster into the learner's sink. The
stream's driver is killed three times in the middle of its work.
"""

import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from kafka_edu.learner.learner import LearnerFailure
from kafka_edu.supervisor.cluster import running_cluster

from ..runner.manifest import Exercise
from ..runner.public_tests import SPARK_LIMITS
from ..runner.spark_learner import Rows, SparkLearner
from ..runner.verdict import Step
from .killed_job import run_and_kill
from .live_job import CLUSTER, TOPIC, fill

KILLS: Final = 3
LINES: Final = 12_000
LOOK_EVERY_S: Final = 0.002
NEVER_S: Final = 600.0
"""If a sink has written nothing for this many seconds, its driver is not killed any more."""


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Kill the driver three times, then let it end its work, and yield the checks of the folder.
    `patience_s` is not needed, because the stream ends by itself. Raises ClusterError.
    """
    say(f"a cluster of three brokers starts, and a topic gets {LINES:,} lines of a made-up web log")
    with (
        tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True) as home,
        running_cluster(CLUSTER, home=Path(home)) as cluster,
    ):
        lines = fill(cluster, LINES).lines
        out, checkpoint = Path(home) / "out", Path(home) / "checkpoint"
        learner = SparkLearner(
            file or exercise.solution, exercise.wanted, allowance=SPARK_LIMITS.call
        )
        killed = 0
        stream = partial(learner.query, cluster.bootstrap_servers, TOPIC, str(out), str(checkpoint))
        try:
            for number in range(1, KILLS + 1):
                say(f"the stream runs; its driver and JVM are killed, {number} of {KILLS}")
                killer = Killer(learner, out)
                if why := run_and_kill(stream, killer, learner):
                    yield Step("the stream writes the topic", False, why)
                    return
                killed += killer.has_killed
            say("the stream runs once more, to the end of the topic")
            stream()
            found = learner.read(str(out))
        except LearnerFailure as failure:
            yield Step("the stream writes the topic", False, failure.message)
            return
        finally:
            learner.close()
    yield Step(
        "the stream writes the topic to its end", True, f"its driver was killed {killed} times"
    )
    yield from each_once(found, lines)


def each_once(found: Rows, records: int) -> Iterator[Step]:
    """Check that the rows have each record's place (partition, offset) exactly once."""
    places = Counter(
        zip(found.column("partition"), found.column("offset"), strict=True) if found.columns else ()
    )
    seen = f"{len(places):,} of {records:,} records"
    yield Step("no record is lost", len(places) == records, seen)
    doubled = places.total() - len(places)
    yield Step("no record is there twice", not doubled, f"{doubled:,} records too many")


class Killer:
    """Kills the learner's driver once: when a micro-batch has written rows, but Spark has not noted
    that the batch is done. Therefore the next driver runs this batch again.
    """

    def __init__(self, learner: SparkLearner, out: Path) -> None:
        self._learner = learner
        self._out = out
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="killer", daemon=True)
        self.has_killed = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread. After this call, the thread kills no driver any more."""
        self._over.set()
        self._thread.join()

    def _finished(self) -> int:
        """Return how many files with rows are in their final folder. Spark moves the files there at
        the end, and then removes the folder `_temporary`. So a folder may vanish while this method
        runs: os.walk skips it.
        """
        found = 0
        for _, folders, names in os.walk(self._out):
            folders[:] = [folder for folder in folders if folder != "_temporary"]
            found += sum(name.startswith("part-") for name in names)
        return found

    def _run(self) -> None:
        before, began = self._finished(), time.monotonic()
        while self._finished() == before:
            if self._over.wait(LOOK_EVERY_S) or time.monotonic() - began > NEVER_S:
                return
        self.has_killed = True
        self._learner.kill()
