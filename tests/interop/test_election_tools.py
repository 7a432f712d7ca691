"""leader-election and preferred-replica-election compared with Apache Kafka's own tools (of 2.8.2
and 2.0.1). All tools run on a cluster of ours, and the leaders really move.

2.8.2's tool was also run on a cluster of 2.8.2, for its output there. Only the line "Valid replica
already elected" differs. There 2.8.2 lists the partitions that it has just elected. Ours lists the
partitions that need no election, and so do later releases.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import ElectionType, KafkaException
from confluent_kafka.admin import AdminClient

from kafka_edu.common.python_process import python_command
from kafka_edu.supervisor.cluster import Cluster as OurCluster
from kafka_edu.supervisor.cluster import running_cluster
from tests.cluster.processes import start_all
from tests.interop.external_programs import apache_kafka_jars
from tests.interop.tools import MARKS, Cluster, Printed, normalised
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.tools

JAVA, OURS = MARKS


class Stage:
    """A cluster of two brokers. Kafka's tools and ours have topics of their own, and run the same
    steps.
    """

    def __init__(self, cluster: OurCluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        self.tools = {
            version: Cluster(
                cluster.status().zookeeper_connect,
                cluster.bootstrap_servers,
                folder,
                apache_kafka_jars(version),
            )
            for version in ("2.0.1", "2.8.2")
        }

    def create(self, topic: str, assignment: str) -> None:
        for mark in MARKS:
            words = (
                f"--bootstrap-server {self.cluster.bootstrap_servers} --create --topic"
                f" {topic}{mark} --replica-assignment {assignment}".split()
            )
            assert (
                self.tools["2.0.1"].run(python_command("kafka_edu", "topics"), words, "").code == 0
            )

    def until(self, topic: str, leader: int, in_sync: int) -> None:
        """Wait until partition 0 of both topics has this leader and this number of replicas in its
        ISR.
        """
        seen: object = None

        def so() -> bool:
            nonlocal seen
            try:
                partitions = [
                    self.admin.list_topics(f"{topic}{mark}", timeout=10)
                    .topics[f"{topic}{mark}"]
                    .partitions.get(0)
                    for mark in MARKS
                ]
            except (
                KafkaException
            ):  # the broker that got the request is stopping: the next attempt asks another one
                return False
            seen = [(p.leader, len(p.isrs)) for p in partitions if p is not None]
            return seen == [(leader, in_sync)] * 2

        wait_for(
            so, lambda: f"{topic}: leader and size of the ISR are {seen}, not {leader}, {in_sync}"
        )

    def outputs(self, version: str, words: str) -> tuple[Printed, Printed]:
        """Return the output of Java's tool and of our tool. Each tool works on its own topics:
        `{x}` in `words` is replaced by the end of their names.
        """
        cluster = self.tools[version]
        tool, *arguments = words.split()

        def tell(command: list[str], mark: str, other: str) -> Printed:
            named = {
                "bootstrap": cluster.bootstrap,
                "zk": cluster.zookeeper,
                "dir": str(self.folder),
                "x": mark,
            }
            given = [
                re.sub(r"\{(\w+)\}", lambda found: named[found[1]], word) for word in arguments
            ]
            printed = cluster.run(command, given, "")
            out, err = (
                "\n".join(normalised(text, mark, other)) for text in (printed.out, printed.err)
            )
            return Printed(printed.code, out, err)

        return tell(cluster.java(tool), JAVA, OURS), tell(
            python_command("kafka_edu", tool), OURS, JAVA
        )

    def file(self, name: str, *partitions: tuple[str, int]) -> str:
        for mark in MARKS:
            listed = [
                {"topic": f"{topic}{mark}", "partition": number} for topic, number in partitions
            ]
            (self.folder / f"{name}-{mark}.json").write_text(json.dumps({"partitions": listed}))
        return f"--path-to-json-file {{dir}}/{name}-{{x}}.json"


@pytest.fixture(scope="module")
def scenery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    props = {
        "auto.leader.rebalance.enable": "false",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
    }
    with running_cluster("elections", brokers=2, props=props) as cluster:
        stage = Stage(cluster, tmp_path_factory.mktemp("elections"))
        stage.create("a", "1:0,0:1")
        stage.create("b", "1")
        stage.create("c", "1:0")
        yield stage


@pytest.fixture
def stage(scenery: Stage) -> Stage:
    """Bring the cluster into the state in which every test begins: both brokers are up, and broker
    1 leads the partitions that prefer it, whatever an earlier test has done.
    """
    start_all(scenery.cluster)
    scenery.admin.elect_leaders(ElectionType.PREFERRED, None).result(PATIENCE_S)
    for topic, in_sync in (("a", 2), ("b", 1), ("c", 2)):
        scenery.until(topic, 1, in_sync)
    return scenery


ELECT = "leader-election --bootstrap-server {bootstrap} --election-type"


def test_the_election_tools_say_and_do_what_kafkas_do(stage: Stage) -> None:
    java, ours = stage.outputs("2.8.2", f"{ELECT} preferred --topic a{{x}} --partition 0")
    assert java == Printed(
        0, "Valid replica already elected for partitions", ""
    )  # it means a-0 but does not name it
    assert ours == Printed(0, "Valid replica already elected for partitions axxx-0", "")

    stage.cluster.stop(1)
    stage.until("a", 0, 1)
    stage.until("b", -1, 1)
    for words, error, why in (
        (
            "preferred --topic a{x} --partition 0",
            "PreferredLeaderNotAvailable",
            "axxx-0 under strategy PreferredReplicaPartitionLeaderElectionStrategy",
        ),
        (
            "unclean --topic b{x} --partition 0",
            "EligibleLeadersNotAvailable",
            "bxxx-0 under strategy OfflinePartitionLeaderElectionStrategy(true)",
        ),
    ):
        java, ours = stage.outputs("2.8.2", f"{ELECT} {words}")
        assert java == ours
        assert java.code == 1
        assert (
            f"Error completing leader election ({words.split()[0].upper()}) for partition:"
            f" {why[:6]}: " in java.out
        )
        assert (
            f"org.apache.kafka.common.errors.{error}Exception: Failed to elect leader for partition"
            f" {why}" in java.out
        )
        assert java.err.startswith(
            'Exception in thread "main" kafka.common.AdminCommandFailedException: 1 replica(s)'
            " could not be elected"
        )

    stage.cluster.start(1)
    stage.until("a", 0, 2)
    some = stage.file("some", ("a", 0), ("a", 1), ("gone", 3))
    java, ours = stage.outputs("2.8.2", f"{ELECT} PREFERRED {some}")
    elected = "Successfully completed leader election (PREFERRED) for partitions axxx-0"
    refused = (
        "Error completing leader election (PREFERRED) for partition: gonexxx-3:"
        " org.apache.kafka.common.errors.UnknownTopicOrPartitionException: The partition does not"
        " exist."
    )
    assert sorted(java.out.splitlines()) == sorted(
        [elected, "Valid replica already elected for partitions axxx-0", refused]
    )
    assert sorted(ours.out.splitlines()) == sorted(
        [elected, "Valid replica already elected for partitions axxx-1", refused]
    )
    assert (java.code, java.err) == (ours.code, ours.err)
    stage.until("a", 1, 2)


def test_2_0_s_tool_by_znode(stage: Stage) -> None:
    stage.cluster.stop(1)
    stage.until("a", 0, 1)
    stage.cluster.start(1)
    stage.until("a", 0, 2)
    java, ours = stage.outputs(
        "2.0.1",
        "preferred-replica-election --zookeeper {zk}"
        f" {stage.file('some', ('gone', 1), ('a', 0))}",
    )
    assert java == ours
    assert java.out.splitlines() == [
        "Created preferred replica election path with axxx-0",
        "Successfully started preferred replica election for partitions Set(axxx-0)",
        (
            "Skipping preferred replica leader election for partition gonexxx-1 since it doesn't"
            " exist."
        ),
    ]
    stage.until("a", 1, 2)


def test_an_unclean_election_on_demand(stage: Stage) -> None:
    """Broker 1 is the last member of c's ISR, and is down. Broker 0 is up, and may lack records."""
    stage.cluster.stop(0)
    stage.until("c", 1, 1)
    stage.cluster.kill(1)
    stage.cluster.start(0)
    stage.until("c", -1, 1)
    java, ours = stage.outputs("2.8.2", f"{ELECT} unclean --topic c{{x}} --partition 0")
    assert (
        java
        == ours
        == Printed(0, "Successfully completed leader election (UNCLEAN) for partitions cxxx-0", "")
    )
    stage.until("c", 0, 1)
