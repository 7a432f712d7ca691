"""Read what a learner's job has written to a topic."""

from typing import Final, NamedTuple

from kafka_edu.clients.blocking import Consumer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import ClusterError

PATIENCE_MS: Final = 120_000


class Written(NamedTuple):
    """A record that a job has written."""

    partition: int
    key: bytes | None
    value: bytes | None


class TopicReader:
    """Reads a topic from its beginning. Each call of `new` continues to the current end."""

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self._topic = topic
        self._next = {TopicPartition(topic, number): 0 for number in range(partitions)}
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "auto.offset.reset": "earliest",
                "default.api.timeout.ms": PATIENCE_MS,
            }
        )
        self._consumer.assign(self._next)

    def size(self) -> int:
        """Return how many records the topic has at this moment. Raises ClientException."""
        return sum(self._consumer.end_offsets(self._next).values())

    def new(self) -> list[Written]:
        """Return the records since the last call, in their order by partition.

        Raises ClusterError and ClientException.
        """
        ends = self._consumer.end_offsets(self._next)
        found = list[Written]()
        while any(self._next[tp] < end for tp, end in ends.items()):
            records = self._consumer.poll(PATIENCE_MS)
            if not records:
                raise ClusterError(f"topic {self._topic} could not be read to its end")
            for record in records:
                self._next[TopicPartition(record.topic, record.partition)] = record.offset + 1
                found.append(Written(record.partition, _bytes(record.key), _bytes(record.value)))
        return sorted(found, key=lambda one: one.partition)

    def close(self) -> None:
        """Close the connection to the brokers."""
        self._consumer.close()


def _bytes(value: object) -> bytes | None:
    return value if isinstance(value, bytes) else None
