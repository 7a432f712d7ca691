"""Read the records of a compacted topic with a consumer, and find out how far a broker has cleaned
the topic.
"""

from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.topic_partition import TopicPartition as Ours
from kafka_edu.log.offset_checkpoint_file import CLEANER_OFFSET_FILE, OffsetCheckpointFile
from tests.waiting import PATIENCE_S


class Row(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None


def read(servers: str, topic: str, isolation: str = "read_uncommitted") -> list[Row]:
    """Return all records of partition 0, from the beginning to the end."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"reader-{isolation}",
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    rows: list[Row] = []
    while True:
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        if message.error():
            break
        rows.append(Row(message.offset(), message.key(), message.value()))  # type: ignore[arg-type]
    consumer.close()
    return rows


def clean_up_to(log_dir: Path, topic: str) -> int:
    """Return the offset below which partition 0 is clean; -1 if it was never cleaned."""
    file = OffsetCheckpointFile(str(log_dir / CLEANER_OFFSET_FILE), OsFileSystem())
    return file.read().get(Ours(topic, 0), -1)
