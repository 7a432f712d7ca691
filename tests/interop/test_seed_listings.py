"""The seed is the text `001`, one of those from which this project began. Its shell, kafka-python
and sarama listings, in their shortest form, print here what the seed says, where the seed is right.

There is one broker with id 0, as in the seed. `kafka-edu topics` takes the place of the seed's
`kafka-topics.sh`.
"""

import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.structs import OffsetAndMetadata

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.zk.apache import free_port
from tests.interop.client_contract import known_by_all
from tests.interop.external_programs import built, tool
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.tools

#: As in the sample server.properties at the beginning of the seed: one broker cannot hold three
#: replicas of __consumer_offsets.
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster("listings", brokers=1, props=SETTINGS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def zookeeper(cluster: Cluster) -> str:
    return cluster.status().zookeeper_connect


def run(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = python_command("kafka_edu", *words)
    return subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=python_environment(),
    )


def topics(zookeeper: str, *words: str) -> str:
    """Return the standard output of `topics`. The command must succeed."""
    done = run("topics", "--zookeeper", zookeeper, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


Create = Callable[..., None]
"""Creates a topic (name, partitions) through ZooKeeper, and waits until the broker knows it."""


@pytest.fixture(scope="module")
def create(cluster: Cluster, zookeeper: str) -> Create:
    def made(topic: str, partitions: int = 2) -> None:
        topics(
            zookeeper,
            "--create",
            "--topic",
            topic,
            "--partitions",
            str(partitions),
            "--replication-factor",
            "1",
        )
        known_by_all(cluster.bootstrap_servers, topic, partitions)

    return made


def until(condition: Callable[[], object]) -> None:
    """Check again and again: a broker reacts to a change in ZooKeeper a little later."""
    wait_for(condition, "the awaited change did not happen")


def test_topics_are_created_altered_described_and_deleted(zookeeper: str, create: Create) -> None:
    assert "aqua" not in topics(zookeeper, "--list")
    create("aqua", 1)
    again = run(
        "topics",
        "--zookeeper",
        zookeeper,
        "--create",
        "--topic",
        "aqua",
        "--partitions",
        "1",
        "--replication-factor",
        "1",
    )
    assert again.returncode == 1
    assert again.stdout == "Error while executing topic command : Topic 'aqua' already exists.\n"

    told = topics(zookeeper, "--delete", "--topic", "aqua")
    assert (
        told == "Topic aqua is marked for deletion.\nNote: This will have no impact if"
        " delete.topic.enable is not set to true.\n"
    )
    until(lambda: "aqua" not in topics(zookeeper, "--list"))
    sizes = ("--partitions", "1", "--replication-factor", "1")
    assert (
        topics(
            zookeeper, "--create", "--topic", "aqua", *sizes, "--config", "max.message.bytes=2048"
        )
        == 'Created topic "aqua".\n'
    )

    told = topics(zookeeper, "--alter", "--topic", "aqua", "--partitions", "2")
    assert told.startswith(
        "WARNING: If partitions are increased for a topic that has a key, the partition logic or"
        " ordering of the messages"
    )
    assert told.endswith("Adding partitions succeeded!\n")
    fewer = run(
        "topics", "--zookeeper", zookeeper, "--alter", "--topic", "aqua", "--partitions", "1"
    )
    assert fewer.returncode == 1
    assert "can only be increased" in fewer.stdout
    told = topics(zookeeper, "--alter", "--topic", "aqua", "--config", "max.message.bytes=4096")
    assert "has been deprecated and may be removed in future releases" in told
    assert "please use kafka-configs.sh" in told

    until(lambda: topics(zookeeper, "--describe", "--topic", "aqua").count("Leader: 0") == 2)
    assert (
        topics(zookeeper, "--describe", "--topic", "aqua")
        == "Topic:aqua\tPartitionCount:2\tReplicationFactor:1\tConfigs:max.message.bytes=4096\n"
        "\tTopic: aqua\tPartition: 0\tLeader: 0\tReplicas: 0\tIsr: 0\n"
        "\tTopic: aqua\tPartition: 1\tLeader: 0\tReplicas: 0\tIsr: 0\n"
    )


def test_a_console_consumer_hears_what_comes_while_it_listens_and_all_from_the_beginning(
    cluster: Cluster, create: Create
) -> None:
    create("shell", 1)
    produce = ("console-producer", "--topic", "shell", "--broker-list", cluster.bootstrap_servers)
    consume = (
        "console-consumer",
        "--topic",
        "shell",
        "--bootstrap-server",
        cluster.bootstrap_servers,
    )
    assert run(*produce, stdin="before\n").returncode == 0

    command = python_command("kafka_edu", *consume, "--group", "listening")
    listening = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=python_environment()
    )
    try:
        described = (
            "consumer-groups",
            "--bootstrap-server",
            cluster.bootstrap_servers,
            "--describe",
            "--group",
            "listening",
            "--state",
        )
        until(lambda: "Stable" in run(*described).stdout)
        heard: list[str] = []
        assert listening.stdout is not None
        lines = listening.stdout
        ear = threading.Thread(target=lambda: heard.append(lines.readline()))
        ear.start()
        while ear.is_alive():  # the consumer may still be looking up the end of the partition
            assert run(*produce, stdin="while\n").returncode == 0
            ear.join(1)
        assert heard == ["while\n"]
    finally:
        listening.send_signal(signal.SIGINT)
        _, said = listening.communicate(timeout=PATIENCE_S)
    assert listening.returncode == 130
    assert re.fullmatch(r"Processed a total of [1-9][0-9]* messages\n", said)
    everything = run(*consume, "--from-beginning", "--max-messages", "2")
    assert everything.stdout == "before\nwhile\n"
    assert everything.stderr == "Processed a total of 2 messages\n"


def test_a_broker_starts_by_its_properties_and_stops(zookeeper: str, tmp_path: Path) -> None:
    """Run the equivalents of kafka-server-start.sh [-daemon] config/server.properties and of
    kafka-server-stop.sh config/server.properties.
    """
    properties, port = tmp_path / "server.properties", free_port()
    properties.write_text(
        f"broker.id=7\nlisteners=PLAINTEXT://127.0.0.1:{port}\nlog.dirs={tmp_path}/logs\nzookeeper.connect={zookeeper}/alone\n",
        encoding="utf-8",
    )
    environment = {**python_environment(), "LOG_DIR": str(tmp_path)}
    start = python_command(
        "kafka_edu", "server-start", "-daemon", str(properties), "--override", "num.partitions=3"
    )
    assert subprocess.run(start, env=environment, timeout=PATIENCE_S).returncode == 0
    try:
        until(
            lambda: (
                f"127.0.0.1:{port} (id: 7 "
                in run("broker-api-versions", "--bootstrap-server", f"127.0.0.1:{port}").stdout
            )
        )
        stopped = run("server-stop", str(properties))
        assert (stopped.returncode, stopped.stdout) == (0, "")
        until(lambda: "the broker has stopped" in (tmp_path / "kafkaServer.out").read_text())
        assert (tmp_path / "logs" / ".kafka_cleanshutdown").exists()
    finally:
        run("server-stop", str(properties))
    until(lambda: run("server-stop", str(properties)).stdout == "No kafka server to stop\n")

    foreground = subprocess.Popen(
        python_command("kafka_edu", "server-start", str(properties)),
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    assert foreground.stderr is not None
    try:
        for line in foreground.stderr:
            if "started" in line:
                break
        foreground.send_signal(signal.SIGINT)
        foreground.communicate(timeout=PATIENCE_S)
    finally:
        foreground.kill()
    assert foreground.returncode == 0


def test_python_admin(cluster: Cluster) -> None:
    client = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    new = [
        NewTopic(
            "matsuri",
            num_partitions=2,
            replication_factor=1,
            topic_configs={"max.message.bytes": "2048"},
        ),
        NewTopic("mea-admin", num_partitions=4, replication_factor=1),
    ]
    client.create_topics(new_topics=new, timeout_ms=PATIENCE_S * 1000)
    assert {"matsuri", "mea-admin"} <= set(client.list_topics())
    client.delete_topics(topics=["mea-admin"], timeout_ms=PATIENCE_S * 1000)
    assert "mea-admin" not in client.list_topics()
    (described,) = client.describe_topics(["matsuri"])
    assert described["error_code"] == 0
    assert described["is_internal"] is False
    partitions = described["partitions"]
    assert sorted(p.get("partition", p.get("partition_index")) for p in partitions) == [0, 1]
    for partition in partitions:
        assert partition["error_code"] == 0
        assert partition.get("leader", partition.get("leader_id")) == 0
        assert partition.get("isr", partition.get("isr_nodes")) == [0]
        assert partition.get("replicas", partition.get("replica_nodes")) == [0]
        assert partition["offline_replicas"] == []
    client.close()


def test_python_producer_futures_callbacks_partitions_and_keys(
    cluster: Cluster, create: Create
) -> None:
    create("lulu")
    producer = KafkaProducer(bootstrap_servers=[cluster.bootstrap_servers], acks=-1, retries=8)
    first = producer.send("lulu", "夏色祭".encode(), partition=1).get(PATIENCE_S)
    assert (first.topic, first.partition, first.offset) == ("lulu", 1, 0)
    told: list[tuple[str, int, int]] = []
    future = producer.send("lulu", b"second", partition=1)
    future.add_callback(
        lambda record: told.append((record.topic, record.partition, record.offset))
    ).add_errback(pytest.fail)
    future.get(PATIENCE_S)
    until(lambda: told)  # another thread sets it
    assert told == [("lulu", 1, 1)]
    for partition in (0, 1):
        for _ in range(3):
            producer.send("lulu", f"to {partition}".encode(), partition=partition)
    producer.flush(PATIENCE_S)
    by_key = {
        producer.send("lulu", key=b"same", value=b"v").get(PATIENCE_S).partition for _ in range(5)
    }
    assert len(by_key) == 1

    consumer = KafkaConsumer(
        "lulu",
        bootstrap_servers=[cluster.bootstrap_servers],
        auto_offset_reset="earliest",
        consumer_timeout_ms=PATIENCE_S * 1000,
    )
    assert (
        sum(
            consumer.end_offsets(
                [TopicPartition("lulu", partition) for partition in (0, 1)]
            ).values()
        )
        == 13
    )
    read = [
        (message.partition, message.offset, message.value.decode())
        for message in islice(consumer, 13)
        if message.key is None
    ]
    assert sorted(read) == [
        (0, 0, "to 0"),
        (0, 1, "to 0"),
        (0, 2, "to 0"),
        (1, 0, "夏色祭"),
        (1, 1, "second"),
        (1, 2, "to 1"),
        (1, 3, "to 1"),
        (1, 4, "to 1"),
    ]
    consumer.close()
    producer.close()


def test_python_consumer_reads_from_the_beginning_each_partition_in_order(
    cluster: Cluster, create: Create
) -> None:
    create("mea")
    producer = KafkaProducer(
        bootstrap_servers=[cluster.bootstrap_servers],
        value_serializer=lambda text: bytes(text, encoding="utf-8"),
    )
    for i in range(1, 20):
        producer.send("mea", f"message{i}", partition=i % 2)
    producer.flush()
    producer.close()
    settings = {
        "bootstrap_servers": [cluster.bootstrap_servers],
        "value_deserializer": lambda data: str(data, encoding="utf-8"),
    }
    consumer = KafkaConsumer(
        "mea", auto_offset_reset="earliest", consumer_timeout_ms=PATIENCE_S * 1000, **settings
    )
    assert consumer.end_offsets([TopicPartition("mea", partition) for partition in (0, 1)]) == {
        TopicPartition("mea", 0): 9,
        TopicPartition("mea", 1): 10,
    }
    read = [(message.partition, message.offset, message.value) for message in islice(consumer, 19)]
    consumer.close()
    assert [row for row in read if row[0] == 0] == [(0, i, f"message{2 * i + 2}") for i in range(9)]
    assert [row for row in read if row[0] == 1] == [
        (1, i, f"message{2 * i + 1}") for i in range(10)
    ]


def test_python_group_of_four_on_two_partitions_leaves_two_idle(
    cluster: Cluster, create: Create
) -> None:
    create("kagura")
    producer = KafkaProducer(bootstrap_servers=[cluster.bootstrap_servers])
    for i in range(20):
        producer.send("kagura", f"message{i}".encode(), partition=i % 2)
    producer.flush()
    producer.close()
    assigned: dict[str, set[int]] = {}
    read: list[tuple[int, int]] = []
    done = threading.Event()

    def consume(name: str) -> None:
        consumer = KafkaConsumer(
            "kagura",
            group_id="kagura",
            bootstrap_servers=[cluster.bootstrap_servers],
            auto_offset_reset="earliest",
        )
        while not done.is_set():
            for batch in consumer.poll(200).values():
                read.extend((message.partition, message.offset) for message in batch)
            assigned[name] = {tp.partition for tp in consumer.assignment()}
        consumer.close()

    threads = [threading.Thread(target=consume, args=(f"consumer{i}",)) for i in range(1, 5)]
    for thread in threads:
        thread.start()
    try:
        until(
            lambda: (
                len(assigned) == 4
                and sorted(map(sorted, assigned.values())) == [[], [], [0], [1]]
                and len(set(read)) == 20
            )
        )
    finally:
        done.set()
        for thread in threads:
            thread.join()


def consume_and_commit(cluster: Cluster, commits: dict[int, int]) -> list[tuple[int, int]]:
    """Run the seed's consumer of group hololive, without auto-commit. At the end of each partition
    it commits the offset in `commits`.
    """
    settings = {
        "bootstrap_servers": [cluster.bootstrap_servers],
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
    }
    consumer = KafkaConsumer(
        "hololive", group_id="hololive", consumer_timeout_ms=PATIENCE_S * 1000, **settings
    )
    read = []
    for message in consumer:
        read.append((message.partition, message.offset))
        if message.offset == 9 and message.partition in commits:
            consumer.commit(
                {
                    TopicPartition("hololive", message.partition): OffsetAndMetadata(
                        commits[message.partition], "", -1
                    )
                }
            )
        if {(0, 9), (1, 9)} <= set(read):
            break
    consumer.close()
    return read


def test_a_committed_offset_is_where_the_group_goes_on_also_backward(
    cluster: Cluster, create: Create
) -> None:
    create("hololive")
    producer = KafkaProducer(bootstrap_servers=[cluster.bootstrap_servers])
    for i in range(10):
        for partition in (0, 1):
            producer.send("hololive", f"message{i}".encode(), partition=partition)
    producer.flush()
    producer.close()
    everything = [(partition, offset) for partition in (0, 1) for offset in range(10)]
    assert sorted(consume_and_commit(cluster, {0: 6, 1: 8})) == everything
    assert sorted(consume_and_commit(cluster, {})) == [
        (0, 6),
        (0, 7),
        (0, 8),
        (0, 9),
        (1, 8),
        (1, 9),
    ]
    assert sorted(consume_and_commit(cluster, {0: 5, 1: 5})) == [
        (0, 6),
        (0, 7),
        (0, 8),
        (0, 9),
        (1, 8),
        (1, 9),
    ]
    assert sorted(consume_and_commit(cluster, {})) == [(p, o) for p in (0, 1) for o in range(5, 10)]


@pytest.fixture(scope="module")
def go(cluster: Cluster) -> Any:
    """Return a function that runs a Go listing and returns its lines."""
    program = (
        built("sarama_listings", (tool("go", "golang"), "build", "-o", "listings", "."))
        / "listings"
    )

    def listing(name: str, *arguments: object) -> list[str]:
        done = subprocess.run(
            [str(program), name, cluster.bootstrap_servers, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return listing


@pytest.mark.timeout(700)
def test_go_admin(go: Any) -> None:
    lines = "\n".join(go("admin", "nana"))
    before, created, described, deleted = (
        part.strip().splitlines() for part in lines.split("--\n", 3)
    )
    assert "nana partitions=1 replicas=1" not in before
    assert set(created) - set(before) == {"nana partitions=1 replicas=1"}
    assert described == [
        "nana error=0 internal=false partition=0 leader=0 replicas=[0] isr=[0]"
    ] or described == [
        "nana error=kafka server: Not an error, why are you printing me? internal=false partition=0"
        " leader=0 replicas=[0] isr=[0]"
    ]
    assert "nana partitions=1 replicas=1" not in deleted


@pytest.mark.timeout(700)
@pytest.mark.parametrize("acks", [1, -1])
def test_go_producer_and_consumer(go: Any, acks: int, create: Create) -> None:
    topic = f"fubuki{acks}"
    create(topic)
    assert go("produce", topic, 0, 10, acks) == [
        f"partition=0 offset={i} value=message{i}" for i in range(10)
    ]
    assert go("consume", topic, 0, -2, 10) == [
        "ready",
        *(f"value:message{i},partition:0,offset:{i}" for i in range(10)),
    ]
    assert go("consume", topic, 0, 7, 3) == [
        "ready",
        *(f"value:message{i},partition:0,offset:{i}" for i in (7, 8, 9)),
    ]


@pytest.mark.timeout(700)
def test_go_consumer_group_resets_its_offsets(go: Any, create: Create) -> None:
    create("gogroup")
    for partition in (0, 1):
        go("produce", "gogroup", partition, 10, 1)
    lines = go("group", "gogroup", "my_group", 20, 5, 5)
    assert (lines[0], lines[-1]) == ("setup", "cleanup")
    assert sorted(lines[1:-1]) == sorted(
        f"partition={p} value=message{i} offset={i}" for p in (0, 1) for i in range(10)
    )
    again = go("group", "gogroup", "my_group", 10)
    assert sorted(again[1:-1]) == sorted(
        f"partition={p} value=message{i} offset={i}" for p in (0, 1) for i in range(5, 10)
    )


@pytest.mark.timeout(700)
def test_go_interceptors(go: Any, create: Create) -> None:
    create("intercepted", 1)
    sent = go("intercepted-produce", "intercepted")
    assert [line for line in sent if not line.startswith("partition")] == [
        "first message0",
        "second message0",
        "first message1",
        "second message1",
    ]
    seen = go("intercepted-group", "intercepted", "interceptors", 2)
    assert [line for line in seen if line in ("first", "second")] == [
        "first",
        "second",
        "first",
        "second",
    ]
