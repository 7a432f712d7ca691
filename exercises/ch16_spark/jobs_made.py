"""Makes the jobs of a test on one cluster. Each job has its own topic, and uses one connector."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

from kafka_edu.supervisor.cluster import Cluster

from ..runner.spark_learner import SparkLearner
from .both_connectors import connectors_here

Job = TypeVar("Job")


class Jobs(Generic[Job]):
    """Makes jobs of one kind."""

    def __init__(
        self,
        make: Callable[[SparkLearner, str, Path, str], Job],
        learner: SparkLearner,
        cluster: Cluster,
        folder: Path,
    ) -> None:
        """`make` gets the learner, the addresses of the brokers, the folder and the connector."""
        learner.may_reach(cluster.bootstrap_servers)
        self._make = make
        self._learner = learner
        self._servers = cluster.bootstrap_servers
        self._folder = folder

    def job(self, connector: str = "python") -> Job:
        """Return a job with a topic of its own."""
        return self._make(self._learner, self._servers, self._folder, connector)

    def of_each_connector(self) -> Iterator[Job]:
        """Yield a job for each connector: ours, and Spark's own if it can be fetched."""
        yield from map(self.job, connectors_here())
