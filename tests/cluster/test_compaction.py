"""A compacted topic on real brokers that are killed during the compaction: the last value of each
key is kept.
"""

import random
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.compacted_topic import clean_up_to, read
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster

TOPIC = "state"
KEYS = 30
CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": "15000",
    "min.cleanable.dirty.ratio": "0.01",
    "min.insync.replicas": "1",
}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running_cluster(brokers=2, props={"log.cleaner.backoff.ms": "50"}) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        for made in admin.create_topics([NewTopic(TOPIC, 1, 2, config=CONFIG)]).values():
            made.result(PATIENCE_S)
        yield cluster


def bases(cluster: Cluster, broker: int) -> list[int]:
    return sorted(int(path.stem) for path in cluster.replica(broker, TOPIC, 0).glob("*.log"))


def is_clean(cluster: Cluster, broker: int) -> bool:
    """Return whether only the active segment is dirty. A follower that copied a clean log may have
    only the active segment. A follower that has just begun its log again may have no segment for a
    moment.
    """
    found = bases(cluster, broker)
    if not found:
        return False
    active = found[-1]
    (log_dir,) = cluster.log_dirs(broker)
    return clean_up_to(log_dir, TOPIC) == active or active == 0


def unfinished(cluster: Cluster, broker: int) -> list[str]:
    """Return the files of a compaction that is not finished. Followers compact their logs too."""
    names = [path.name for path in cluster.replica(broker, TOPIC, 0).iterdir()]
    return [name for name in names if name.endswith((".cleaned", ".swap"))]


def test_kills_in_the_middle_lose_no_last_value(cluster: Cluster) -> None:
    chance = random.Random(3)
    last: dict[bytes, tuple[int, bytes | None]] = {}
    sender = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "acks": "all",
            "batch.num.messages": 20,  # a batch is smaller than a segment
            "enable.idempotence": True,
            "log_level": 0,
        }
    )

    def acked(error: object, message: object) -> None:
        assert error is None, error
        key, value = message.key(), message.value()  # type: ignore[attr-defined]
        last[key] = (message.offset(), value)  # type: ignore[attr-defined]

    for round_ in range(3):
        for number in range(600):
            key = b"key-%d" % chance.randrange(KEYS)
            value = None if chance.random() < 0.05 else b"%d-%d " % (round_, number) * 20
            sender.produce(TOPIC, value, key, partition=0, on_delivery=acked)
            if number == 300:
                cluster.kill(round_ % 2)
        assert sender.flush(PATIENCE_S) == 0
        cluster.start(round_ % 2)
        wait_for(lambda: all(is_clean(cluster, broker) for broker in (0, 1)), "both are clean")
        rows = read(cluster.bootstrap_servers, TOPIC)
        assert [offset for offset, _, _ in rows] == sorted({offset for offset, _, _ in rows})
        found = {key: (offset, value) for offset, key, value in rows}
        assert {key: found.get(key) for key in last} == last
        first_of_active = min(bases(cluster, broker)[-1] for broker in (0, 1))
        below = [key for offset, key, _ in rows if offset < first_of_active]
        assert len(below) == len(set(below)), "below the active segment each key is there once"
    wait_for(lambda: not any(unfinished(cluster, broker) for broker in (0, 1)), "nothing is left")
