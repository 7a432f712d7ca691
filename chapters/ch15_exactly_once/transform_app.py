"""Consume, transform and produce records with confluent-kafka, in transactions.

Usage: `python -m chapters.ch15_exactly_once.transform_app SERVERS INPUT OUTPUT NAME PAUSE_MS`.

Each input record becomes one output record, and the same transaction commits the input's offsets.
NAME is the group, the member and the transactional id. A transaction takes at least PAUSE_MS. Any
error ends the process. The next process continues after the last committed transaction. When it
initialises, the coordinator aborts the open transaction of the previous process.
`java/Transform.java` does the same with the Java client.

A transaction that takes longer than LONGEST_TRANSACTION_S also ends the process. The reason is a
fault of librdkafka 2.16: send_offsets_to_transaction waits for ever, whatever its time-out says,
once Metadata no longer lists the group's coordinator (confluentinc/librdkafka, issues 5456 and
5511).
"""

import contextlib
import faulthandler
import sys
import time
from collections.abc import Iterator
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.cimpl import Message, TopicPartition

TIMEOUT_S: Final = 60.0
TRANSACTION_TIMEOUT_S: Final = 20
"""The transaction time-out, in seconds. The coordinator then aborts the transaction."""
LONGEST_TRANSACTION_S: Final = 30.0
MOST_RECORDS: Final = 200


@contextlib.contextmanager
def ending_the_process_after(seconds: float) -> Iterator[None]:
    """End this process if the block takes longer than `seconds`.

    The process ends with a traceback on standard error and exit code 1, whatever the block waits
    for.
    """
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def transform(servers: str, topic_in: str, topic_out: str, name: str, pause_ms: int) -> None:
    """Run until the process is killed. Raises KafkaException when a client fails."""
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "transactional.id": name,
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_S * 1000,
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": name,
            "group.instance.id": name,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 10_000,
            "log_level": 0,
        }
    )
    producer.init_transactions(TIMEOUT_S)
    consumer.subscribe([topic_in])
    while True:
        came = consumer.consume(MOST_RECORDS, 0.2)
        for message in came:
            if (error := message.error()) is not None and error.code() == KafkaError._FATAL:
                raise KafkaException(
                    error
                )  # this consumer returns no more records: another must replace it
        messages = [message for message in came if message.error() is None]
        if messages:
            with ending_the_process_after(LONGEST_TRANSACTION_S + pause_ms / 1000):
                _one_transaction(producer, consumer, messages, topic_out, pause_ms)


def _one_transaction(
    producer: Producer, consumer: Consumer, messages: list[Message], topic_out: str, pause_ms: int
) -> None:
    producer.begin_transaction()
    ends: dict[tuple[str, int], int] = {}
    for message in messages:
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None
        assert partition is not None
        assert offset is not None
        producer.produce(topic_out, message.value(), message.key(), partition=partition)
        ends[topic, partition] = offset + 1
    producer.flush(TIMEOUT_S)
    time.sleep(pause_ms / 1000)
    offsets = [
        TopicPartition(topic, partition, offset) for (topic, partition), offset in ends.items()
    ]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), TIMEOUT_S)
    producer.commit_transaction(TIMEOUT_S)


if __name__ == "__main__":
    try:
        _, servers, topic_in, topic_out, name, pause_ms = sys.argv
        transform(servers, topic_in, topic_out, name, int(pause_ms))
    except KafkaException as failure:
        sys.exit(str(failure))
