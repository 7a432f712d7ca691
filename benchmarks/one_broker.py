"""One broker of ours and one of Apache Kafka, each with a ZooKeeper of its own, in one form."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types

from kafka_edu.supervisor.child_process import rss_anon
from kafka_edu.supervisor.cluster import running_cluster

from .apache_kafka import apache_kafka

OURS: Final = "ours"
APACHE: Final = "Apache Kafka 2.8.2"
PATIENCE_S: Final = 300.0
_LOOK_EVERY_S: Final = 0.02


class Broker(NamedTuple):
    """The broker with id 0 of one make, and what is done to it."""

    name: str
    zookeeper: str
    bootstrap: str
    pid: Callable[[], int]
    """Return the id of its process while it runs."""
    start: Callable[[], object]
    """Start it, and return at once."""
    kill: Callable[[], object]
    stop: Callable[[], object]


@contextlib.contextmanager
def ours(properties: Mapping[str, str]) -> Iterator[Broker]:
    """Run a broker of ours. Raises ClusterError."""
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
    """Create a topic with RF 1, and wait until each partition has a leader. Raises
    KafkaException and TimeoutError.
    """
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    new = NewTopic(topic, partitions, 1, config=dict(config))
    for created in admin.create_topics([new], operation_timeout=PATIENCE_S).values():
        created.result(PATIENCE_S)
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = admin.list_topics(timeout=PATIENCE_S).topics.get(topic)
        led = [p for p in found.partitions.values() if p.leader >= 0] if found else []
        if len(led) == partitions:
            return
        time.sleep(_LOOK_EVERY_S)
    raise TimeoutError(f"{topic} has no leaders after {PATIENCE_S:g} s")


def wait_until_unregistered(broker: Broker) -> None:
    """Wait until ZooKeeper has expired the session of a broker that was killed. Raises
    TimeoutError.
    """
    client = KazooClient(broker.zookeeper)
    client.start()
    try:
        end = time.monotonic() + PATIENCE_S
        while client.exists("/brokers/ids/0") is not None:
            if time.monotonic() > end:
                raise TimeoutError("the session of the killed broker does not expire")
            time.sleep(_LOOK_EVERY_S)
    finally:
        client.stop()
        client.close()


def wait_until_served(broker: Broker, topic: str, end_offset: int) -> None:
    """Wait until the broker says that partition 0 ends at `end_offset`. Raises TimeoutError."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "bench",
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 20,
            "log_level": 0,
        }
    )
    try:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            with contextlib.suppress(KafkaException):
                _, last = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=0.5)
                if last == end_offset:
                    return
            time.sleep(_LOOK_EVERY_S)
    finally:
        consumer.close()
    raise TimeoutError(f"{topic} does not end at {end_offset} after {PATIENCE_S:g} s")


def bytes_read(pid: int) -> int:
    """Return how many bytes the process has read by system calls, from the page cache or the disk.
    Raises OSError where /proc does not tell it.
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
