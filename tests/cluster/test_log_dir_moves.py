"""Replicas move between log dirs on real brokers under load, and a broker is killed during the
move: no acknowledged record is lost.
"""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.tools.admin_client import open_admin
from kafka_edu.tools.reassignment_file import Replica
from kafka_edu.tools.replica_log_dirs import alter_log_dirs
from tests.stored_once import without_copies_sent_anew
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
MOVING = 0
"""The broker whose replicas move."""
PARTITIONS = {"alone": 2, "led": 2, "followed": 2}
"""Topics on the moving broker only; led by this broker, with a follower; and the other way round.
"""
ASSIGNMENTS = {"alone": [0], "led": [0, 1], "followed": [1, 0]}
PLACES = [(topic, number) for topic, count in PARTITIONS.items() for number in range(count)]


class Writer:
    """A producer with acks=all that writes numbers to all partitions until it is stopped."""

    def __init__(self, servers: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "acks": "all",
                "linger.ms": 2,
                "batch.num.messages": 50,
                "enable.idempotence": True,
                "message.timeout.ms": PATIENCE_S * 1000,
                "log_level": 0,
            }
        )
        self._stopped = threading.Event()
        self.acked: dict[tuple[str, int], list[int]] = {place: [] for place in PLACES}
        self.failed: list[str] = []
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        number = 0
        while not self._stopped.is_set():
            for topic, partition in PLACES:
                value = b"%d %s" % (number, b"." * 200)
                while True:
                    try:
                        self._producer.produce(
                            topic, value, partition=partition, on_delivery=self._delivered
                        )
                        break
                    except BufferError:  # the broker is down
                        self._producer.poll(0.1)
            number += 1
            self._producer.poll(0.002)
        self._producer.flush(PATIENCE_S)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(str(error))
            return
        topic, partition, value = message.topic(), message.partition(), message.value()
        assert topic is not None
        assert partition is not None
        assert value is not None
        self.acked[topic, partition].append(int(value.split()[0]))

    def until_more(self, count: int) -> None:
        """Wait until each partition has `count` more acknowledged records."""
        before = {place: len(acked) for place, acked in self.acked.items()}
        wait_for(
            lambda: all(len(self.acked[place]) >= before[place] + count for place in PLACES),
            lambda: f"{count} more of each: {before}, then {self._counts()}; {self.failed}",
        )

    def _counts(self) -> dict[tuple[str, int], int]:
        return {place: len(acked) for place, acked in self.acked.items()}

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(PATIENCE_S * 2)


def read(servers: str, topic: str, partition: int) -> list[tuple[int, int]]:
    """Return the offset and the number of each record."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "reader",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    found = []
    while True:
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        if message.error():
            break
        offset, value = message.offset(), message.value()
        assert offset is not None
        assert value is not None
        found.append((offset, int(value.split()[0])))
    consumer.close()
    return found


class Stage:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.servers = cluster.bootstrap_servers
        self.admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        self.dirs = cluster.log_dirs(MOVING)

    def create(self) -> None:
        topics = [
            NewTopic(
                topic,
                num_partitions=count,
                replica_assignment=[ASSIGNMENTS[topic]] * count,
                config={"segment.bytes": "1000000", "min.insync.replicas": "1"},
            )
            for topic, count in PARTITIONS.items()
        ]
        for made in self.admin.create_topics(topics).values():
            made.result(PATIENCE_S)

    def throttle(self, rate: int) -> None:
        entry = ConfigEntry(RATE, str(rate), incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.BROKER, str(MOVING), incremental_configs=[entry])
        for done in self.admin.incremental_alter_configs([resource]).values():
            done.result(PATIENCE_S)

    def order(self, target: Path) -> None:
        wanted: Mapping[Replica, str] = {
            Replica(topic, number, MOVING): str(target) for topic, number in PLACES
        }

        async def ask() -> None:
            async with open_admin(self.servers, {}, "moves") as admin:
                assert await alter_log_dirs(admin, wanted) == wanted.keys()

        asyncio.run(ask())

    def copied(self, target: Path) -> int:
        """Return the bytes of all copies that grow in a dir."""
        return sum(path.stat().st_size for path in target.glob("*-future/*.log") if path.exists())

    def settled(self, target: Path) -> list[str]:
        """Return the partitions whose only folder on the broker is in that dir."""
        return [
            f"{topic}-{number}"
            for topic, number in PLACES
            if [one for one in self.dirs if list(one.glob(f"{topic}-{number}*"))] == [target]
            and (target / f"{topic}-{number}").is_dir()
        ]

    def kill_and_start(self) -> None:
        self.cluster.kill(MOVING)
        self.cluster.start(MOVING)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with running_cluster(
        "moves",
        brokers=2,
        props={
            "zookeeper.session.timeout.ms": "6000",
            "alter.log.dirs.replication.quota.window.num": "2",
            "replica.fetch.backoff.ms": "100",
            "log.segment.delete.delay.ms": "100",
        },
        broker_props={MOVING: {"log.dirs": ",".join(str(tmp_path / name) for name in "abc")}},
    ) as cluster:
        made = Stage(cluster)
        made.create()
        yield made


def test_moves_under_load_with_kills_lose_nothing(stage: Stage) -> None:
    a, b, c = stage.dirs
    stage.order(a)
    wait_for(lambda: len(stage.settled(a)) == len(PLACES), "all begin in the first dir")
    writer = Writer(stage.servers)
    writer.until_more(2000)
    for target, kills in ((b, 0), (c, 2), (a, 1)):
        stage.throttle(200_000 if kills else 1_000_000_000)
        stage.order(target)
        if kills:
            wait_for(lambda target=target: stage.copied(target) > 300_000, "some is copied")  # type: ignore[misc]
            stage.kill_and_start()
            stage.throttle(1_000_000_000)
        if kills > 1:
            wait_for(lambda target=target: stage.settled(target), "one has moved")  # type: ignore[misc]
            stage.kill_and_start()
        wait_for(
            lambda target=target: len(stage.settled(target)) == len(PLACES),  # type: ignore[misc]
            lambda target=target: f"all are in {target}: {stage.settled(target)}",  # type: ignore[misc]
        )
        writer.until_more(300)
    writer.stop()
    assert writer.failed == []
    for (topic, partition), acked in writer.acked.items():
        stored = read(stage.servers, topic, partition)
        known = stage.admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
        leader = known[partition].leader  # the broker from which `read` has read
        replica = stage.cluster.replica(leader, topic, partition)
        assert without_copies_sent_anew(stored, replica) == acked, f"{topic}-{partition}"
    assert "Traceback" not in stage.cluster.log_text(MOVING)
