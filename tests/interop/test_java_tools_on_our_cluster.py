"""Apache Kafka's own tools of 2.0.1 and 2.8.2 work with our brokers, ZooKeeper and log directories,
and print the same as with Kafka's.

ZooKeeper's own shells are in test_zookeeper_shell.py. The tools that need only one broker are in
test_tools_beside_apache_kafka.py.
"""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from kafka_edu.supervisor.cluster import Cluster as OurCluster
from kafka_edu.supervisor.cluster import running_cluster
from tests.interop.external_programs import apache_kafka_jars
from tests.interop.java_tool_cases import BROKERS, SETTINGS, STORIES, golden_name, tell
from tests.interop.tools import CLASSES, JAVA, Cluster, Printed, differences, golden

pytestmark = pytest.mark.tools

Output = list[tuple[str, Printed]]
AT_ONCE = 2  # at most two at a time: the tools have time-outs of their own, of five seconds or less
PATIENCE_S = 600
CASES = [(version, story) for version, stories in STORIES.items() for story in stories]


@pytest.fixture(scope="module")
def jars() -> Mapping[str, Path]:
    return {version: apache_kafka_jars(version) for version in STORIES}


@pytest.fixture(scope="module")
def clusters() -> Iterator[Mapping[str, OurCluster]]:
    """Yield one cluster for each release, because some tools print all groups of a cluster."""
    with contextlib.ExitStack() as stack:
        yield {
            version: stack.enter_context(
                running_cluster("java-tools", brokers=BROKERS, props=SETTINGS)
            )
            for version in STORIES
        }


@pytest.fixture(scope="module")
def outputs(
    jars: Mapping[str, Path],
    clusters: Mapping[str, OurCluster],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Mapping[tuple[str, str], Future[Output]]]:
    """Run all stories at the same time. A call of a Java tool spends most of its time on the start
    of the JVM.
    """

    def cluster(version: str) -> Cluster:
        ours = clusters[version]
        return Cluster(
            ours.zookeeper_connect,
            ours.bootstrap_servers,
            tmp_path_factory.mktemp("java-tools"),
            jars[version],
        )

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            (version, story): pool.submit(tell, cluster(version), STORIES[version][story])
            for version, story in CASES
        }


@pytest.mark.timeout(700)
@pytest.mark.parametrize(("version", "story"), CASES)
def test_they_print_what_they_print_on_apache_kafka(
    outputs: Mapping[tuple[str, str], Future[Output]], version: str, story: str
) -> None:
    found = differences(
        outputs[version, story].result(PATIENCE_S), golden(golden_name(version, story))
    )
    assert not found, "\n".join(map(str, found))


@pytest.mark.timeout(700)
@pytest.mark.parametrize(("version", "topic"), [("2.0.1", "zg"), ("2.8.2", "bg")])
def test_they_read_our_log_directories(
    outputs: Mapping[tuple[str, str], Future[Output]],
    jars: Mapping[str, Path],
    clusters: Mapping[str, OurCluster],
    version: str,
    topic: str,
) -> None:
    """The records that the stories produced are in the log of each replica, and its indexes are
    correct.
    """
    outputs[version, "clients"].result(PATIENCE_S)
    values = []
    for partition in (1, 2):
        folder = clusters[version].folder.broker_data(0) / f"{topic}-{partition}"
        files = ",".join(str(folder / f"{0:020d}.{kind}") for kind in ("log", "index", "timeindex"))
        command = [
            *JAVA,
            "-cp",
            f"{jars[version]}/*",
            CLASSES["dump-log-segments"],
            "--files",
            files,
            "--print-data-log",
            "--index-sanity-check",
        ]
        printed = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=True
        ).stdout
        assert printed.count("passed sanity check") == 2, printed
        values += [
            line.rpartition("payload: ")[2] for line in printed.splitlines() if "payload: " in line
        ]
    assert sorted(values) == ["1", "2", "3", "4", "5"]
