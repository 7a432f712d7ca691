"""Write the records of a topic to standard output (Kafka: kafka-console-consumer.sh).

The tool uses our own consumer. The tool ends after --max-messages records, when no record has
arrived for --timeout-ms, or by Ctrl-C. Records that were received but not shown are not committed.
(Kafka: ConsoleConsumer.scala)
"""

import random
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_edu.common.output import OutputClosed
from kafka_edu.common.python_process import EXIT_INTERRUPTED
from kafka_edu.tools.options import (
    OptionError,
    OptionParser,
    OptionSet,
    UsageError,
    check_required,
    parse_key_values,
)
from kafka_edu.tools.tool import ToolCommand, ToolError, log_error, properties_of, run_tool

if TYPE_CHECKING:
    from kafka_edu.clients.blocking.consumer import Consumer
    from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
    from kafka_edu.common.topic_partition import TopicPartition
    from kafka_edu.tools.message_formatters import Formatter, Record

PURPOSE: Final = (
    "The console consumer is a tool that reads data from Kafka and outputs it to standard output."
)
LOGGER: Final = "kafka.tools.ConsoleConsumer$"
DEFAULT_FORMATTER: Final = "kafka.tools.DefaultMessageFormatter"
EARLIEST: Final = -2
LATEST: Final = -1
_POLL_MS: Final = 1000
_ANY_SERVER: Final = "127.0.0.1:9092"


class ConsumerOptions:
    """The tool's command-line options."""

    def __init__(self) -> None:
        self.parser = parser = OptionParser()
        self.topic = parser.text("topic", "The topic to read.", "topic")
        self.whitelist = parser.text(
            "whitelist", "The topics to read, as a regular expression.", "whitelist"
        )
        self.partition = parser.integer(
            "partition",
            "The one partition to read, from its end unless --offset is given.",
            "partition",
        )
        self.offset = parser.text(
            "offset",
            "Where to begin: a number, 'earliest' or 'latest'.",
            "consume offset",
            default="latest",
        )
        self.consumer_property = parser.text(
            "consumer-property", "For the consumer, key=value.", "consumer_prop"
        )
        self.consumer_config = parser.text(
            "consumer.config",
            "A file of the consumer's properties; --consumer-property overrides it.",
            "config file",
        )
        self.formatter = parser.text(
            "formatter", "The class that shows a record.", "class", default=DEFAULT_FORMATTER
        )
        self.property = parser.text(
            "property",
            "For the formatter,"
            " key=value:\n\tprint.timestamp=true|false\n\tprint.key=true|false\n"
            "\tprint.value=true|false\n\tkey.separator=<text>\n\tline.separator=<text>\n"
            "\tkey.deserializer=<class>\n\tvalue.deserializer=<class>",
            "prop",
        )
        self.from_beginning = parser.flag(
            "from-beginning",
            "If the group has committed nothing, begin with the first record.",
        )
        self.max_messages = parser.integer(
            "max-messages", "End after this number of records.", "num_messages"
        )
        self.timeout_ms = parser.integer(
            "timeout-ms", "End when no record has arrived for this time, in ms.", "timeout_ms"
        )
        self.skip_on_error = parser.flag(
            "skip-message-on-error", "Skip a record that cannot be shown."
        )
        self.bootstrap_server = parser.text(
            "bootstrap-server", "REQUIRED: The brokers to ask.", "server to connect to"
        )
        self.key_deserializer = parser.text("key-deserializer", "", "deserializer for key")
        self.value_deserializer = parser.text("value-deserializer", "", "deserializer for values")
        self.systest_events = parser.flag(
            "enable-systest-events", "Say when the consumer has ended."
        )
        self.isolation_level = parser.text(
            "isolation-level",
            "read_committed leaves out what transactions did not commit.",
            default="read_uncommitted",
        )
        self.group = parser.text("group", "The consumer group.", "consumer group id")


class Reading(NamedTuple):
    """The command line after it was checked."""

    servers: str
    topic: str | None
    whitelist: str | None
    partition: int | None
    offset: int
    """The first offset to read in `partition`. It may be EARLIEST or LATEST."""
    formatter: "Formatter"
    max_messages: int
    """The number of records after which to stop. -1: do not stop."""
    timeout_ms: int
    """The time (ms) without a record after which to stop. -1: do not stop."""
    skip_on_error: bool
    settings: dict[str, object]


def check(o: ConsumerOptions, given: OptionSet) -> Reading:
    """Check the command line. Raises UsageError, OptionError, ToolError."""
    from kafka_edu.tools.message_formatters import formatter

    shown = parse_key_values(given.values(o.property))
    shown |= {
        "key.deserializer": given.value(o.key_deserializer) or shown.get("key.deserializer", "")
    }
    shown |= {
        "value.deserializer": (
            given.value(o.value_deserializer) or shown.get("value.deserializer", "")
        )
    }
    if given.has(o.topic) == given.has(o.whitelist):
        raise UsageError("Exactly one of whitelist/topic is required.")
    if given.has(o.partition):
        if not given.has(o.topic):
            raise UsageError("The topic is required when partition is specified.")
        if given.has(o.from_beginning) and given.has(o.offset):
            raise UsageError("Options from-beginning and offset cannot be specified together.")
    elif given.has(o.offset):
        raise UsageError("The partition is required when offset is specified.")
    offset = _offset(o, given)
    check_required(given, o.bootstrap_server)
    return Reading(
        servers=given.one(o.bootstrap_server),
        topic=given.value(o.topic),
        whitelist=given.value(o.whitelist),
        partition=given.value(o.partition),
        offset=offset,
        formatter=formatter(given.one(o.formatter), shown),
        max_messages=-1 if given.value(o.max_messages) is None else given.one(o.max_messages),
        timeout_ms=-1 if given.value(o.timeout_ms) is None else given.one(o.timeout_ms),
        skip_on_error=given.has(o.skip_on_error),
        settings=_settings(o, given),
    )


def _offset(o: ConsumerOptions, given: OptionSet) -> int:
    if not given.has(o.offset):
        return EARLIEST if given.has(o.from_beginning) else LATEST
    text = given.one(o.offset).lower()
    named = {"earliest": EARLIEST, "latest": LATEST}
    if text in named:
        return named[text]
    if not (text.isascii() and text.isdecimal()):
        raise UsageError(
            f"The provided offset value '{text}' is incorrect. Valid values are 'earliest',"
            " 'latest', or a non-negative long."
        )
    return int(text)


def _settings(o: ConsumerOptions, given: OptionSet) -> dict[str, object]:
    """Return the settings for our consumer. Raises UsageError, ToolError.

    The user can name the group in three places. All three must name the same group.
    """
    from kafka_edu.clients.consumer.consumer_config import CONSUMER_CONFIG, parse_consumer_config
    from kafka_edu.common.config_def import ConfigException
    from kafka_edu.tools.client_settings import known_settings, wrong_setting

    from_file, from_words = (
        properties_of(given, o.consumer_config),
        parse_key_values(given.values(o.consumer_property)),
    )
    groups = [given.value(o.group), from_file.get("group.id"), from_words.get("group.id")]
    named = list(dict.fromkeys(group for group in groups if group is not None))
    if len(named) > 1:
        listed = ", ".join(f"'{group}'" for group in named)
        raise UsageError(
            "The group ids provided in different places (directly using '--group', via"
            " '--consumer-property', or via '--consumer.config') do not match. Detected group ids:"
            f" {listed}"
        )
    properties = from_file | from_words
    reset = properties.get("auto.offset.reset")
    if reset is not None and given.has(o.from_beginning) and reset != "earliest":
        raise ConflictingResetError(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}', please"
            " remove one option"
        )
    properties = {"client.id": "consumer-1", "session.timeout.ms": "10000"} | properties
    properties |= {
        "auto.offset.reset": reset or ("earliest" if given.has(o.from_beginning) else "latest"),
        "isolation.level": given.one(o.isolation_level),
        "group.id": named[0] if named else f"console-consumer-{random.randrange(100_000)}",
    }
    if given.has(o.partition) and not named:  # without a group there are no offsets to commit
        del properties["group.id"]
    settings = known_settings(
        properties, CONSUMER_CONFIG.keys, "org.apache.kafka.clients.consumer.ConsumerConfig"
    )
    try:  # this option has its own kind of error
        parse_consumer_config(settings | {"bootstrap.servers": _ANY_SERVER}, 1)
    except ConfigException as error:
        raise wrong_setting(error) from error
    return settings


class ConflictingResetError(Exception):
    """--from-beginning is given together with a property that contradicts it."""


class RecordReader:
    """Reads records one by one, in order of arrival (Kafka: ConsoleConsumer.ConsumerWrapper)."""

    def __init__(self, consumer: "Consumer", timeout_ms: int) -> None:
        self._consumer = consumer
        self._timeout_ms = timeout_ms
        self._left: list[ConsumerRecord] = []

    def receive(self) -> "ConsumerRecord":
        """Return the next record.

        Raises TimeoutError if no record arrives in time, ClientException if the client fails.
        """
        if not self._left:
            sys.stdout.flush()
            self._left = self._poll()
        return self._left.pop()

    def _poll(self) -> "list[ConsumerRecord]":
        while True:
            records = self._consumer.poll(_POLL_MS if self._timeout_ms < 0 else self._timeout_ms)
            if records:
                return records[::-1]
            if self._timeout_ms >= 0:
                raise TimeoutError

    def close(self) -> None:
        """Close the consumer. Records that were received but not shown are not committed."""
        from kafka_edu.common.topic_partition import TopicPartition

        first = {
            TopicPartition(record.topic, record.partition): record.offset for record in self._left
        }
        assigned = self._consumer.assignment() if first else []
        for partition, offset in first.items():
            if partition in assigned:
                self._consumer.seek(partition, offset)
        self._consumer.close()


def consume(reading: Reading) -> int:
    """Write records until the limit, a time-out or Ctrl-C, and then print how many were read.

    Return the exit code: 1 if the client failed, otherwise 0.
    """
    from kafka_edu.clients.blocking.consumer import Consumer
    from kafka_edu.clients.client_errors import ClientException
    from kafka_edu.common.config_def import ConfigException
    from kafka_edu.common.topic_partition import TopicPartition
    from kafka_edu.tools.client_settings import ConnectionWarnings, java_error

    shown = code = 0
    warnings = ConnectionWarnings()
    try:
        consumer = Consumer(
            reading.settings | {"bootstrap.servers": reading.servers}, trace=warnings.tracer
        )
    except ConfigException as error:
        log_error("Unknown error when running consumer: ", LOGGER)
        raise ToolError(
            "org.apache.kafka.common.KafkaException", "Failed to construct kafka consumer"
        ) from error
    records = RecordReader(consumer, reading.timeout_ms)
    try:
        if reading.topic is None:
            consumer.subscribe(re.compile(reading.whitelist or ""))
        elif reading.partition is None:
            consumer.subscribe([reading.topic])
        else:
            partition = TopicPartition(reading.topic, reading.partition)
            consumer.assign([partition])
            _seek(consumer, partition, reading.offset)
        while shown < reading.max_messages or reading.max_messages == -1:
            try:
                record = records.receive()
            except TimeoutError:
                log_error("Error processing message, terminating consumer process: ", LOGGER)
                sys.stderr.write("org.apache.kafka.common.errors.TimeoutException\n")
                break
            except ClientException as failed:
                log_error("Error processing message, terminating consumer process: ", LOGGER)
                sys.stderr.write(f"{java_error(failed)}\n")
                code = 1
                break
            shown += 1
            _show(record, reading)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED  # the line below is the only output of Kafka's tool after Ctrl-C
    except OutputClosed:
        sys.stderr.write("Unable to write to standard out, closing consumer.\n")
        raise
    finally:
        warnings.end()
        records.close()
        sys.stderr.write(f"Processed a total of {shown} messages\n")
    return code


def _seek(consumer: "Consumer", partition: "TopicPartition", offset: int) -> None:
    if offset == EARLIEST:
        consumer.seek_to_beginning([partition])
    elif offset == LATEST:
        consumer.seek_to_end([partition])
    else:
        consumer.seek(partition, offset)


def _as_bytes(record: "ConsumerRecord") -> "Record":
    """Return a record that was read without deserializers."""
    from kafka_edu.tools.message_formatters import Record

    key, value = record.key, record.value
    assert key is None or isinstance(key, bytes)
    assert value is None or isinstance(value, bytes)
    kind = None if record.timestamp < 0 else int(record.timestamp_type)
    return Record(record.topic, record.partition, record.offset, record.timestamp, kind, key, value)


def _show(record: "ConsumerRecord", reading: Reading) -> None:
    """Write one record. If it cannot be shown, raise ToolError or skip it, as the options say."""
    try:
        sys.stdout.buffer.write(reading.formatter(_as_bytes(record)))
    except ToolError as error:
        if not reading.skip_on_error:
            raise
        log_error("Error processing message, skipping this message: ", LOGGER)
        sys.stderr.write(f"{error.java_class}: {error}\n")


def main(words: Sequence[str]) -> int:
    """Run the tool and return its exit code.

    The code is 0 after --timeout-ms too, as with Kafka's tool. It is 1 if the client failed
    (docs/differences.md).
    """
    options = ConsumerOptions()

    def run() -> int:
        if not words:
            raise UsageError(PURPOSE)
        try:
            given = options.parser.parse(words)
        except OptionError as wrong:
            raise UsageError(str(wrong)) from wrong
        try:
            code = consume(check(options, given))
        except ConflictingResetError as wrong:
            sys.stderr.write(f"{wrong}\n")
            return 1
        if given.has(options.systest_events):
            print("shutdown_complete")
        return code

    return run_tool(options.parser, words, run, PURPOSE)


console_consumer = ToolCommand("console-consumer", main, PURPOSE)
