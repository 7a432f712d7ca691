"""Write a generated web log to a topic, and count its records.

The lines are written with confluent-kafka, because logs can have millions of lines. confluent-kafka
uses the C library librdkafka, and writes several times as many lines a second as our producer.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from confluent_kafka import KafkaError, Message, Producer

from kafka_edu.clients import blocking
from kafka_edu.clients.admin import BootstrapAddressError, parse_addresses
from kafka_edu.clients.client_errors import ClientException
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
    """Check that a broker answers. Raises TopicNotFilled if no broker answers."""
    brokers_up(bootstrap_servers)


def brokers_up(bootstrap_servers: str) -> int:
    """Return the number of brokers in the cluster. Raises TopicNotFilled if no broker answers."""
    try:
        parse_addresses(bootstrap_servers)
    except BootstrapAddressError as error:
        raise TopicNotFilled(f"{error}. An address is HOST:PORT, and commas part them.") from error
    try:
        with blocking.Admin({"bootstrap.servers": bootstrap_servers}) as admin:
            return len(admin.describe_cluster(timeout_ms=ANSWER_S * 1000).nodes)
    except ClientException as error:
        raise TopicNotFilled(
            f"no broker answers at {bootstrap_servers} within {ANSWER_S:.0f} s."
            " Is the cluster up, and is this its address?"
        ) from error


def records_in_topic(bootstrap_servers: str, topic: str) -> int:
    """Return the number of records in a topic. Raises TopicNotFilled if it cannot be read."""
    with topic_reader(bootstrap_servers, topic) as consumer:
        partitions = consumer.partitions_for(topic)
        begins = consumer.beginning_offsets(partitions)
        return sum(consumer.end_offsets(partitions).values()) - sum(begins.values())


@contextmanager
def topic_reader(
    bootstrap_servers: str, topic: str, isolation_level: str = "read_uncommitted"
) -> Iterator[blocking.Consumer]:
    """Yield a consumer without a group. Raises TopicNotFilled if the code in the `with` block
    cannot read the topic.

    A partition of a new topic may have no leader for a moment. The consumer waits for it.
    """
    settings = {
        "bootstrap.servers": bootstrap_servers,
        "isolation.level": isolation_level,
        "allow.auto.create.topics": False,
        "default.api.timeout.ms": int(TIMEOUT_S * 1000),
    }
    try:
        with blocking.Consumer(settings) as consumer:
            yield consumer
    except ClientException as error:
        raise TopicNotFilled(f"topic {topic} could not be read: {error.message}") from error


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
