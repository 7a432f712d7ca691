"""Read what a learner's job has written to a topic."""

from typing import Final, NamedTuple

from confluent_kafka import Consumer, TopicPartition

from kafka_edu.supervisor.cluster import ClusterError

PATIENCE_S: Final = 120.0


class Written(NamedTuple):
    """A record that a job has written."""

    partition: int
    key: bytes | None
    value: bytes | None


class TopicReader:
    """Reads a topic from its begin. Each call of `new` reads on up to the present end."""

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self._topic = topic
        self._next = dict.fromkeys(range(partitions), 0)
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "kafka-edu-lab",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, number, 0) for number in self._next])

    def size(self) -> int:
        """Return how many records the topic has at this moment. Raises KafkaException."""
        return sum(self._end(number) for number in self._next)

    def _end(self, partition: int) -> int:
        _, end = self._consumer.get_watermark_offsets(
            TopicPartition(self._topic, partition), timeout=PATIENCE_S
        )
        return int(end)

    def new(self) -> list[Written]:
        """Return the records since the last call, in their order by partition.

        Raises ClusterError and KafkaException.
        """
        ends = {number: self._end(number) for number in self._next}
        found = list[Written]()
        while any(self._next[number] < end for number, end in ends.items()):
            record = self._consumer.poll(PATIENCE_S)
            if record is None:
                raise ClusterError(f"topic {self._topic} could not be read to its end")
            if (error := record.error()) is not None:
                raise ClusterError(f"topic {self._topic} could not be read: {error}")
            partition, offset = record.partition() or 0, record.offset() or 0
            self._next[partition] = offset + 1
            found.append(Written(partition, _bytes(record.key()), _bytes(record.value())))
        return sorted(found, key=lambda one: one.partition)

    def close(self) -> None:
        """Close the connection to the brokers."""
        self._consumer.close()


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
