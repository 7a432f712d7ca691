"""Run a Spark job whose driver is killed in the middle of its work."""

from collections.abc import Callable
from typing import Protocol

from kafka_edu.learner.learner import LearnerFailure

from ..runner.spark_learner import SparkLearner


class Killer(Protocol):
    """Kills a learner's driver once, from another thread."""

    has_killed: bool

    def start(self) -> None: ...

    def stop(self) -> None: ...


def run_and_kill(run: Callable[[], None], killer: Killer, learner: SparkLearner) -> str:
    """Run a job while the killer waits for its moment. Return why the job failed by itself; empty
    if it did not.

    A quick job may end just before the kill. Then the kill hits an idle process, which would be
    missing in the next run. So the learner is closed, and the next run gets another process.
    """
    failed = ""
    killer.start()
    try:
        run()
    except LearnerFailure as failure:
        failed = failure.message
    finally:
        killer.stop()
    if not killer.has_killed:
        return failed
    learner.close()
    return ""
