"""Apache Kafka's own brokers run on the embedded ZooKeeper: they register, elect a controller,
create a topic, lose a broker and get it back.

This needs Java, and Maven to fetch Apache Kafka's jars once, or a folder of them in
KAFKA_EDU_KAFKA_JARS.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic
from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types
from kazoo.exceptions import NoNodeError  # type: ignore[import-untyped]

from benchmarks.apache_kafka import SMALL, ApacheKafka, apache_kafka
from tests.interop.external_programs import apache_kafka_jars
from tests.waiting import wait_for

pytestmark = pytest.mark.tools

PATIENCE_S = 240.0
CHROOT = "/kafka"


def until(what: str, condition: Callable[[], bool]) -> None:
    """Check the condition again and again until it holds. Other people's processes do not notify
    the test.
    """
    wait_for(condition, what, PATIENCE_S)


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[int]:
    command = [
        sys.executable,
        "-m",
        "kafka_edu.zk.embedded.main",
        "--port",
        "0",
        "--tick-time",
        "1000",
        "--data-dir",
        str(tmp_path / "zookeeper"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield int(process.stdout.readline().split()[1])
    process.terminate()
    assert process.wait(PATIENCE_S) == 0


@pytest.fixture
def java_brokers(zookeeper: int) -> Iterator[ApacheKafka]:
    jars = apache_kafka_jars()
    properties = [
        "zookeeper.session.timeout.ms=6000",
        "zookeeper.connection.timeout.ms=60000",
        # the default of 128 MiB does not fit into a small heap
        "log.cleaner.dedupe.buffer.size=4194304",
        "offsets.topic.replication.factor=1",
        "offsets.topic.num.partitions=1",
    ]
    with apache_kafka(jars, 3, properties, f"127.0.0.1:{zookeeper}{CHROOT}", SMALL) as kafka:
        yield kafka


class Znodes:
    """The znodes that the brokers have written to ZooKeeper."""

    def __init__(self, client: KazooClient) -> None:
        self._client = client

    def read(self, path: str) -> dict[str, object]:
        try:
            value: dict[str, object] = json.loads(self._client.get(CHROOT + path)[0])
        except NoNodeError:
            return {}
        return value

    def ids(self) -> list[str]:
        try:
            return sorted(self._client.get_children(CHROOT + "/brokers/ids"))
        except NoNodeError:
            return []

    def controller_epoch(self) -> int:
        return int(self._client.get(CHROOT + "/controller_epoch")[0])

    def state(self, partition: int) -> dict[str, object]:
        return self.read(f"/brokers/topics/t/partitions/{partition}/state")

    def isr(self, partition: int) -> list[object]:
        value = self.state(partition).get("isr")
        return value if isinstance(value, list) else []


@pytest.fixture
def znodes(zookeeper: int) -> Iterator[Znodes]:
    client = KazooClient(f"127.0.0.1:{zookeeper}")
    client.start()
    yield Znodes(client)
    client.stop()
    client.close()


def test_three_java_brokers_live_on_the_embedded_zookeeper(
    java_brokers: ApacheKafka, znodes: Znodes
) -> None:
    until(
        "three brokers and a controller",
        lambda: znodes.ids() == ["0", "1", "2"] and bool(znodes.read("/controller")),
    )
    bootstrap = java_brokers.bootstrap.split(",")
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic("t", 3, 3)])
    admin.close()
    until("a full ISR of each partition", lambda: all(len(znodes.isr(p)) == 3 for p in range(3)))
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all")
    for number in range(300):
        producer.send("t", b"%d" % number, partition=number % 3)
    producer.flush()

    controller = znodes.read("/controller")["brokerid"]
    assert isinstance(controller, int)
    epoch = znodes.controller_epoch()
    java_brokers.kill(controller)
    until(
        "another controller",
        lambda: znodes.read("/controller").get("brokerid") not in (None, controller),
    )
    assert znodes.controller_epoch() == epoch + 1
    until(
        "leaders elsewhere",
        lambda: all(znodes.state(p)["leader"] not in (controller, -1) for p in range(3)),
    )
    for number in range(300, 600):
        producer.send("t", b"%d" % number, partition=number % 3)
    producer.flush()
    producer.close()

    java_brokers.start(controller)
    until(
        "the broker back in every ISR",
        lambda: (
            znodes.ids() == ["0", "1", "2"] and all(controller in znodes.isr(p) for p in range(3))
        ),
    )
    consumer = KafkaConsumer(
        "t", bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id="g"
    )
    read_back: set[int] = set()

    def read_all() -> bool:
        for records in consumer.poll(200).values():
            read_back.update(int(record.value) for record in records)
        return len(read_back) == 600

    until("every record", read_all)
    assert sorted(read_back) == list(range(600))
    consumer.close()
