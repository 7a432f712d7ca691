"""Single brokers, run by `python -m kafka_edu.server.main FILE` on an embedded ZooKeeper."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.transport import part_bytes
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_edu.supervisor.readiness import wait_until_listed
from kafka_edu.trace.events.network import FileBytesSampled
from kafka_edu.trace.reader import open_recording
from kafka_edu.trace.trace_client import EventsAddress, TraceClient
from kafka_edu.zk.apache import ApacheZooKeeper
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster


class Processes:
    """Child processes of a test. None outlives it."""

    def __init__(self, folder: Path, zookeeper_port: int) -> None:
        self.folder = folder
        self.running: list[subprocess.Popen[bytes]] = []
        self.zookeeper_port = zookeeper_port

    def properties(self, name: str, **settings: str) -> Path:
        """Write a server.properties. `log_dirs` is the key log.dirs; `__` stands for an underscore
        in a name.
        """
        given = {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "zookeeper.connect": f"127.0.0.1:{self.zookeeper_port}",
            "log.dirs": str(self.folder / name),
            "offsets.topic.replication.factor": "1",
            "edu.events.file": str(self.folder / f"{name}.events"),
            "edu.record.file": str(self.folder / f"{name}.record"),
        } | {key.replace("_", "."): value for key, value in settings.items()}
        path = self.folder / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
        return path

    def start(self, properties: Path, *arguments: str) -> subprocess.Popen[bytes]:
        with properties.with_suffix(".log").open("ab") as log:
            broker = subprocess.Popen(
                [sys.executable, "-m", "kafka_edu.server.main", str(properties), *arguments],
                stderr=log,
            )
        self.running.append(broker)
        return broker

    def log(self, properties: Path) -> str:
        return properties.with_suffix(".log").read_text()

    def started(self, properties: Path, times: int = 1) -> None:
        wait_for(
            lambda: self.log(properties).count(" started ") >= times,
            lambda: f"not started: {self.log(properties)}",
        )

    def refused(self, properties: Path, *arguments: str) -> str:
        """Start a broker that must refuse, and return its message."""
        assert self.start(properties, *arguments).wait(PATIENCE_S) == 1
        return self.log(properties)

    def stop(self) -> None:
        for process in reversed(self.running):
            process.kill()
            process.wait()


@pytest.fixture
def zookeeper_port(tmp_path: Path, zookeeper: str) -> Iterator[int]:
    if zookeeper == "apache":
        server = ApacheZooKeeper(tmp_path / "zookeeper")
        server.start()
        try:
            yield server.port
        finally:
            server.kill()
        return
    command = [
        sys.executable,
        "-m",
        "kafka_edu.zk.embedded.main",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--data-dir",
        str(tmp_path / "zookeeper"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline().split()[1])
        finally:
            process.kill()


@pytest.fixture
def processes(tmp_path: Path, zookeeper_port: int) -> Iterator[Processes]:
    started = Processes(tmp_path, zookeeper_port)
    try:
        yield started
    finally:
        started.stop()


def port_of(processes: Processes, name: str) -> int:
    """Return the broker's port from its recording, because it was started with port 0."""
    ports: list[int] = []

    def told() -> bool:
        recorded = open_recording(str(processes.folder / f"{name}.record"))
        ports.extend(
            int(str(e.event[1][0]).rpartition(":")[2])
            for e in recorded
            if e.name == "ServerStarted"
        )
        return bool(ports)

    wait_for(told, "no ServerStarted in the recording")
    return ports[0]


def address_of(processes: Processes, name: str, broker_id: int) -> str:
    """Wait until a broker lists itself in its metadata, and return its host:port.

    A broker that has just started tells clients that there is no broker, until there is a
    controller.
    """
    port = port_of(processes, name)
    asyncio.run(
        asyncio.wait_for(
            wait_until_listed(SocketTransport(), {broker_id: ("127.0.0.1", port)}, [broker_id]),
            PATIENCE_S,
        )
    )
    return f"127.0.0.1:{port}"


def test_a_brokers_life(processes: Processes) -> None:
    """A broker gets a generated id, stores records, is stopped with SIGTERM, starts again, is
    killed with kill -9 and recovers its logs. No acked record is lost.
    """
    properties = processes.properties("k")
    broker = processes.start(properties)
    processes.started(properties)
    events = processes.folder / "k.events"
    assert stat.S_IMODE(events.stat().st_mode) == 0o600
    assert json.loads(events.read_text())["pid"] == broker.pid
    meta = (processes.folder / "k" / "meta.properties").read_text()
    assert "broker.id=1001\n" in meta
    assert "cluster.id=" in meta

    def produce(values: list[bytes]) -> None:
        producer = Producer({"bootstrap.servers": address_of(processes, "k", 1001), "log_level": 0})
        for value in values:
            producer.produce("t", value, partition=0)
        assert producer.flush(PATIENCE_S) == 0

    def consume(count: int) -> list[bytes]:
        settings = {
            "bootstrap.servers": address_of(processes, "k", 1001),
            "group.id": "g",
            "enable.auto.commit": False,
            "log_level": 0,
        }
        consumer = Consumer(settings)
        consumer.assign([TopicPartition("t", 0, 0)])
        values = [message.value() for message in consumer.consume(count, PATIENCE_S)]
        consumer.close()
        return values

    admin = AdminClient({"bootstrap.servers": address_of(processes, "k", 1001), "log_level": 0})
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result(PATIENCE_S)
    produce([b"a", b"b"])
    broker.send_signal(signal.SIGTERM)
    assert broker.wait(PATIENCE_S) == 0
    assert (processes.folder / "k" / ".kafka_cleanshutdown").exists()
    assert not events.exists()
    recorded = [envelope.name for envelope in open_recording(str(processes.folder / "k.record"))]
    assert (
        recorded.index("ServerStopping")
        < recorded.index("ControlledShutdownAttempted")
        < recorded.index("ServerStopped")
    )

    broker = processes.start(properties)
    processes.started(properties, 2)
    assert not (processes.folder / "k" / ".kafka_cleanshutdown").exists()
    assert consume(2) == [b"a", b"b"]
    produce([b"c"])
    broker.kill()
    broker.wait()
    broker = processes.start(properties)
    processes.started(properties, 3)
    assert consume(3) == [b"a", b"b", b"c"]
    # Each start made a recording of its own.
    assert sorted(path.name for path in processes.folder.glob("k.record*")) == [
        "k.record",
        "k.record.1",
        "k.record.2",
    ]


def fetch(port: int, topic: str, offset: int) -> int:
    """Fetch all records of partition 0 from `offset` with one request. Return the bytes of records
    received.
    """

    async def ask() -> int:
        client = NetworkClient(SocketTransport(), "test")
        await client.connect("127.0.0.1", port, PATIENCE_S * 1000)
        asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=2**30)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            topics=[FetchTopic(topic=topic, partitions=[asked])],
        )
        try:
            response = await client.ask(request, 11, FetchResponse, PATIENCE_S * 1000)
        finally:
            client.close()
        (partition,) = response.responses[0].partition_responses
        assert partition.error_code == 0
        return len(part_bytes(partition.record_set or b""))

    return asyncio.run(ask())


@pytest.mark.skipif(not hasattr(os, "sendfile"), reason="this system has no sendfile")
def test_records_of_more_than_a_batch_never_enter_a_running_broker(processes: Processes) -> None:
    """Zero copy, as the broker itself counts it (spec S6).

    A consumer that is far behind gets all its records by sendfile. A single new batch is first read
    into the broker.
    """
    properties = processes.properties("z")
    processes.start(properties)
    processes.started(properties)
    address = address_of(processes, "z", 1001)
    port = int(address.rpartition(":")[2])
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": address, "log_level": 0})
    for _ in range(8_000):
        producer.produce("t", os.urandom(1_000), partition=0)
    assert producer.flush(PATIENCE_S) == 0
    (segment,) = (processes.folder / "z" / "t-0").glob("*.log")
    behind = segment.stat().st_size
    producer.produce("t", b"one record", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    batch = segment.stat().st_size - behind

    def told(by_sendfile: int, read: int) -> None:
        """Return when the broker's gauge has these totals."""
        with TraceClient(
            EventsAddress.read(str(processes.folder / "z.events")), gauges=True
        ) as events:
            events.wait_for(
                lambda envelope: (
                    envelope.event
                    == FileBytesSampled(by_sendfile_total=by_sendfile, read_total=read)
                ),
                PATIENCE_S,
            )

    told(0, 0)
    assert fetch(port, "t", 0) == behind + batch
    told(behind + batch, 0)
    assert fetch(port, "t", 8_000) == batch
    told(behind + batch, batch)


def test_the_books_two_inconsistent_broker_ids_and_others(processes: Processes) -> None:
    one, two = processes.folder / "one", processes.folder / "two"
    for folder, broker_id in ((one, 1), (two, 2)):
        folder.mkdir()
        (folder / "meta.properties").write_text(f"version=0\nbroker.id={broker_id}\n")
    assert "configured as 7, but" in processes.refused(
        processes.properties("a", broker_id="7", log_dirs=str(one))
    )
    assert "belong to different brokers" in processes.refused(
        processes.properties("b", log_dirs=f"{one},{two}")
    )
    (one / "meta.properties").write_text("version=0\nbroker.id=1\ncluster.id=another\n")
    assert "belongs to the cluster another" in processes.refused(
        processes.properties("c", log_dirs=str(one))
    )
    assert "generation.enable is false" in processes.refused(
        processes.properties("d", broker_id_generation_enable="false")
    )


def test_generated_ids_follow_each_other_and_stand_in_each_log_dir(processes: Processes) -> None:
    """Ids are above reserved.broker.max.id, and a log dir added later gets the id too (spec Z4)."""

    def ids(*names: str) -> list[str]:
        lines = [
            (processes.folder / name / "meta.properties").read_text().splitlines() for name in names
        ]
        return [line for meta in lines for line in meta if line.startswith("broker.id=")]

    def dirs(*names: str) -> str:
        return ",".join(str(processes.folder / name) for name in names)

    first = processes.properties("l", log_dirs=dirs("l1", "l2"), reserved_broker_max_id="50")
    broker = processes.start(first)
    processes.started(first)
    second = processes.properties("m", log_dirs=dirs("m1"), reserved_broker_max_id="50")
    processes.start(second)
    processes.started(second)
    assert ids("l1", "l2") == ["broker.id=51"] * 2
    assert ids("m1") == ["broker.id=52"]
    broker.send_signal(signal.SIGTERM)
    assert broker.wait(PATIENCE_S) == 0
    processes.start(
        processes.properties("l", log_dirs=dirs("l1", "l2", "l3"), reserved_broker_max_id="50")
    )
    processes.started(first, 2)
    assert ids("l1", "l2", "l3") == ["broker.id=51"] * 3
    assert "from -1 to 50 (reserved.broker.max.id)" in processes.refused(
        processes.properties("n", broker_id="51", reserved_broker_max_id="50")
    )


def test_wrong_configurations_name_file_and_line(processes: Processes) -> None:
    properties = processes.properties("e", num_io_threads="none")
    with properties.with_suffix(".log").open("wb") as log:
        command = [sys.executable, "-m", "kafka_edu.server.main", str(properties)]
        assert subprocess.run(command, stderr=log, check=False, timeout=PATIENCE_S).returncode == 1
    line = properties.read_text().splitlines().index("num.io.threads=none") + 1
    assert (
        f"{properties}, line {line}: Invalid value none for configuration num.io.threads"
        in processes.log(properties)
    )


def test_a_taken_port_and_no_zookeeper(processes: Processes) -> None:
    properties = processes.properties("f")
    processes.start(properties)
    processes.started(properties)
    taken = processes.properties("g", listeners=f"PLAINTEXT://127.0.0.1:{port_of(processes, 'f')}")
    assert "cannot listen on" in processes.refused(taken)
    assert not (processes.folder / "g" / "meta.properties").exists()
    nobody = processes.properties(
        "h", zookeeper_connect="127.0.0.1:1", zookeeper_connection_timeout_ms="500"
    )
    assert "there is no ZooKeeper at 127.0.0.1:1" in processes.refused(nobody)


def test_a_second_broker_of_the_same_id_does_not_start(processes: Processes) -> None:
    first = processes.properties("i", broker_id="5")
    processes.start(first)
    processes.started(first)
    second = processes.properties(
        "j",
        broker_id="5",
        zookeeper_session_timeout_ms="1000",
        zookeeper_connection_timeout_ms="30000",
    )
    assert "another broker has the id 5: /brokers/ids/5" in processes.refused(second)


def test_an_unknown_key_is_warned_of_and_a_second_signal_is_patient(processes: Processes) -> None:
    properties = processes.properties("k", broker_id="3", num_partition="4")
    broker = processes.start(properties, "--override", "broker.rack=r1")
    processes.started(properties)
    assert (
        "num.partition is not a known key, so it is ignored; did you mean num.partitions?"
        in processes.log(properties)
    )
    broker.send_signal(signal.SIGINT)
    broker.send_signal(signal.SIGTERM)
    assert broker.wait(PATIENCE_S) == 0
    assert os.path.exists(processes.folder / "k" / ".kafka_cleanshutdown")
