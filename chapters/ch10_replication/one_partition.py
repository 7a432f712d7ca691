"""Find the leader, the end and the records of partition 0 of a topic.

The demos and the jobs of chapter 10 use these functions.

They read with confluent-kafka, because our own consumer must not judge our own brokers.
"""

import json
from collections.abc import Callable
from contextlib import closing
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from kafka_edu.cli.progress import Progress, wait_while_moving

PARTITION: Final = 0
PATIENCE_S: Final = 120
_LOOK_EVERY_S: Final = 0.1
_NOT_YET: Final = {
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
}
"""Errors that a client gets as long as its broker does not know the partition's leader."""


def wait_for_leader(
    zookeeper_connect: str, topic: str, wanted: Callable[[int], bool], what: str
) -> int:
    """Wait until ZooKeeper names a leader for which `wanted` is true, and return its broker id.

    The function asks ZooKeeper and not a broker, because the brokers may be paused. Raises
    Standstill with `what` in its message: a text that names the expected change.
    """
    from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types

    path = f"/brokers/topics/{topic}/partitions/{PARTITION}/state"
    zookeeper = KazooClient(zookeeper_connect)
    zookeeper.start()

    def leader() -> int:
        return int(json.loads(zookeeper.get(path)[0])["leader"])

    try:
        return wait_while_moving(leader, wanted, what, _LOOK_EVERY_S)
    finally:
        zookeeper.stop()
        zookeeper.close()


def log_end_offset(consumer: Consumer, topic: str) -> int:
    """Return the partition's end offset, as soon as a broker knows it.

    Raises Standstill if no broker learns the offset, and KafkaException for any other error.
    """

    def look() -> int:
        try:
            return consumer.get_watermark_offsets(TopicPartition(topic, PARTITION), timeout=5)[1]
        except KafkaException as error:
            if error.args[0].code() not in _NOT_YET:
                raise
            return -1

    return wait_while_moving(
        look, lambda end: end >= 0, f"the end of {topic}-{PARTITION}", _LOOK_EVERY_S
    )


def read_to_the_end(bootstrap_servers: str, topic: str) -> list[bytes]:
    """Return the values of all records in the partition, as a consumer gets them.

    Raises Standstill.
    """
    values: list[bytes] = []
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": "unused", "log_level": 0}
    )
    with closing(consumer):
        end = log_end_offset(consumer, topic)
        consumer.assign([TopicPartition(topic, PARTITION, 0)])
        progress, offset = Progress(f"the records of {topic}-{PARTITION} to be read"), 0
        while offset < end:
            progress.note(offset)
            for message in consumer.consume(num_messages=500, timeout=0.5):
                if message.error() is None:
                    values.append(message.value() or b"")
                    offset = (message.offset() or 0) + 1
    return values
