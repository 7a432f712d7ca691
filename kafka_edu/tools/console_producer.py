"""Send each line of standard input as a record (Kafka: kafka-console-producer.sh).

It uses kafka-python's producer, whose requests lab 08-6 looks at. Records without a key go to the
partitions in turn, as with the default partitioner of Kafka 2.0. (Kafka: ConsoleProducer.scala)
"""

import io
import itertools
import random
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_edu.tools.options import (
    OptionError,
    OptionParser,
    OptionSet,
    Takes,
    UsageError,
    check_required,
    parse_key_values,
)
from kafka_edu.tools.tool import (
    ToolCommand,
    ToolError,
    java_class,
    log_error,
    properties_of,
    run_tool,
)

if TYPE_CHECKING:
    from kafka import KafkaProducer

PURPOSE: Final = "Read data from standard input and publish it to Kafka."
LINE_READER: Final = "kafka.tools.ConsoleProducer$LineMessageReader"
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_ERROR_LOGGER: Final = "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback"
_HOST_PORT: Final = re.compile(r".*?\[?([0-9a-zA-Z\-%._:]*)\]?:[0-9]+")


class ProducerOptions:
    """The tool's command-line options."""

    def __init__(self) -> None:
        self.parser = parser = OptionParser()
        self.topic = parser.text("topic", "REQUIRED: The topic to send to.", "topic")
        self.broker_list = parser.text(
            "broker-list",
            "REQUIRED, unless --bootstrap-server is given: HOST1:PORT1,HOST2:PORT2.",
            "broker-list",
        )
        self.bootstrap_server = parser.text(
            "bootstrap-server", "The same as --broker-list (from 2.5 on).", "server to connect to"
        )
        self.sync = parser.flag("sync", "Wait for each record's ack before the next is read.")
        self.codec = parser.text(
            "compression-codec",
            "none, gzip, snappy, lz4 or zstd; without a value it is gzip.",
            "compression-codec",
            takes=Takes.OPTIONAL,
        )
        self.batch_size = parser.integer(
            "batch-size", "Accepted, but without effect (as in 2.0).", "size", default=200
        )
        self.retries = parser.integer(
            "message-send-max-retries", "How many times a record is sent again.", default=3
        )
        self.retry_backoff = parser.integer(
            "retry-backoff-ms", "How long to wait before that, in ms.", default=100
        )
        self.timeout = parser.integer(
            "timeout",
            "How long a record may wait for others in its batch, in ms.",
            "timeout_ms",
            default=1000,
        )
        self.acks = parser.text(
            "request-required-acks", "0, 1, -1 or all.", "request required acks", default="1"
        )
        self.request_timeout = parser.integer(
            "request-timeout-ms", "How long a request may take.", "request timeout ms", default=1500
        )
        self.metadata_expiry = parser.long(
            "metadata-expiry-ms",
            "The age in ms at which metadata is read again.",
            "metadata expiration interval",
            default=300_000,
        )
        self.max_block = parser.long(
            "max-block-ms",
            "How long a send may wait for metadata.",
            "max block on send",
            default=60_000,
        )
        self.max_memory = parser.long(
            "max-memory-bytes",
            "Accepted, but without effect.",
            "total memory in bytes",
            default=32 * 1024 * 1024,
        )
        self.partition_memory = parser.long(
            "max-partition-memory-bytes",
            "The size of a batch.",
            "memory in bytes per partition",
            default=16 * 1024,
        )
        self.line_reader = parser.text(
            "line-reader",
            "The class that reads the lines. There is only one.",
            "reader_class",
            default=LINE_READER,
        )
        self.socket_buffer = parser.integer(
            "socket-buffer-size", "The socket's send buffer.", "size", default=1024 * 100
        )
        self.property = parser.text(
            "property",
            "For the reader, key=value: parse.key=true|false, key.separator=<tab>,"
            " ignore.error=true|false.",
            "prop",
        )
        self.producer_property = parser.text(
            "producer-property", "For the producer, key=value.", "producer_prop"
        )
        self.producer_config = parser.text(
            "producer.config",
            "A file of the producer's properties; --producer-property overrides it.",
            "config file",
        )

    def check(self, given: OptionSet, words: Sequence[str]) -> str:
        """Check the command line and return the brokers' addresses. Raises UsageError."""
        if not words:
            raise UsageError(PURPOSE)
        check_required(given, self.topic)
        if not given.has(self.bootstrap_server):
            check_required(given, self.broker_list)
        servers = given.value(self.bootstrap_server) or given.one(self.broker_list)
        if not all(_HOST_PORT.fullmatch(server) for server in servers.split(",")):
            raise UsageError("Please provide valid host:port like host1:9091,host2:9092\n ")
        return servers


class Line(NamedTuple):
    """A record to send."""

    key: bytes | None
    value: bytes


class LineMessageReader:
    """Makes a record of each line. It prints the prompt `>`, like Kafka's tool, even to a pipe."""

    def __init__(self, properties: dict[str, str]) -> None:
        self._parse_key = _is_true(properties.get("parse.key"))
        self._separator = properties.get("key.separator", "\t")
        self._ignore_error = _is_true(properties.get("ignore.error"))

    def read(self, lines: Iterator[str]) -> Iterator[Line]:
        """Yield a record for each line. Raises ToolError for a line without a required key."""
        for number in itertools.count(1):
            sys.stdout.write(">")
            sys.stdout.flush()
            line = next(lines, None)
            if line is None:
                return
            yield self._record(number, line.removesuffix("\n"))

    def _record(self, number: int, line: str) -> Line:
        if not self._parse_key:
            return Line(None, line.encode())
        key, separator, value = line.partition(self._separator)
        if separator:
            return Line(key.encode(), value.encode())
        if self._ignore_error:
            return Line(None, line.encode())
        raise ToolError(
            "org.apache.kafka.common.KafkaException", f"No key found on line {number}: {line}"
        )


def _is_true(text: str | None) -> bool:
    return text is not None and text.strip().lower() == "true"


def _settings(o: ProducerOptions, given: OptionSet, servers: str) -> dict[str, object]:
    """Return the settings of the client. Raises ToolError.

    The tool's options override the user's properties, as in Kafka.
    """
    from kafka import KafkaProducer

    from kafka_edu.tools.java_clients import acks, client_settings

    properties = properties_of(given, o.producer_config) | parse_key_values(
        given.values(o.producer_property)
    )
    settings = client_settings(
        properties, KafkaProducer.DEFAULT_CONFIG, "org.apache.kafka.clients.producer.ProducerConfig"
    )
    codec = (given.value(o.codec) or "gzip") if given.has(o.codec) else "none"
    if codec not in CODECS:
        raise ToolError(
            "org.apache.kafka.common.KafkaException", "Failed to construct kafka producer"
        )
    retries, request_timeout_ms, linger_ms = (
        given.one(o.retries),
        given.one(o.request_timeout),
        given.one(o.timeout),
    )
    return {
        "enable_idempotence": False,
        # Kafka 2.0 has no delivery.timeout.ms. A record's time is the time of all its attempts
        # together.
        "delivery_timeout_ms": (
            linger_ms + (retries + 1) * request_timeout_ms + retries * given.one(o.retry_backoff)
        ),
        **settings,
        "bootstrap_servers": servers.split(","),
        "compression_type": None if codec == "none" else codec,
        "send_buffer_bytes": given.one(o.socket_buffer),
        "retry_backoff_ms": given.one(o.retry_backoff),
        "metadata_max_age_ms": given.one(o.metadata_expiry),
        "max_block_ms": given.one(o.max_block),
        "acks": acks(given.one(o.acks)),
        "request_timeout_ms": request_timeout_ms,
        "retries": retries,
        "linger_ms": linger_ms,
        "batch_size": given.one(o.partition_memory),
        "client_id": "console-producer",
    }


class LineSender:
    """Sends records to one topic (Kafka: DefaultPartitioner of 2.0).

    A record with a key goes to the partition that the key's hash selects. Other records go to the
    partitions in turn.
    """

    def __init__(self, producer: "KafkaProducer", topic: str, *, sync: bool) -> None:
        self._producer = producer
        self._topic = topic
        self._sync = sync
        self._turn = random.randrange(1 << 16)

    def send(self, line: Line) -> None:
        """Send a record.

        In synchronous mode, a failure raises ToolError. Otherwise the failure is logged, and the
        next record may be sent.
        """
        from kafka.errors import KafkaError

        from kafka_edu.tools.java_clients import java_error

        try:
            sent = self._producer.send(
                self._topic,
                key=line.key,
                value=line.value,
                partition=self._next_partition() if line.key is None else None,
            )
            if self._sync:
                sent.get()
            else:
                sent.add_errback(self._failed, line)
        except ValueError as error:  # an illegal topic name
            raise ToolError(
                "org.apache.kafka.common.errors.InvalidTopicException", str(error)
            ) from error
        except KafkaError as error:
            if self._sync:
                raise ToolError(
                    "java.util.concurrent.ExecutionException", java_error(error)
                ) from error
            self._failed(line, error)

    def _next_partition(self) -> int:
        partitions = sorted(self._producer.partitions_for(self._topic))
        self._turn += 1
        return int(partitions[self._turn % len(partitions)])

    def _failed(self, line: Line, error: Exception) -> None:
        from kafka_edu.tools.java_clients import java_error

        key = "null" if line.key is None else f"{len(line.key)} bytes"
        log_error(
            f"Error when sending message to topic {self._topic} with key: {key}, value:"
            f" {len(line.value)} bytes with error:",
            _ERROR_LOGGER,
        )
        sys.stderr.write(f"{java_error(error)}\n")


def produce(o: ProducerOptions, given: OptionSet, servers: str) -> None:
    """Send all lines of standard input.

    All accepted records are sent before it returns or raises.
    """
    from kafka import KafkaProducer
    from kafka.errors import KafkaError

    from kafka_edu.tools.java_clients import log_like_java

    if given.one(o.line_reader) != LINE_READER:
        raise ToolError("java.lang.ClassNotFoundException", given.one(o.line_reader))
    reader = LineMessageReader(parse_key_values(given.values(o.property)))
    settings = _settings(o, given, servers)
    log_like_java()
    try:
        producer = KafkaProducer(**settings)
    except (KafkaError, ValueError, RuntimeError, AssertionError) as error:
        raise ToolError(
            "org.apache.kafka.common.KafkaException", f"Failed to construct kafka producer: {error}"
        ) from error
    lines = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace")
    sender = LineSender(producer, given.one(o.topic), sync=given.has(o.sync))
    try:
        for line in reader.read(lines):
            sender.send(line)
    finally:
        producer.close()


def main(words: Sequence[str]) -> int:
    """Run the tool. Return 1 for wrong options or a line without its required key, else 0."""
    options = ProducerOptions()

    def run() -> int:
        try:
            given = options.parser.parse(words)
            produce(options, given, options.check(given, words))
        except OptionError as wrong:
            sys.stderr.write(f"{wrong}\n")
        except (ToolError, OSError) as failed:
            sys.stderr.write(f"{java_class(failed)}: {failed}\n")
        else:
            return 0
        return 1

    return run_tool(options.parser, words, run, PURPOSE)


console_producer = ToolCommand("console-producer", main, PURPOSE)
