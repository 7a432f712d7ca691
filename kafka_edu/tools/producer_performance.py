"""Send many records and report the speed (Kafka: kafka-producer-perf-test.sh).

It uses librdkafka, so it measures a broker together with that client. Our own producer is written
in Python, and would be slower than the broker. The latency is the time from the call that sends a
record to the call that reports its acknowledgement. (Kafka: ProducerPerformance.java)
"""

import argparse
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from kafka_edu.tools.tool import (
    ToolCommand,
    ToolError,
    illegal_argument,
    java_class,
    load_properties,
)

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

PURPOSE: Final = "This tool is used to verify the producer performance."
REPORT_EVERY_MS: Final = 5000
MOST_SAMPLES: Final = 500_000
_FLUSH_S: Final = 600.0


class _Parser(argparse.ArgumentParser):
    """Exits with 1 for a wrong command line, as Kafka's tool does. argparse would exit with 2."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: error: {message}\n")


class Arguments(argparse.Namespace):
    """The parsed command line."""

    topic: str
    num_records: int
    record_size: int | None
    payload_file: str | None
    payload_delimiter: str
    throughput: int
    producer_props: list[str] | None
    producer_config: str | None
    transactional_id: str
    transaction_duration_ms: int


def argument_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="producer-performance", description=PURPOSE)
    add = parser.add_argument
    add("--topic", required=True, metavar="TOPIC", help="send to this topic")
    add(
        "--num-records",
        required=True,
        type=int,
        metavar="NUM-RECORDS",
        help="how many records to send",
    )
    add(
        "--payload-delimiter",
        default="\\n",
        metavar="PAYLOAD-DELIMITER",
        help="what is between two payloads of --payload-file",
    )
    add(
        "--throughput",
        required=True,
        type=int,
        metavar="THROUGHPUT",
        help="about how many records to send in a second at most; -1: no bound",
    )
    add(
        "--producer-props",
        nargs="+",
        metavar="PROP-NAME=PROP-VALUE",
        help="the producer's properties; above those of --producer.config",
    )
    add(
        "--producer.config",
        dest="producer_config",
        metavar="CONFIG-FILE",
        help="a file of the producer's properties",
    )
    add(
        "--transactional-id",
        default="performance-producer-default-transactional-id",
        metavar="TRANSACTIONAL-ID",
        help="the id of the transactions, if there are any",
    )
    add(
        "--transaction-duration-ms",
        type=int,
        default=0,
        metavar="TRANSACTION-DURATION",
        help="commit after this time; 0: no transactions",
    )
    payload = parser.add_mutually_exclusive_group(required=True)
    payload.add_argument(
        "--record-size",
        type=int,
        metavar="RECORD-SIZE",
        help="the size of a record's value in bytes",
    )
    payload.add_argument(
        "--payload-file", metavar="PAYLOAD-FILE", help="a text file from which values are drawn"
    )
    return parser


class Stats:
    """The latencies (ms) of the whole run, and of the last five seconds.

    At most half a million latencies are kept, for the percentiles.
    """

    def __init__(self, records: int, now_ms: int) -> None:
        self._start_ms = self._window_start_ms = now_ms
        self._sampling = max(1, records // min(max(records, 1), MOST_SAMPLES))
        self._samples: list[int] = []
        self._count = self._bytes = self._total_ms = self._most_ms = 0
        self._window_count = self._window_bytes = self._window_ms = self._window_most_ms = 0

    def record(self, latency_ms: int, size: int, now_ms: int) -> None:
        """Count one record that was acknowledged or has failed."""
        if self._count % self._sampling == 0:
            self._samples.append(latency_ms)
        self._count += 1
        self._bytes += size
        self._total_ms += latency_ms
        self._most_ms = max(self._most_ms, latency_ms)
        self._window_count += 1
        self._window_bytes += size
        self._window_ms += latency_ms
        self._window_most_ms = max(self._window_most_ms, latency_ms)
        if now_ms - self._window_start_ms >= REPORT_EVERY_MS:
            self._print_window(now_ms)

    def _print_window(self, now_ms: int) -> None:
        seconds = (now_ms - self._window_start_ms) / 1000
        print(
            f"{self._window_count} records sent, {self._window_count / seconds:.1f} records/sec"
            f" ({self._window_bytes / seconds / (1024 * 1024):.2f} MB/sec),"
            f" {self._window_ms / self._window_count:.1f} ms avg latency,"
            f" {self._window_most_ms:.1f} max latency.",
            flush=True,
        )
        self._window_start_ms = now_ms
        self._window_count = self._window_bytes = self._window_ms = self._window_most_ms = 0

    def print_total(self, now_ms: int) -> None:
        seconds = max(now_ms - self._start_ms, 1) / 1000
        ordered = sorted(self._samples) or [0]
        half, most, nearly, all_but_few = (
            ordered[int(share * len(ordered))] for share in (0.5, 0.95, 0.99, 0.999)
        )
        print(
            f"{self._count} records sent, {self._count / seconds:f} records/sec"
            f" ({self._bytes / seconds / (1024 * 1024):.2f} MB/sec),"
            f" {self._total_ms / max(self._count, 1):.2f} ms avg latency, {self._most_ms:.2f} ms"
            f" max latency, {half} ms 50th, {most} ms 95th, {nearly} ms 99th, {all_but_few} ms"
            " 99.9th."
        )


def now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class Run:
    """One run of the tool. Only one thread uses it, because librdkafka reports acknowledgements
    inside `poll`.
    """

    def __init__(
        self, producer: "Producer", arguments: Arguments, payloads: Sequence[bytes]
    ) -> None:
        self._producer = producer
        self._arguments = arguments
        self._payloads = payloads
        self._random = random.Random(0)
        self._start_ms = now_ms()
        self._stats = Stats(arguments.num_records, self._start_ms)

    def run(self) -> None:
        duration_ms = self._arguments.transaction_duration_ms
        began_ms = 0
        if duration_ms > 0:
            self._producer.init_transactions()
        for number in range(self._arguments.num_records):
            if duration_ms > 0 and not began_ms:
                self._producer.begin_transaction()
                began_ms = now_ms()
            self._send()
            if began_ms and now_ms() - began_ms >= duration_ms:
                self._producer.commit_transaction()
                began_ms = 0
            self._throttle(number)
        if began_ms:
            self._producer.commit_transaction()
        self._producer.flush(_FLUSH_S)
        self._stats.print_total(now_ms())

    def _send(self) -> None:
        payload = (
            self._payloads[0] if len(self._payloads) == 1 else self._random.choice(self._payloads)
        )
        sent_ms = now_ms()

        def on_delivery(error: "KafkaError | None", _: "Message") -> None:
            acked_ms = now_ms()
            self._stats.record(acked_ms - sent_ms, len(payload), acked_ms)
            if error is not None:
                print(error.str(), file=sys.stderr)

        while True:
            try:
                self._producer.produce(self._arguments.topic, payload, on_delivery=on_delivery)
                break
            except BufferError:  # the producer's queue is full
                self._producer.poll(0.05)
        self._producer.poll(0)

    def _throttle(self, number: int) -> None:
        """Wait until no more records have been sent than --throughput allows."""
        target = self._arguments.throughput
        while target > 0 and number * 1000 > target * (now_ms() - self._start_ms):
            self._producer.poll(0.001)


def _payloads(arguments: Arguments) -> list[bytes]:
    if arguments.payload_file is None:
        letters = random.Random(0)
        return [bytes(letters.randrange(26) + 65 for _ in range(arguments.record_size or 0))]
    path = Path(arguments.payload_file).absolute()
    print(f"Reading payloads from: {path}")
    if not path.exists() or path.stat().st_size == 0:
        raise illegal_argument("File does not exist or empty file provided.")
    delimiter = arguments.payload_delimiter.replace("\\n", "\n")
    texts = path.read_text(encoding="utf-8", errors="replace").split(delimiter)
    while texts and not texts[-1]:  # Java's split drops empty parts at the end
        texts.pop()
    print(f"Number of messages read: {len(texts)}")
    return [text.encode() for text in texts]


def _properties(arguments: Arguments) -> dict[str, str]:
    properties = load_properties(arguments.producer_config) if arguments.producer_config else {}
    for text in arguments.producer_props or []:
        name, equals, value = text.partition("=")
        if not equals or not value or "=" in value:
            raise illegal_argument(f"Invalid property: {text}")
        properties[name] = value
    if arguments.transaction_duration_ms > 0:
        properties["transactional.id"] = arguments.transactional_id
    return properties


def main(words: Sequence[str]) -> int:
    parser = argument_parser()
    if not words:
        parser.print_help()
        return 0
    arguments = parser.parse_args(words, Arguments())
    if not arguments.producer_props and arguments.producer_config is None:
        parser.error("Either --producer-props or --producer.config must be specified.")
    from confluent_kafka import KafkaException, Producer

    from kafka_edu.tools.librdkafka import librdkafka_config, refused

    try:
        payloads, config = _payloads(arguments), librdkafka_config(_properties(arguments))
        try:
            Run(Producer(config), arguments, payloads).run()
        except KafkaException as error:
            raise refused(error) from error
    except ToolError as error:
        print(f'Exception in thread "main" {java_class(error)}: {error}', file=sys.stderr)
        return 1
    return 0


producer_performance = ToolCommand("producer-perf-test", main, PURPOSE)
