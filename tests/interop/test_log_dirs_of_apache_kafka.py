"""A broker of this project opens a log dir of Apache Kafka 2.0.1 or 2.8.2 and serves the same
records, and the other way round (spec S1).

There is one log dir, one ZooKeeper and one broker id, and the brokers take turns. Each first serves
the records that are there: by offset and by time, and it recognizes the last batch of an idempotent
producer. Then it writes more. The records have message formats v0, v1, v2 and mixed, in several
segments. A turn ends with a clean stop or with kill -9. kill -9 leaves indexes at full length and
no final checkpoints, and the test adds a torn batch.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types

from tests.conformance.cases.basics import create
from tests.interop.client_contract import rd, read_to_end
from tests.interop.external_programs import apache_kafka_jars
from tests.interop.one_disk import PATIENCE_S, Disk, Make

VERSIONS = pytest.mark.parametrize(
    "version",
    [
        pytest.param(Make.KAFKA_2_0_1, marks=pytest.mark.long),  # brokers of Java, for minutes
        pytest.param(Make.KAFKA_2_8_2, marks=pytest.mark.interop),
    ],
)


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[str]:
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
    yield f"127.0.0.1:{process.stdout.readline().split()[1]}"
    process.terminate()
    assert process.wait(PATIENCE_S) == 0


def set_format(zookeeper: str, topic: str, release: str) -> None:
    """Write the topic's message format into ZooKeeper, as kafka-configs does. The brokers read it
    when they start.
    """
    client = KazooClient(zookeeper)
    client.start()
    client.set(
        f"/config/topics/{topic}",
        b'{"version":1,"config":{"message.format.version":"%s"}}' % release.encode(),
    )
    client.stop()
    client.close()


def tear(disk: Disk, topic: str) -> None:
    """Append the beginning of a batch to the log's last segment, as a crash may leave it."""
    path = disk.active_segment(topic)
    whole = path.read_bytes()
    first = next(iter(sorted((disk.data / f"{topic}-0").glob("*.log")))).read_bytes()
    path.write_bytes(whole + first[:30])


@pytest.mark.rotated
@VERSIONS
def test_a_log_dir_goes_to_and_fro(tmp_path: Path, zookeeper: str, version: Make) -> None:
    apache_kafka_jars(version)
    disk = Disk(tmp_path, zookeeper)
    with disk.run(version) as asker:
        disk.create_topics(asker)
        disk.write(asker, 60)
    disk.check_clean_end()
    with disk.run(Make.OURS) as asker:
        disk.check(asker)
        disk.write(asker, 40)
        disk.delete_before(asker, "short", 33)
    disk.check_clean_end()
    set_format(zookeeper, "mixed", "2.0")
    disk.sent_as("mixed", 2)
    with disk.run(version, kill=True) as asker:
        disk.check(asker)
        disk.write(asker, 40)
    tear(disk, "v2")
    tear(disk, "v0")
    with disk.run(Make.OURS, kill=True) as asker:
        disk.check(asker)
        disk.write(asker, 40)
        disk.delete_before(
            asker,
            "v1",
            50,
            # DeleteRecords may be lost here: the kill may come before the broker writes the
            # checkpoint
        )
    tear(disk, "v1")
    tear(disk, "idempotent")
    with disk.run(version) as asker:
        disk.start["v1"] = disk.first_offset(asker, "v1")
        disk.check(asker)
        assert len(list((disk.data / "v2-0").glob("*.log"))) > 5
    disk.check_clean_end()


@VERSIONS
def test_brokers_of_two_makes_exclude_each_other(
    tmp_path: Path, zookeeper: str, version: Make
) -> None:
    """Apache Kafka's broker and ours lock the file `.lock` in the same way. The broker that starts
    second ends with the same message, no matter which of the two it is.
    """
    apache_kafka_jars(version)
    disk = Disk(tmp_path, zookeeper)
    with disk.run(version):
        refused = disk.refused(Make.OURS)
    assert (
        f"Failed to acquire lock on file .lock in {disk.data}. A Kafka instance in another process"
        " or thread" in refused
    )
    assert "The lock is held by process " in refused, "the kernel names the Java process"
    with disk.run(Make.OURS):
        assert (
            f"Failed to acquire lock on file .lock in {disk.data}. A Kafka instance in another"
            " process or thread" in disk.refused(version)
        )


def transact(servers: str, turn: str, committed: list[str]) -> None:
    """Start a producer, so that the coordinator aborts the transaction that was left open in the
    turn before. Then commit and abort some transactions, and leave the last transaction open.
    """
    producer = Producer(rd(servers, transactional_id="to and fro"))
    producer.init_transactions(PATIENCE_S)
    for i, end in enumerate(("commit", "abort", "commit", "abort", "leave")):
        producer.begin_transaction()
        values = [f"{turn} {i} {n} {end} {'x' * 200}" for n in range(10)]
        for value in values:
            producer.produce("txn", value, partition=0)
            assert producer.flush(PATIENCE_S) == 0
        if end == "commit":
            producer.commit_transaction(PATIENCE_S)
            committed += values
        elif end == "abort":
            producer.abort_transaction(PATIENCE_S)


@pytest.mark.rotated
@VERSIONS
def test_transactions_go_to_and_fro(tmp_path: Path, zookeeper: str, version: Make) -> None:
    """Each broker can read the other broker's producer snapshots, transaction indexes and
    `__transaction_state`: its coordinator aborts a transaction that the other broker left open.
    """
    apache_kafka_jars(version)
    disk = Disk(tmp_path, zookeeper)
    committed: list[str] = []
    for i, (make, kill) in enumerate(
        [
            (version, False),
            (Make.OURS, False),
            (version, True),
            (Make.OURS, True),
            (version, False),
            (Make.OURS, False),
        ]
    ):
        with disk.run(make, kill=kill) as asker:
            servers = f"127.0.0.1:{disk.port}"
            if i == 0:
                assert asker.ask("create", create("txn"), 2).topics[0].error_code == 0
            else:
                assert read_to_end(servers, "txn", "read_committed", 1) == committed
            transact(servers, f"{i} {make}", committed)
            assert read_to_end(servers, "txn", "read_committed", 1) == committed
    indexes = [path for path in (disk.data / "txn-0").glob("*.txnindex") if path.stat().st_size]
    assert len(indexes) > 10
