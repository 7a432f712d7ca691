"""Send each line of standard input as a record (Kafka: kafka-console-producer.sh).

The tool uses our own producer. Records without a key go to the partitions in turn, as with the
default partitioner of Kafka 2.0. (Kafka: ConsoleProducer.scala)
"""

import itertools
import random
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_edu.common.interruptible_input import typed_lines
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
    from kafka_edu.clients.blocking.producer import Producer
    from kafka_edu.clients.producer.partitioners import Partitioner
    from kafka_edu.clients.producer.producer_batch import Callback, RecordMetadata
    from kafka_edu.common.errors import KafkaException

PURPOSE: Final = "Read data from standard input and publish it to Kafka."
LINE_READER: Final = "kafka.tools.ConsoleProducer$LineMessageReader"
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
CLOSE_AFTER_CTRL_C_S: Final = 10
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
            "The memory for records that wait to be sent.",
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
            "socket-buffer-size",
            "Accepted, but without effect: the system chooses the size.",
            "size",
            default=1024 * 100,
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
    """Return the settings of the producer. Raises ToolError.

    An option on the command line overrides the user's properties. The properties override the
    defaults of the options, as in Kafka 2.8.
    """
    from kafka_edu.clients.producer.producer_config import PRODUCER_CONFIG, parse_producer_config
    from kafka_edu.common.config_def import MAX_INT, ConfigException
    from kafka_edu.tools.client_settings import known_settings, wrong_setting

    codec = (given.value(o.codec) or "gzip") if given.has(o.codec) else "none"
    if codec not in CODECS:
        raise ToolError(
            "org.apache.kafka.common.KafkaException", "Failed to construct kafka producer"
        )
    of_options: dict[str, tuple[bool, object]] = {
        "acks": (given.has(o.acks), given.one(o.acks)),
        "batch.size": (given.has(o.partition_memory), given.one(o.partition_memory)),
        "buffer.memory": (given.has(o.max_memory), given.one(o.max_memory)),
        "compression.type": (given.has(o.codec), codec),
        "linger.ms": (given.has(o.timeout), given.one(o.timeout)),
        "max.block.ms": (given.has(o.max_block), given.one(o.max_block)),
        "metadata.max.age.ms": (given.has(o.metadata_expiry), given.one(o.metadata_expiry)),
        "request.timeout.ms": (given.has(o.request_timeout), given.one(o.request_timeout)),
        "retries": (given.has(o.retries), given.one(o.retries)),
        "retry.backoff.ms": (given.has(o.retry_backoff), given.one(o.retry_backoff)),
    }
    properties = known_settings(
        properties_of(given, o.producer_config)
        | parse_key_values(given.values(o.producer_property)),
        [*PRODUCER_CONFIG.keys, "partitioner.class"],
        "org.apache.kafka.clients.producer.ProducerConfig",
    )
    settings = {
        "client.id": "console-producer",
        **{key: value for key, (_, value) in of_options.items()},
        **properties,
        **{key: value for key, (is_given, value) in of_options.items() if is_given},
        "bootstrap.servers": servers,
    }
    try:
        parsed = parse_producer_config(settings, 1)
    except ConfigException as error:
        raise wrong_setting(error) from error
    if parsed.transactional_id is not None:
        raise ToolError(
            "java.lang.IllegalStateException",
            "Cannot perform a 'send' before completing a call to initTransactions when transactions"
            " are enabled. This tool has no transactions: leave transactional.id out.",
        )
    # Kafka 2.0 has no delivery.timeout.ms. There the time limit of a record is the time for all its
    # tries together.
    tries_ms = (parsed.retries + 1) * parsed.request_timeout_ms
    pauses_ms = parsed.retries * parsed.retry_backoff_ms
    return {
        "delivery.timeout.ms": min(parsed.linger_ms + tries_ms + pauses_ms, MAX_INT),
        "partitioner.class": _partitioner(),
    } | settings


def _partitioner() -> "Partitioner":
    """Return the default partitioner of Kafka 2.0."""
    from kafka_edu.clients.producer.partitioners import HashOrTurnPartitioner

    return HashOrTurnPartitioner(random.Random())


class LineSender:
    """Sends records to one topic."""

    def __init__(self, producer: "Producer", topic: str, *, sync: bool) -> None:
        self._producer = producer
        self._topic = topic
        self._sync = sync

    def send(self, line: Line) -> None:
        """Send a record.

        In synchronous mode, a failure raises ToolError. Otherwise the failure is logged, and the
        next record may be sent.
        """
        from kafka_edu.common.errors import KafkaException
        from kafka_edu.tools.client_settings import java_error

        if not self._sync:
            self._producer.send(self._topic, line.value, line.key, on_delivery=self._logged(line))
            return
        try:
            self._producer.send(self._topic, line.value, line.key).result()
        except KafkaException as error:
            raise ToolError("java.util.concurrent.ExecutionException", java_error(error)) from error

    def _logged(self, line: Line) -> "Callback":
        """Return the callback of a record. It logs the record's failure."""
        from kafka_edu.tools.client_settings import java_error

        def delivered(metadata: "RecordMetadata | None", error: "KafkaException | None") -> None:
            if error is None:
                return
            key = "null" if line.key is None else f"{len(line.key)} bytes"
            log_error(
                f"Error when sending message to topic {self._topic} with key: {key}, value:"
                f" {len(line.value)} bytes with error:",
                _ERROR_LOGGER,
            )
            sys.stderr.write(f"{java_error(error)}\n")

        return delivered


def produce(o: ProducerOptions, given: OptionSet, servers: str) -> None:
    """Send all lines of standard input.

    Before this function returns or raises ToolError, each accepted record has its answer.
    """
    from kafka_edu.clients.blocking.producer import Producer
    from kafka_edu.tools.client_settings import ConnectionWarnings

    if given.one(o.line_reader) != LINE_READER:
        raise ToolError("java.lang.ClassNotFoundException", given.one(o.line_reader))
    reader = LineMessageReader(parse_key_values(given.values(o.property)))
    warnings = ConnectionWarnings()
    with (
        typed_lines() as lines,
        Producer(_settings(o, given, servers), trace=warnings.tracer) as producer,
    ):
        sender = LineSender(producer, given.one(o.topic), sync=given.has(o.sync))
        try:
            _send_all(reader.read(lines), sender, producer)
        finally:
            warnings.end()


def _send_all(lines: Iterator[Line], sender: LineSender, producer: "Producer") -> None:
    """Send the lines, and wait for the answers. After Ctrl-C, wait only for a limited time.

    A producer that cannot reach the brokers may hold many records, each with its own time limit.
    """
    try:
        try:
            for line in lines:
                sender.send(line)
        except ToolError:
            producer.flush()
            raise
        producer.flush()
    except (KeyboardInterrupt, SystemExit):
        producer.close(CLOSE_AFTER_CTRL_C_S)
        raise


def main(words: Sequence[str]) -> int:
    """Run the tool. Return 1 for wrong options or a line without its required key, otherwise 0."""
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
