"""The leader of a topic's only partition or of its first, and the records that are in it.

The demo and the jobs of chapter 10 ask for both.
"""

import json
from collections.abc import Callable
from contextlib import closing
from typing import Final

from confluent_kafka import Consumer, TopicPartition

from kafka_edu.cli.progress import Progress, wait_while_moving

PARTITION: Final = 0
PATIENCE_S: Final = 120
_LOOK_EVERY_S: Final = 0.1


def wait_for_leader(
    zookeeper_connect: str, topic: str, wanted: Callable[[int], bool], what: str
) -> int:
    """Wait until ZooKeeper names a leader that is wanted, and return it: brokers may stand still.

    Raises Standstill. Its message says that `what` was awaited.
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


def read_to_the_end(bootstrap_servers: str, topic: str) -> list[bytes]:
    """Return the values of all records that a consumer gets. Raises Standstill."""
    values: list[bytes] = []
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": "unused", "log_level": 0}
    )
    with closing(consumer):
        partition = TopicPartition(topic, PARTITION, 0)
        _, end = consumer.get_watermark_offsets(partition, timeout=PATIENCE_S)
        consumer.assign([partition])
        progress, offset = Progress(f"the records of {topic}-{PARTITION} to be read"), 0
        while offset < end:
            progress.note(offset)
            for message in consumer.consume(num_messages=500, timeout=0.5):
                if message.error() is None:
                    values.append(message.value() or b"")
                    offset = (message.offset() or 0) + 1
    return values
