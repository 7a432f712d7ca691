"""An unmodified consumer (confluent-kafka) of a live part. A thread polls it all the time."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import confluent_kafka
from confluent_kafka import Consumer

from kafka_edu.common.topic_partition import TopicPartition

_POLL_S: Final = 0.2


class UnmodifiedConsumer:
    """A consumer that is not ours, as a member of a group."""

    def __init__(self, config: Mapping[str, object], topics: Sequence[str]) -> None:
        self._consumer = Consumer({"log_level": 0, **config})
        self.partitions: frozenset[TopicPartition] = frozenset()
        """The partitions that the consumer has now."""
        self.read: list[tuple[TopicPartition, int]] = []
        """The place of each record that the consumer has read."""
        self._consumer.subscribe(list(topics), on_assign=self._take, on_revoke=self._give_up)
        self._ended = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._poll, name="unmodified", daemon=True)
        self._thread.start()

    def _take(self, _: Consumer, partitions: Sequence[confluent_kafka.TopicPartition]) -> None:
        self.partitions |= {TopicPartition(one.topic, one.partition) for one in partitions}

    def _give_up(self, _: Consumer, partitions: Sequence[confluent_kafka.TopicPartition]) -> None:
        self.partitions -= {TopicPartition(one.topic, one.partition) for one in partitions}

    def _poll(self) -> None:
        while not self._ended.is_set():
            message = self._consumer.poll(_POLL_S)
            if message is not None and message.error() is None:
                partition = TopicPartition(message.topic() or "", message.partition() or 0)
                self.read.append((partition, message.offset() or 0))

    def rest(self) -> None:
        """Stop polling, but stay in the group."""
        self._ended.set()
        self._thread.join()

    def close(self) -> None:
        """Leave the group. A second call does nothing."""
        self.rest()
        if not self._closed:
            self._closed = True
            self._consumer.close()


@contextmanager
def unmodified_consumer(
    config: Mapping[str, object], topics: Sequence[str]
) -> Iterator[UnmodifiedConsumer]:
    """Run an unmodified consumer for the length of a `with` block."""
    consumer = UnmodifiedConsumer(config, topics)
    try:
        yield consumer
    finally:
        consumer.close()
