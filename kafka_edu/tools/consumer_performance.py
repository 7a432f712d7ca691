"""Read many records and report the speed (Kafka: kafka-consumer-perf-test.sh).

The tool uses librdkafka, so it measures a broker together with that client. Our own consumer is
written in Python, and would be slower than the broker. (Kafka: ConsumerPerformance.scala)
"""

import random
import re
import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from kafka_edu.tools.options import OptionParser, OptionSet, Takes, check_required
from kafka_edu.tools.tool import ToolCommand, illegal_argument, properties_of, run_tool

if TYPE_CHECKING:
    from confluent_kafka import Consumer

PURPOSE: Final = "This tool is used to verify the consumer performance."
MB: Final = 1024 * 1024
_BATCH: Final = 10_000
_POLL_S: Final = 0.1
#: The letters of java.text.SimpleDateFormat that the tool needs, with their form in strftime.
#:
#: Milliseconds are handled separately.
_DATE_LETTERS: Final = {"y": "%Y", "M": "%m", "d": "%d", "H": "%H", "m": "%M", "s": "%S"}


class PerfOptions:
    """The tool's command-line options."""

    def __init__(self) -> None:
        self.parser = parser = OptionParser()
        self.messages = parser.long("messages", "REQUIRED: How many records to read.", "count")
        self.interval = parser.integer(
            "reporting-interval",
            "How often progress is printed, in ms.",
            "interval_ms",
            default=5000,
        )
        self.date_format = parser.text(
            "date-format",
            "The form of dates, as for java.text.SimpleDateFormat.",
            "date format",
            default="yyyy-MM-dd HH:mm:ss:SSS",
        )
        self.hide_header = parser.flag("hide-header", "Leave out the line that names the columns.")
        parser.flag("help", "Show these options.")
        self.broker_list = parser.text("broker-list", "REQUIRED: The brokers to ask.", "host")
        self.topic = parser.text("topic", "REQUIRED: The topic to read.", "topic")
        self.group = parser.text(
            "group",
            "The consumer group.",
            "gid",
            default=f"perf-consumer-{random.randrange(100_000)}",
        )
        self.fetch_size = parser.integer(
            "fetch-size", "How many bytes of a partition to fetch at once.", "size", default=MB
        )
        self.from_latest = parser.flag(
            "from-latest", "If the group has committed nothing, begin at the end."
        )
        self.socket_buffer = parser.integer(
            "socket-buffer-size", "The socket's receive buffer.", "size", default=2 * MB
        )
        parser.integer("threads", "Accepted, but without effect (as in 2.0).", "count", default=10)
        parser.integer(
            "num-fetch-threads", "Accepted, but without effect (as in 2.0).", "count", default=1
        )
        self.config = parser.text(
            "consumer.config", "A file of the consumer's properties.", "config file"
        )
        self.detailed = parser.flag("show-detailed-stats", "Print a line for each interval.")
        self.timeout = parser.long(
            "timeout",
            "End when no record has arrived for this time, in ms.",
            "milliseconds",
            default=10_000,
            takes=Takes.OPTIONAL,
        )


class Run:
    """One run of the tool, with the counters for its report."""

    def __init__(self, o: PerfOptions, given: OptionSet) -> None:
        self._count = given.one(o.messages)
        self._interval_ms = given.one(o.interval)
        if self._interval_ms <= 0:
            raise illegal_argument("Reporting interval must be greater than 0.")
        self._timeout_ms = given.one(o.timeout)
        self._detailed = given.has(o.detailed)
        self._date_format = given.one(o.date_format)
        self._topic = given.one(o.topic)
        self._records = self._bytes = 0
        self._join_ms = self._join_ms_of_interval = 0
        self._join_began_ms = 0

    def run(self, consumer: "Consumer") -> str:
        """Read the records. Return the line of totals, or "" with --show-detailed-stats."""
        start_ms = self._join_began_ms = wall_ms()
        consumer.subscribe([self._topic], on_assign=self._assigned, on_revoke=self._revoked)
        self._consume(consumer)
        end_ms = wall_ms()
        if self._detailed:
            return ""
        seconds, fetch_ms, megabytes = (
            (end_ms - start_ms) / 1000,
            end_ms - start_ms - self._join_ms,
            self._bytes / MB,
        )
        fetch_s = fetch_ms / 1000
        return (
            f"{self._date(start_ms)}, {self._date(end_ms)}, {megabytes:.4f},"
            f" {_rate(megabytes, seconds)}, {self._records}, {_rate(self._records, seconds)},"
            f" {self._join_ms}, {fetch_ms}, {_rate(megabytes, fetch_s)},"
            f" {_rate(self._records, fetch_s)}"
        )

    def _consume(self, consumer: "Consumer") -> None:
        reported_ms = last_ms = now_ms = wall_ms()
        reported = 0, 0
        while self._records < self._count and now_ms - last_ms <= self._timeout_ms:
            batch = consumer.consume(min(_BATCH, self._count - self._records), _POLL_S)
            now_ms = wall_ms()
            for message in batch:
                if message.error() is None:
                    last_ms = now_ms
                    self._records += 1
                    self._bytes += len(message.key() or b"") + len(message.value() or b"")
            if now_ms - reported_ms >= self._interval_ms:
                if self._detailed:
                    print(self._progress(reported, reported_ms, now_ms), flush=True)
                reported, reported_ms, self._join_ms_of_interval = (
                    (self._records, self._bytes),
                    now_ms,
                    0,
                )
        if self._records < self._count:
            print(
                "WARNING: Exiting before consuming the expected number of messages: timeout"
                f" ({self._timeout_ms} ms) exceeded. You can use the --timeout option to increase"
                " the timeout."
            )

    def _progress(self, reported: tuple[int, int], since_ms: int, now_ms: int) -> str:
        records, megabytes = self._records - reported[0], (self._bytes - reported[1]) / MB
        seconds, fetch_ms = (
            (now_ms - since_ms) / 1000,
            now_ms - since_ms - self._join_ms_of_interval,
        )
        fetch_s = fetch_ms / 1000
        rates = (
            f"{_rate(megabytes, fetch_s)}, {_rate(records, fetch_s)}"
            if fetch_ms > 0
            else "0.0000, 0.0000"
        )
        return (
            f"{self._date(now_ms)}, 0, {self._bytes / MB:.4f}, {_rate(megabytes, seconds)},"
            f" {self._records}, {_rate(records, seconds)}, {self._join_ms_of_interval}, {fetch_ms},"
            f" {rates}"
        )

    def _assigned(self, _consumer: object, _partitions: object) -> None:
        took = wall_ms() - self._join_began_ms
        self._join_ms += took
        self._join_ms_of_interval += took

    def _revoked(self, _consumer: object, _partitions: object) -> None:
        self._join_began_ms = wall_ms()

    def _date(self, ms: int) -> str:
        return java_date(self._date_format, ms)


def _rate(amount: float, seconds: float) -> str:
    return f"{amount / seconds:.4f}" if seconds else "NaN" if not amount else "Infinity"


def java_date(pattern: str, ms: int) -> str:
    """Format a time in local time by a SimpleDateFormat pattern. `ms` counts from 1970.

    It supports the letters y M d H m s S, repeated any number of times, and text in single quotes.
    """
    moment = datetime.fromtimestamp(ms / 1000)

    def letters(found: re.Match[str]) -> str:
        text = found[0]
        if text[0] == "'":
            return text[1:-1] or "'"
        if text[0] == "S":
            return f"{ms % 1000:0{len(text)}d}"
        if text[0] not in _DATE_LETTERS:
            return text
        value = moment.strftime(_DATE_LETTERS[text[0]])
        return value[-2:] if text == "yy" else f"{int(value):0{len(text)}d}"

    return re.sub(r"'[^']*'|([A-Za-z])\1*", letters, pattern)


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


def header(detailed: bool) -> str:
    first = "time, threadId" if detailed else "start.time, end.time"
    return (
        f"{first}, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms,"
        " fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
    )


def _properties(o: PerfOptions, given: OptionSet) -> dict[str, str]:
    return properties_of(given, o.config) | {
        "bootstrap.servers": given.one(o.broker_list),
        "group.id": given.one(o.group),
        "receive.buffer.bytes": str(given.one(o.socket_buffer)),
        "max.partition.fetch.bytes": str(given.one(o.fetch_size)),
        "auto.offset.reset": "latest" if given.has(o.from_latest) else "earliest",
        "check.crcs": "false",
    }


def main(words: Sequence[str]) -> int:
    options = PerfOptions()

    def run() -> int:
        given = options.parser.parse(words)
        check_required(given, options.topic, options.messages, options.broker_list)
        test = Run(options, given)
        from confluent_kafka import Consumer, KafkaException

        from kafka_edu.tools.librdkafka import librdkafka_config, refused

        if not given.has(options.hide_header):
            print(header(given.has(options.detailed)), flush=True)
        try:
            consumer = Consumer(librdkafka_config(_properties(options, given)))
        except KafkaException as error:
            raise refused(error) from error
        try:
            line = test.run(consumer)
        finally:
            consumer.close()
        if line:
            print(line)
        return 0

    return run_tool(options.parser, words, run, PURPOSE)


consumer_performance = ToolCommand("consumer-perf-test", main, PURPOSE)
