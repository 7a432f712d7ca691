"""Our tools behave as Kafka's do: the same exit code, standard output and standard error.

The output of Kafka's tools is recorded in tests/golden/tools. These tests compare Kafka's tools and
ours with that recording, on a broker of Apache Kafka 2.0.1 and on one of ours.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from benchmarks.apache_kafka import PeerMissing
from kafka_edu.common.errors import Errors
from kafka_edu.common.python_process import python_command
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_edu.supervisor.cluster import running_cluster
from tests.conformance.brokers import ListeningBroker
from tests.conformance.replay import Asker
from tests.drawn import drawn
from tests.interop.external_programs import missing
from tests.interop.record_tools import apache_cluster, of
from tests.interop.tool_cases import OF_NOBODY, OF_THE_ONE_BROKER, SETTINGS, STORIES, write_files
from tests.interop.tools import Cluster, differences, golden, tell

IN_CI: Final = frozenset({"deletion", "brokers"})
"""Of the stories on Apache Kafka itself, which does not change, CI tells these."""


def await_coordinator(bootstrap: str) -> None:
    """Send FindCoordinator, so that `__consumer_offsets` is created before the stories run. A
    console consumer in a story has only three seconds for all its work.
    """
    host, _, port = bootstrap.rpartition(":")
    asker = Asker(ListeningBroker(host, int(port)))
    asker.ask(
        "find",
        FindCoordinatorRequest(key="any"),
        1,
        until=lambda answer: answer.error_code == Errors.NONE,
    )
    asker.close()


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("tools")
    write_files(folder)
    with running_cluster("tools", brokers=1, props=SETTINGS) as cluster:
        await_coordinator(cluster.bootstrap_servers)
        yield Cluster(cluster.status().zookeeper_connect, cluster.bootstrap_servers, folder, Path())


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        with apache_cluster(tmp_path_factory.mktemp("tools-of-kafka")) as cluster:
            await_coordinator(cluster.bootstrap)
            yield cluster
    except PeerMissing as error:
        missing(str(error))


@pytest.mark.tools
@pytest.mark.parametrize("story", STORIES)
def test_our_tools_on_a_broker_of_ours(ours: Cluster, story: str) -> None:
    found = differences(tell(of(story, ours), STORIES[story], java=False), golden(story))
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(story, marks=pytest.mark.tools if story in IN_CI else pytest.mark.long)
        for story in STORIES
        if story not in OF_NOBODY
    ],
)  # wrong command lines need no broker, and each would start a JVM
@pytest.mark.rotated
def test_kafkas_tools_and_ours_on_apache_kafka(theirs: Cluster, story: str) -> None:
    """Run both kinds of tools at the same time, each with names of its own. A story about the
    broker itself is run by one kind after the other.
    """
    cluster = of(story, theirs)
    with ThreadPoolExecutor(1) as pool:
        java = pool.submit(tell, cluster, STORIES[story], java=True)
        if story in OF_THE_ONE_BROKER:
            java.result()
        found = differences(tell(cluster, STORIES[story], java=False), golden(story))
        still = differences(java.result(), golden(story))
    assert not still, "\n".join(map(str, still))
    assert not found, "\n".join(map(str, found))


def lines(cluster: Cluster, words: str) -> list[str]:
    """Return the output of one of our tools, which must succeed."""
    tool, *arguments = words.format(zk=cluster.zookeeper, bootstrap=cluster.bootstrap).split()
    printed = cluster.run(python_command("kafka_edu", tool), arguments, "")
    assert printed.code == 0, printed
    return printed.out.splitlines()


@pytest.mark.tools
def test_topics_by_brokers_prints_what_it_prints_by_zookeeper(ours: Cluster) -> None:
    by_brokers = "topics --bootstrap-server {bootstrap}"
    created = lines(
        ours,
        f"{by_brokers} --create --topic brokers --partitions 2 --replication-factor 1 --config"
        " retention.ms=5000",
    )
    # the text of 2.8; through ZooKeeper it is the text of 2.0
    assert created == ["Created topic brokers."]
    assert (
        lines(
            ours,
            f"{by_brokers} --create --topic brokers --partitions 2 --replication-factor 1"
            " --if-not-exists",
        )
        == []
    )
    assert lines(ours, f"{by_brokers} --create --topic brokers-too --replica-assignment 0,0") == [
        "Created topic brokers-too."
    ]
    assert (
        lines(ours, f"{by_brokers} --alter --topic brokers --partitions 3")[-1]
        == "Adding partitions succeeded!"
    )
    for question in (
        "--describe --topic brokers.*",
        "--list --topic brokers.*",
        "--describe --topic brokers.* --topics-with-overrides",
    ):
        told = lines(ours, f"{by_brokers} {question}")
        assert told
        assert told == lines(ours, f"topics --zookeeper {{zk}} {question}")
    assert lines(ours, f"{by_brokers} --delete --topic brokers-too") == []
    assert lines(ours, f"{by_brokers} --list --topic brokers.*") == ["brokers"]
    again = ours.run(
        python_command("kafka_edu", "topics"),
        f"{by_brokers} --create --topic brokers".format(bootstrap=ours.bootstrap).split()[1:],
        "",
    )
    assert again.code == 1
    assert "Topic 'brokers' already exists." in again.out + again.err


@pytest.mark.tools
@pytest.mark.parametrize(
    "story", drawn(["console", "groups", "deletion", "brokers", "log-dirs"], 2)
)
def test_kafkas_tools_on_a_broker_of_ours(ours: Cluster, theirs: Cluster, story: str) -> None:
    """Kafka's own tools print the same on our broker as on theirs. This test covers only the
    stories that need no ZooKeeper.
    """
    found = differences(
        tell(ours._replace(jars=theirs.jars), STORIES[story], java=True), golden(story)
    )
    assert not found, "\n".join(map(str, found))


@pytest.mark.tools
def test_the_performance_tools_print_kafkas_lines(ours: Cluster) -> None:
    """This test must run last, because it leaves a consumer group behind, and one of the stories
    lists all groups.
    """
    lines(
        ours,
        "topics --bootstrap-server {bootstrap} --create --topic perf --partitions 1"
        " --replication-factor 1",
    )
    props = (
        "bootstrap.servers={bootstrap} acks=all linger.ms=5 batch.size=65536 buffer.memory=33554432"
    )
    (sent,) = lines(
        ours,
        "producer-perf-test --topic perf --num-records 5000 --record-size 100 --throughput -1"
        f" --producer-props {props}",
    )
    number = r"[0-9]+\.[0-9]+"
    assert re.fullmatch(
        rf"5000 records sent, {number} records/sec \({number} MB/sec\), {number} ms avg latency,"
        rf" {number} ms max latency, "
        r"[0-9]+ ms 50th, [0-9]+ ms 95th, [0-9]+ ms 99th, [0-9]+ ms 99\.9th\.",
        sent,
    )
    header, read = lines(
        ours, "consumer-perf-test --topic perf --messages 5000 --broker-list {bootstrap}"
    )
    assert (
        header
        == "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec,"
        " rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
    )
    fields = read.split(", ")
    assert len(fields) == 10
    assert (fields[2], fields[4]) == ("0.4768", "5000")
