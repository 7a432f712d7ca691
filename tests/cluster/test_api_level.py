"""A real cluster that offers Kafka 2.0 to its clients (`cluster up --api-level 2.0`).

Its brokers may speak newer versions among themselves.
"""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("protocol", ["2.8", "2.0"])
def test_a_cluster_of_level_2_0_serves_elects_and_stops(protocol: str, tmp_path: Path) -> None:
    props = {
        "edu.api.level": "2.0",
        "inter.broker.protocol.version": protocol,
        "min.insync.replicas": "2",
    }
    with running_cluster("level", props=props, home=tmp_path) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([NewTopic("t", 1, 3)])["t"].result(PATIENCE_S)
        produce(cluster, "first")
        leader = admin.list_topics("t", PATIENCE_S).topics["t"].partitions[0].leader
        cluster.kill(leader)
        produce(cluster, "second")
        cluster.start(leader)
        wait_for(
            lambda: len(admin.list_topics("t", PATIENCE_S).topics["t"].partitions[0].isrs) == 3,
            "three replicas in the ISR",
        )
        leader = admin.list_topics("t", PATIENCE_S).topics["t"].partitions[0].leader
        cluster.stop(leader)
        assert "the controlled shutdown did not succeed" not in cluster.log_text(leader)
        produce(cluster, "third")
        cluster.start(leader)
        assert consume(cluster, 3) == [b"first", b"second", b"third"]


def produce(cluster: Cluster, value: str) -> None:
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "acks": "all",
            "delivery.timeout.ms": 60_000,
        }
    )
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    producer.produce("t", value, on_delivery=delivered)
    assert producer.flush(PATIENCE_S) == 0
    assert failed == []


def consume(cluster: Cluster, count: int) -> list[bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "g",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["t"])
    try:
        messages = consumer.consume(count, PATIENCE_S)
    finally:
        consumer.close()
    return [message.value() or b"" for message in messages]
