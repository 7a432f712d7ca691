"""Apache Kafka's own brokers run on the embedded ZooKeeper: they register, elect a controller, create a topic, lose a broker and take it back.

Needs Java, and a folder of Apache Kafka's jars (a ZooKeeper-mode release, say 2.8.2) in KAFKA_EDU_KAFKA_JARS.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types
from kazoo.exceptions import NoNodeError  # type: ignore[import-untyped]

from kafka_edu.zk.apache import ApacheZooKeeperError, find_java, free_port

JARS_VARIABLE = "KAFKA_EDU_KAFKA_JARS"
PATIENCE_S = 240.0
CHROOT = "/kafka"


class JavaBroker:
    """One Apache Kafka broker process."""

    def __init__(self, broker_id: int, zookeeper_port: int, folder: Path) -> None:
        self.id = broker_id
        self.port = free_port()
        self._folder = folder
        self._file = folder / f"server-{broker_id}.properties"
        properties = {
            "broker.id": broker_id,
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "zookeeper.connect": f"127.0.0.1:{zookeeper_port}{CHROOT}",
            "zookeeper.session.timeout.ms": 18_000,
            "zookeeper.connection.timeout.ms": 60_000,
            "log.dirs": folder / f"data-{broker_id}",
            "log.cleaner.dedupe.buffer.size": 4 * 1024 * 1024,  # 128 MiB by default, which this heap does not hold
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 1,
            "group.initial.rebalance.delay.ms": 0,
        }
        self._file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        jars = os.environ[JARS_VARIABLE]
        log = self._folder / "log4j.properties"
        log.write_text(
            "log4j.rootLogger=INFO,o\nlog4j.appender.o=org.apache.log4j.ConsoleAppender\nlog4j.appender.o.layout=org.apache.log4j.SimpleLayout\n"
        )
        java = [str(find_java()), "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dlog4j.configuration=file:{log}"]
        command = [*java, "-cp", f"{jars}/*", "kafka.Kafka", str(self._file)]
        with open(self._folder / f"broker-{self.id}.out", "ab") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)

    def kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGKILL)
            self._process.wait()


def wait_for(what: str, condition: Callable[[], bool]) -> None:
    """Ask until it is so: these are other people's processes, which tell nothing by themselves."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S:g} s: {what}"
        time.sleep(0.05)


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[int]:
    command = [sys.executable, "-m", "kafka_edu.zk.embedded.main", "--port", "0", "--tick-time", "1000", "--data-dir", str(tmp_path / "zookeeper")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield int(process.stdout.readline().split()[1])
    process.terminate()
    assert process.wait(PATIENCE_S) == 0


@pytest.mark.timeout(1200)
def test_three_java_brokers_live_on_the_embedded_zookeeper(zookeeper: int, tmp_path: Path) -> None:
    if not os.environ.get(JARS_VARIABLE):
        pytest.skip(f"{JARS_VARIABLE} does not name a folder of Apache Kafka's jars")
    try:
        find_java()
    except ApacheZooKeeperError as error:
        pytest.skip(str(error))
    kafka = pytest.importorskip("kafka")
    admin = pytest.importorskip("kafka.admin")
    brokers = [JavaBroker(broker_id, zookeeper, tmp_path) for broker_id in range(3)]
    client = KazooClient(f"127.0.0.1:{zookeeper}")
    try:
        for broker in brokers:
            broker.start()
        client.start()

        def read(path: str) -> dict[str, object]:
            try:
                value: dict[str, object] = json.loads(client.get(CHROOT + path)[0])
            except NoNodeError:
                return {}
            return value

        def ids() -> list[str]:
            try:
                return sorted(client.get_children(CHROOT + "/brokers/ids"))
            except NoNodeError:
                return []

        def isr(partition: int) -> list[object]:
            value = read(f"/brokers/topics/t/partitions/{partition}/state").get("isr")
            return value if isinstance(value, list) else []

        wait_for("three brokers and a controller", lambda: ids() == ["0", "1", "2"] and bool(read("/controller")))
        bootstrap = [f"127.0.0.1:{broker.port}" for broker in brokers]
        admin_client = admin.KafkaAdminClient(bootstrap_servers=bootstrap)
        admin_client.create_topics([admin.NewTopic("t", 3, 3)])
        admin_client.close()
        wait_for("a full ISR of each partition", lambda: all(len(isr(p)) == 3 for p in range(3)))
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all")
        for number in range(300):
            producer.send("t", b"%d" % number, partition=number % 3)
        producer.flush()

        controller = read("/controller")["brokerid"]
        epoch = int(client.get(CHROOT + "/controller_epoch")[0])
        victim = next(broker for broker in brokers if broker.id == controller)
        victim.kill()
        wait_for("another controller", lambda: read("/controller").get("brokerid") not in (None, controller))
        assert int(client.get(CHROOT + "/controller_epoch")[0]) == epoch + 1
        wait_for(
            "leaders elsewhere", lambda: all(read(f"/brokers/topics/t/partitions/{p}/state")["leader"] not in (controller, -1) for p in range(3))
        )
        for number in range(300, 600):
            producer.send("t", b"%d" % number, partition=number % 3)
        producer.flush()
        producer.close()

        victim.start()
        wait_for("the broker back in every ISR", lambda: ids() == ["0", "1", "2"] and all(controller in isr(p) for p in range(3)))
        consumer = kafka.KafkaConsumer("t", bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id="g")
        read_back: set[int] = set()

        def read_all() -> bool:
            for records in consumer.poll(200).values():
                read_back.update(int(record.value) for record in records)
            return len(read_back) == 600

        wait_for("every record", read_all)
        assert sorted(read_back) == list(range(600))
        consumer.close()
    finally:
        client.stop()
        client.close()
        for broker in brokers:
            broker.kill()
