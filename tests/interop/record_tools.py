"""Record the output of Apache Kafka 2.0.1's tools: run the stories on a cluster of 2.0.1. Stories
whose name ends in 2.8 are run with 2.8.2's tools.

    python -m tests.interop.record_tools [STORY …]
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.apache_kafka import SMALL, apache_kafka, kafka_jars
from tests.conformance.broker_processes import OF_A_SMALL_HEAP
from tests.interop.tool_cases import OF_NOBODY, SETTINGS, STORIES, write_files
from tests.interop.tools import Cluster, record, tell

NOWHERE = "127.0.0.1:1"


@contextmanager
def apache_cluster(folder: Path) -> Iterator[Cluster]:
    """Run one broker of 2.0.1. Raises PeerMissing."""
    jars = kafka_jars("2.0.1")
    write_files(folder)
    properties = [f"{key}={value}" for key, value in (SETTINGS | OF_A_SMALL_HEAP).items()]
    with apache_kafka(jars, 1, properties, java=SMALL) as kafka:
        yield Cluster(kafka.zookeeper, kafka.bootstrap, folder, jars)


def main(stories: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, apache_cluster(Path(folder)) as cluster:
        for story in stories or STORIES:
            version = (
                cluster._replace(jars=kafka_jars("2.8.2")) if story.endswith("2.8") else cluster
            )
            record(story, tell(of(story, version), STORIES[story], java=True))


def of(story: str, cluster: Cluster) -> Cluster:
    """Return the cluster for this story. A tool must report a wrong command line before it
    connects. So the stories about wrong command lines get an address on which nobody listens.
    """
    return cluster._replace(zookeeper=NOWHERE, bootstrap=NOWHERE) if story in OF_NOBODY else cluster


if __name__ == "__main__":
    main(sys.argv[1:])
