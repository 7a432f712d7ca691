"""Our tools do and say what Kafka's do and say, with the same words: exit code, standard output, standard error.

Kafka's were recorded (tests/golden/tools): they print that still, and so do ours, on a broker of Apache Kafka 2.0.1 and on one of ours.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.apache_kafka import PeerMissing
from kafka_edu.cli.supervisor import running_cluster
from tests.interop.record_tools import apache_cluster, of
from tests.interop.tool_stories import SETTINGS, STORIES, write_files
from tests.interop.tools import Cluster, differences, golden, tell


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("tools")
    write_files(folder)
    with running_cluster("tools", brokers=1, props=SETTINGS) as cluster:
        yield Cluster(cluster.status().zookeeper_connect, cluster.bootstrap_servers, folder, Path())


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        with apache_cluster(tmp_path_factory.mktemp("tools-of-kafka")) as cluster:
            yield cluster
    except PeerMissing as error:
        pytest.skip(str(error))


@pytest.mark.timeout(400)
@pytest.mark.parametrize("story", STORIES)
def test_our_tools_on_a_broker_of_ours(ours: Cluster, story: str) -> None:
    found = differences(tell(of(story, ours), STORIES[story], java=False), golden(story))
    assert not found, "\n".join(map(str, found))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("story", STORIES)
def test_kafkas_tools_and_ours_on_apache_kafka(theirs: Cluster, story: str) -> None:
    """Both at once, each with names of its own."""
    cluster = of(story, theirs)
    with ThreadPoolExecutor(1) as pool:
        java = pool.submit(tell, cluster, STORIES[story], java=True)
        found = differences(tell(cluster, STORIES[story], java=False), golden(story))
        still = differences(java.result(), golden(story))
    assert not still, "\n".join(map(str, still))
    assert not found, "\n".join(map(str, found))
