"""Write a generated web log to a topic, with the standard producer of confluent-kafka."""

from collections.abc import Iterable
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_edu.clients.admin import BootstrapAddressError
from kafka_edu.clients.admin.brokers import parse_addresses
from kafka_edu.clients.web_log.generator import LogGenerator, LogSettings
from kafka_edu.clients.web_log.records import LogRecord, records
from kafka_edu.clients.web_log.truth import LogTruth
from kafka_edu.spark.web_log_topic import TopicNotFilled

TIMEOUT_S: Final = 30.0
FLUSH_S: Final = 120.0
ANSWER_S: Final = 10.0
QUIET: Final = {"log_level": 0}
"""Settings that stop librdkafka's own log lines. Errors are reported only in the messages of this
module.
"""


def require_brokers(bootstrap_servers: str) -> None:
    """Check that a broker answers. Raises TopicNotFilled if none does."""
    brokers_up(bootstrap_servers)


def brokers_up(bootstrap_servers: str) -> int:
    """Return the number of brokers in the cluster. Raises TopicNotFilled if none answers."""
    try:
        parse_addresses(bootstrap_servers)
    except BootstrapAddressError as error:
        raise TopicNotFilled(f"{error}. An address is HOST:PORT, and commas part them.") from error
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, **QUIET})
    try:
        return len(admin.list_topics(timeout=ANSWER_S).brokers)
    except KafkaException as error:
        raise TopicNotFilled(
            f"no broker answers at {bootstrap_servers} within {ANSWER_S:.0f} s."
            " Is the cluster up, and is this its address?"
        ) from error


def records_in_topic(bootstrap_servers: str, topic: str) -> int:
    """Return the number of records in a topic. Raises TopicNotFilled if it cannot be read."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": "kafka-edu-counts", **QUIET}
    )
    try:
        found = consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions
        ends = [
            consumer.get_watermark_offsets(TopicPartition(topic, one), timeout=TIMEOUT_S)
            for one in found
        ]
        return sum(high - low for low, high in filter(None, ends))
    except KafkaException as error:
        raise TopicNotFilled(f"topic {topic} could not be read: {error.args[0]}") from error
    finally:
        consumer.close()


class TopicWriter:
    """Sends records to a topic with acks=all. After the first refused record, every call fails."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._topic = topic
        self._failed = ""
        self.ends: dict[int, int] = {}
        """Partition → the offset after its last acknowledged record."""
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "acks": "all",
                "enable.idempotence": True,  # a retry does not write a line twice
                "linger.ms": 20,
                "batch.num.messages": 10_000,
                "queue.buffering.max.messages": 200_000,
                "compression.type": "lz4",
                **QUIET,
            }
        )

    def send(self, batch: Iterable[LogRecord]) -> None:
        """Send records. Return when all are in the producer's buffer. Raises TopicNotFilled if a
        record was refused.
        """
        produce, poll = self._producer.produce, self._producer.poll
        for value, key, timestamp_ms in batch:
            while True:
                try:
                    produce(
                        self._topic,
                        value,
                        key,
                        timestamp=timestamp_ms,
                        on_delivery=self._delivered,
                    )
                    break
                except BufferError:  # the producer's buffer is full: wait until it has sent
                    poll(0.1)
                    self._raise_if_failed()
        poll(0)
        self._raise_if_failed()

    def flush(self) -> None:
        """Wait until every record is acknowledged. Raises TopicNotFilled if a record was
        refused.
        """
        left = self._producer.flush(FLUSH_S)
        self._raise_if_failed()
        if left:
            raise TopicNotFilled(
                f"{left:,} lines were not acknowledged within {FLUSH_S:.0f} s: are all brokers up?"
            )

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        if error is None and partition is not None and offset is not None:
            self.ends[partition] = offset + 1
        elif error is not None and not self._failed:
            self._failed = f"{message.topic()}-{message.partition()} refused a line: {error.str()}"

    def _raise_if_failed(self) -> None:
        if self._failed:
            raise TopicNotFilled(self._failed)


def fill_topic(bootstrap_servers: str, topic: str, lines: int, seed: int) -> LogTruth:
    """Write a log of `lines` lines with acks=all. It has no bad lines. Return the correct counts of
    its lines.

    Raises TopicNotFilled if a line was not acknowledged.
    """
    generator = LogGenerator(LogSettings(seed, has_bad_lines=False))
    writer = TopicWriter(bootstrap_servers, topic)
    while (left := lines - generator.truth.lines) > 0:
        block = generator.next_block(left)
        writer.send(records(block, generator.text.lines(block)))
    writer.flush()
    return generator.truth
