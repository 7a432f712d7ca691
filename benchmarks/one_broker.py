"""Run one kafka-edu broker or one of Apache Kafka. Both have the same interface.

Each broker has its own ZooKeeper.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types

from kafka_edu.cli.progress import wait_while_moving
from kafka_edu.supervisor.child_process import rss_anon
from kafka_edu.supervisor.cluster import running_cluster

from .apache_kafka import apache_kafka

OURS: Final = "ours"
APACHE: Final = "Apache Kafka 2.8.2"
PATIENCE_S: Final = 300.0
_LOOK_EVERY_S: Final = 0.02


class Broker(NamedTuple):
    """A single broker with id 0: its addresses, and functions to start, kill and stop it."""

    name: str
    zookeeper: str
    bootstrap: str
    pid: Callable[[], int]
    """Function that returns the id of the broker's process while it runs."""
    start: Callable[[], object]
    """Function that starts the broker, and returns at once."""
    kill: Callable[[], object]
    stop: Callable[[], object]


@contextlib.contextmanager
def ours(properties: Mapping[str, str]) -> Iterator[Broker]:
    """Run a kafka-edu broker. Raises ClusterError."""
    with running_cluster("bench", brokers=1, props=properties) as cluster:
        yield Broker(
            OURS,
            cluster.zookeeper_connect,
            cluster.bootstrap_servers,
            pid=partial(cluster.pid, 0),
            start=partial(cluster.start, 0, wait=False),
            kill=partial(cluster.kill, 0),
            stop=partial(cluster.stop, 0),
        )


@contextlib.contextmanager
def apache(jars: Path, properties: Mapping[str, str]) -> Iterator[Broker]:
    """Run a broker of Apache Kafka. Raises PeerMissing."""
    lines = [f"{key}={value}" for key, value in properties.items()]
    with apache_kafka(jars, 1, lines) as kafka:
        yield Broker(
            APACHE,
            kafka.zookeeper,
            kafka.bootstrap,
            pid=partial(kafka.pid, 0),
            start=partial(kafka.start, 0),
            kill=partial(kafka.kill, 0),
            stop=partial(kafka.stop, 0),
        )


def create_topic(broker: Broker, topic: str, partitions: int, config: Mapping[str, str]) -> None:
    """Create a topic with RF 1, and wait until each partition has a leader.

    Raises KafkaException and Standstill.
    """
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    new = NewTopic(topic, partitions, 1, config=dict(config))
    for created in admin.create_topics([new], operation_timeout=PATIENCE_S).values():
        created.result(PATIENCE_S)

    def led() -> int:
        found = admin.list_topics(timeout=PATIENCE_S).topics.get(topic)
        return sum(p.leader >= 0 for p in found.partitions.values()) if found else 0

    _wait(led, partitions, f"the partitions of {topic} to have leaders")


def wait_until_unregistered(broker: Broker) -> None:
    """Wait until ZooKeeper has expired the session of a broker that was killed.

    Raises Standstill.
    """
    client = KazooClient(broker.zookeeper)
    client.start()
    try:
        _wait(
            lambda: client.exists("/brokers/ids/0") is None,
            True,
            "the session of the killed broker to expire",
        )
    finally:
        client.stop()
        client.close()


def wait_until_served(broker: Broker, topic: str, end_offset: int) -> None:
    """Wait until the broker says that partition 0 ends at `end_offset`. Raises Standstill."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "bench",
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 20,
            "log_level": 0,
        }
    )

    def last_offset() -> int:
        try:
            return consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=0.5)[1]
        except KafkaException:  # it does not serve yet
            return -1

    try:
        _wait(last_offset, end_offset, f"{topic} to end at {end_offset}")
    finally:
        consumer.close()


def _wait(look: Callable[[], int], wanted: int, what: str) -> None:
    wait_while_moving(look, lambda seen: seen == wanted, what, _LOOK_EVERY_S)


def bytes_read(pid: int) -> int:
    """Return how many bytes the process has read by system calls, from page cache or disk.

    Raises OSError if /proc does not have this number.
    """
    for line in Path(f"/proc/{pid}/io").read_text(encoding="utf-8").splitlines():
        if line.startswith("rchar:"):
            return int(line.split()[1])
    raise OSError(f"/proc/{pid}/io has no rchar")


def memory(broker: Broker) -> int:
    """Return the anonymous resident memory of the broker, in bytes. Raises OSError."""
    pid = broker.pid()
    found = rss_anon(pid)
    if found is None:
        raise OSError(f"/proc/{pid}/status has no RssAnon")
    return found


def open_files(broker: Broker) -> int:
    """Return how many file descriptors the broker has open. Raises OSError."""
    return sum(1 for _ in Path(f"/proc/{broker.pid()}/fd").iterdir())
