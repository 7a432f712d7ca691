"""Partitions move between four brokers of ours while a producer with acks=all writes. The tools are
Kafka's own ReassignPartitionsCommand (of 2.0.1 through ZooKeeper, of 2.8.2 through brokers) and
ours. Every acknowledged record is there, and the replicas' logs are the same byte by byte (spec C5,
A1).
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_edu.common.python_process import python_command
from kafka_edu.supervisor.cluster import Cluster as OurCluster
from kafka_edu.supervisor.cluster import running_cluster
from tests.interop.external_programs import apache_kafka_jars
from tests.interop.tools import MARKS, Cluster, Printed, normalised
from tests.stored_once import without_copies_sent_anew
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.tools

SEGMENT = "00000000000000000000.log"
JAVA, OURS = MARKS


class Writer:
    """A producer with acks=all that writes numbers to both partitions of a topic until it is
    stopped.
    """

    def __init__(self, servers: str, topic: str) -> None:
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "acks": "all",
                "linger.ms": 5,
                "enable.idempotence": True,
            }
        )
        self._stopped = threading.Event()
        self._some_acked = threading.Event()
        self.acked: dict[int, list[int]] = {0: [], 1: []}
        self.failed: list[str] = []
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        number = 0
        while not self._stopped.is_set():
            self._producer.produce(
                self._topic, str(number).encode(), partition=number % 2, on_delivery=self._delivered
            )
            number += 1
            self._producer.poll(0.002)
        self._producer.flush(60)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(str(error))
            return
        partition, value = message.partition(), message.value()
        assert partition is not None
        assert value is not None
        self.acked[partition].append(int(value))
        if len(self.acked[partition]) > 100:
            self._some_acked.set()

    def until_some_are_acked(self) -> None:
        assert self._some_acked.wait(PATIENCE_S)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(PATIENCE_S * 2)


class Tool(NamedTuple):
    """The command line of a tool, and the server that it connects to."""

    command: list[str]
    address: str


class Stage:
    """The cluster, and the tools by name: Kafka's are named after their releases. `zookeeper` and
    `brokers` are ours.
    """

    def __init__(self, cluster: OurCluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        zookeeper, bootstrap = cluster.status().zookeeper_connect, cluster.bootstrap_servers
        by_version = {
            version: Cluster(zookeeper, bootstrap, folder, apache_kafka_jars(version))
            for version in ("2.0.1", "2.8.2")
        }
        ours = python_command("kafka_edu", "reassign-partitions")
        self._runner = by_version["2.0.1"]
        self.tools = {
            "java-2.0.1": Tool(
                by_version["2.0.1"].java("reassign-partitions"), f"--zookeeper {zookeeper}"
            ),
            "java-2.8.2": Tool(
                by_version["2.8.2"].java("reassign-partitions"), f"--bootstrap-server {bootstrap}"
            ),
            "java-2.8.2-by-zookeeper": Tool(
                by_version["2.8.2"].java("reassign-partitions"), f"--zookeeper {zookeeper}"
            ),
            "zookeeper": Tool(ours, f"--zookeeper {zookeeper}"),
            "brokers": Tool(ours, f"--bootstrap-server {bootstrap}"),
        }

    def run(self, tool: str, words: str) -> Printed:
        command, address = self.tools[tool]
        return self._runner.run(command, f"{address} {words}".split(), "")

    def create(self, topic: str, assignment: str) -> None:
        words = (
            f"--bootstrap-server {self.cluster.bootstrap_servers} --create --topic {topic}"
            f" --replica-assignment {assignment}"
        )
        assert self._runner.run(python_command("kafka_edu", "topics"), words.split(), "").code == 0
        self.until(
            topic, [[int(b) for b in replicas.split(":")] for replicas in assignment.split(",")]
        )

    def file(self, name: str, document: object) -> str:
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(document))
        return str(path)

    def move(self, name: str, *wishes: tuple[str, int, list[int]]) -> str:
        partitions = [
            {"topic": topic, "partition": number, "replicas": replicas}
            for topic, number, replicas in wishes
        ]
        return (
            f"--reassignment-json-file {self.file(name, {'version': 1, 'partitions': partitions})}"
        )

    def replicas(self, topic: str) -> list[list[int]]:
        partitions = self.admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
        return [
            list(partitions[number].replicas)
            for number in sorted(partitions)
            if set(partitions[number].isrs) == set(partitions[number].replicas)
        ]

    def until(self, topic: str, replicas: list[list[int]]) -> None:
        """Wait until the partitions have these replicas, and all of them are in sync."""
        wait_for(
            lambda: self.replicas(topic) == replicas,
            lambda: f"{topic} is on {self.replicas(topic)}",
        )

    def verify_until_complete(self, tool: str, move: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while True:
            printed = self.run(tool, f"--verify {move}")
            assert printed.code == 0
            lines = [
                line
                for line in printed.out.splitlines()
                if line.startswith("Reassignment of partition")
            ]
            if lines and all("complete" in line for line in lines):
                return
            assert time.monotonic() < end, printed.out

    def log(self, broker_id: int, topic: str, partition: int) -> Path:
        return self.cluster.folder.broker_data(broker_id) / f"{topic}-{partition}" / SEGMENT

    def consumed(self, topic: str) -> dict[int, list[int]]:
        """Return the numbers of the records in each partition. A number occurs twice if a broker
        has stored the record twice. Copies that the client has sent again are left out.
        """
        consumer = Consumer(
            {
                "bootstrap.servers": self.cluster.bootstrap_servers,
                "group.id": f"reads-{topic}",
                "enable.auto.commit": False,
            }
        )
        ends = {
            p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=PATIENCE_S)[1]
            for p in (0, 1)
        }
        consumer.assign([TopicPartition(topic, p, 0) for p in ends])
        found: dict[int, list[tuple[int, int]]] = {0: [], 1: []}
        while any(len(found[p]) < ends[p] for p in ends):
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            assert message.error() is None
            offset, value, partition = message.offset(), message.value(), message.partition()
            assert offset is not None
            assert value is not None
            assert partition is not None
            found[partition].append((offset, int(value)))
        consumer.close()
        known = self.admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
        return {
            partition: without_copies_sent_anew(
                read, self.cluster.replica(known[partition].leader, topic, partition)
            )
            for partition, read in found.items()
        }


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with running_cluster(
        brokers=4, props={"min.insync.replicas": "2", "zookeeper.session.timeout.ms": "20000"}
    ) as cluster:
        yield Stage(cluster, tmp_path_factory.mktemp("reassign"))


@pytest.mark.parametrize(
    "tool", ["java-2.0.1", "java-2.8.2", "java-2.8.2-by-zookeeper", "zookeeper", "brokers"]
)
def test_a_topic_moves_under_its_producer(stage: Stage, tool: str) -> None:
    topic = f"moves-by-{tool}"
    stage.create(topic, "0:1,1:0")
    writer = Writer(stage.cluster.bootstrap_servers, topic)
    writer.until_some_are_acked()
    topics = stage.file("topics", {"version": 1, "topics": [{"topic": topic}]})
    generated = stage.run(tool, f"--generate --topics-to-move-json-file {topics} --broker-list 2,3")
    current, proposed = (
        json.loads(line) for line in generated.out.splitlines() if line.startswith("{")
    )
    assert sorted((p["partition"], p["replicas"]) for p in current["partitions"]) == [
        (0, [0, 1]),
        (1, [1, 0]),
    ]
    target = [p["replicas"] for p in sorted(proposed["partitions"], key=lambda p: p["partition"])]
    assert {frozenset(replicas) for replicas in target} == {frozenset({2, 3})}
    move = f"--reassignment-json-file {stage.file('move', proposed)}"
    started = stage.run(tool, f"--execute {move} --throttle 50000000")
    assert started.code == 0
    assert "Successfully started" in started.out, started
    stage.verify_until_complete(tool, move)
    stage.until(topic, target)
    writer.stop()
    assert writer.failed == []
    assert stage.consumed(topic) == writer.acked, "each once, in order"
    for partition in (0, 1):
        first, second = (
            stage.log(broker_id, topic, partition).read_bytes() for broker_id in (2, 3)
        )
        assert first == second
        assert len(first) > 1000
        left = [stage.log(broker_id, topic, partition) for broker_id in (0, 1)]
        wait_for(
            lambda left=left: not any(log.exists() for log in left), "the old replicas are deleted"
        )  # type: ignore[misc]  # mypy does not type a lambda's default


@pytest.mark.parametrize("tool", ["java-2.0.1", "zookeeper", "brokers"])
def test_a_file_may_name_log_dirs(stage: Stage, tool: str) -> None:
    """Each replica must move into a given log dir of its broker, and the tool reports when it is
    there. For this, 2.0's tool needs the brokers too.
    """
    topic = f"dirs-by-{tool}"
    stage.create(topic, "0:1")
    dirs = [str(stage.cluster.folder.broker_data(broker_id)) for broker_id in (2, 3)]
    entry = {"topic": topic, "partition": 0, "replicas": [2, 3], "log_dirs": dirs}
    move = f"--reassignment-json-file {stage.file('dirs', {'version': 1, 'partitions': [entry]})}"
    if tool in ("java-2.0.1", "zookeeper"):
        move += f" --bootstrap-server {stage.cluster.bootstrap_servers}"
    assert "Successfully started" in stage.run(tool, f"--execute {move}").out
    stage.until(topic, [[2, 3]])
    verified = stage.run(tool, f"--verify {move}")
    for broker_id in (2, 3):
        assert (
            f"Reassignment of replica {topic}-0-{broker_id} completed successfully" in verified.out
        )
    (stage.folder / "dirs.json").write_text(
        json.dumps({"partitions": [{**entry, "log_dirs": ["any", "/no/such/dir"]}]})
    )
    refused = stage.run(tool, f"--execute {move}")
    assert "Successfully started log dir" not in refused.out
    assert f"Failed to alter dir for {topic}-0-3" in refused.out, refused


_BROKER_AWAY: Final = re.compile(r"could not be established|cannot connect to ")
"""What Java's client says, or ours."""


def differences(stage: Stage, version: str, ours: str, words: str) -> list[str]:
    """Return the differences between the outputs of Java's tool and of our tool. Each tool works on
    its own topics: `{x}` in `words` is replaced by the end of their names.
    """

    def told(tool: str, mark: str, other: str) -> list[str]:
        printed = stage.run(tool, words.replace("{x}", mark))
        lines = [*normalised(printed.out, mark, other), *normalised(printed.err, mark, other)]
        # Our usage text has the options of both releases. And a client chooses its first broker at
        # random, so it may choose the dead one.
        lines = [
            line
            for line in lines
            if line and not line.startswith("options: ") and not _BROKER_AWAY.search(line)
        ]
        return [
            f"exit code {printed.code}",
            *(re.sub(r"\S*/reassign\d+/", "DIR/", line) for line in lines),
        ]

    with ThreadPoolExecutor(1) as pool:  # each tool has topics of its own
        by_java = pool.submit(told, f"java-{version}", JAVA, OURS)
        own = told(ours, OURS, JAVA)
        java = by_java.result()
    return (
        []
        if java == own
        else [words, *(f"java: {line}" for line in java), *(f"ours: {line}" for line in own)]
    )


@pytest.mark.rotated
def test_by_brokers_it_prints_what_2_8_prints(stage: Stage) -> None:
    """Wrong command lines are in tests/unit/tools/test_reassign_partitions.py, because they need no
    broker.
    """
    for mark in MARKS:
        stage.create(f"re{mark}", "0:1,1:2")
        stage.move(f"same-{mark}", (f"re{mark}", 0, [0, 1]), (f"re{mark}", 1, [1, 2]))
        stage.move(f"other-{mark}", (f"re{mark}", 0, [2, 1]))
        stage.move(f"twice-{mark}", (f"re{mark}", 0, [0]), (f"re{mark}", 0, [1]))
        stage.move(f"same-broker-{mark}", (f"re{mark}", 0, [1, 1]))
        stage.move(f"stranger-{mark}", (f"re{mark}", 0, [1, 77]))
        stage.move(f"gone-{mark}", (f"gone{mark}", 0, [1, 2]))
        dirs = [str(stage.cluster.folder.broker_data(broker_id)) for broker_id in (0, 1)]
        entry = {"topic": f"re{mark}", "partition": 0, "replicas": [0, 1]}
        stage.file(f"dirs-{mark}", {"partitions": [{**entry, "log_dirs": dirs}]})
        stage.file(f"dir-{mark}", {"partitions": [{**entry, "log_dirs": ["any", dirs[1]]}]})
        stage.file(
            f"no-dir-{mark}", {"partitions": [{**entry, "log_dirs": ["any", "/no/such/dir"]}]}
        )
    stage.file(
        "empty", {"version": 1, "partitions": [{"topic": "re", "partition": 0, "replicas": []}]}
    )
    stage.file("version", {"version": 3})
    stage.file("topics", {"topics": [{"topic": "no-such-topic"}]})
    file = f"--reassignment-json-file {stage.folder}"
    story = [
        "--list",
        f"--execute {file}/same-{{x}}.json --throttle 7000 --replica-alter-log-dirs-throttle 9000",
        f"--verify {file}/same-{{x}}.json",
        f"--verify --preserve-throttles {file}/other-{{x}}.json",
        f"--execute {file}/dirs-{{x}}.json --replica-alter-log-dirs-throttle 9000",
        f"--verify {file}/dirs-{{x}}.json",
        f"--execute {file}/dir-{{x}}.json",
        f"--verify {file}/no-dir-{{x}}.json",
        f"--execute {file}/no-dir-{{x}}.json",
        f"--cancel --preserve-throttles {file}/dirs-{{x}}.json",
        f"--execute {file}/twice-{{x}}.json",
        f"--execute {file}/same-broker-{{x}}.json",
        f"--execute {file}/stranger-{{x}}.json",
        f"--execute {file}/gone-{{x}}.json",
        f"--execute {file}/empty.json",
        f"--execute {file}/version.json",
        f"--cancel {file}/same-{{x}}.json",
        f"--generate --topics-to-move-json-file {stage.folder}/topics.json --broker-list 1,1",
        f"--generate --topics-to-move-json-file {stage.folder}/topics.json --broker-list 1,2",
    ]
    found = [line for words in story for line in differences(stage, "2.8.2", "brokers", words)]
    assert not found, "\n".join(found)


@pytest.mark.rotated
def test_what_waits_is_listed_retargeted_and_cancelled(stage: Stage) -> None:
    """A move waits for a broker that was paused (SIGSTOP) before the move began, and then killed.
    Kafka's tool and ours report the same.
    """
    stage.create("waits", "0:1,1:0")
    writer = Writer(stage.cluster.bootstrap_servers, "waits")
    writer.until_some_are_acked()
    dead, other = (2, 3) if stage.cluster.wait_ready() == 3 else (3, 2)  # not the controller
    far, near = (
        stage.move("far", ("waits", 0, [dead, 1]), ("waits", 1, [dead, other])),
        stage.move("near", ("waits", 0, [other, 1])),
    )
    stage.cluster.pause(dead)
    started = stage.run("brokers", f"--execute {far}")
    stage.cluster.kill(dead)
    try:
        assert (
            started.out.splitlines()[-1]
            == "Successfully started partition reassignments for waits-0,waits-1"
        ), started
        found = [
            line
            for words in ("--list", f"--verify {far}", f"--execute {near}")
            for line in differences(stage, "2.8.2", "brokers", words)
        ]
        assert not found, "\n".join(found)
        assert (
            f"waits-0: replicas: {dead},1,0. adding: {dead}. removing: 0."
            in stage.run("brokers", "--list").out.splitlines()
        )
        assert stage.run("java-2.8.2", f"--execute --additional {near}").code == 0
        cancelled = stage.run("java-2.8.2", f"--cancel --preserve-throttles {far}")
        assert "Successfully cancelled partition reassignment" in cancelled.out, cancelled
        stage.until("waits", [[other, 1], [1, 0]])
    finally:
        stage.cluster.start(dead)
    writer.stop()
    assert writer.failed == []
    assert stage.consumed("waits") == writer.acked
    assert stage.run("brokers", "--list").out == "No partition reassignments found.\n"
