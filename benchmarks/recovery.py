"""`kafka-edu bench recovery`: the start after kill -9, compared with Apache Kafka 2.8.2.

After a kill, a broker must check the last segment.

One partition has a log of `--megabytes`. All of it is in the active segment, so all of it is after
the recovery point and must be checked. The same client writes this log once to each broker. Then
the brokers are killed and started again, in turn. A start ends when the broker can answer a request
for the log end offset. Two medians are compared: the seconds from the start of the process until
then, and the bytes that the process has read by system calls (`rchar` of /proc/PID/io). Most of
these bytes come from the page cache, which survives a kill.

At the end each broker is stopped cleanly and started once more. That start needs no recovery, so it
shows what a start costs without one.
"""

import argparse
import contextlib
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from confluent_kafka import KafkaException, Producer

from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import command_line
from kafka_edu.supervisor.cluster import ClusterError

from .apache_kafka import PeerMissing, kafka_jars
from .one_broker import (
    APACHE,
    OURS,
    PATIENCE_S,
    Broker,
    apache,
    bytes_read,
    create_topic,
    ours,
    wait_until_served,
    wait_until_unregistered,
)
from .options import add_repeats

NAME = "recovery"
HELP = (
    "start after kill -9 with a log of 1 GiB to check, compared with Apache Kafka 2.8.2 (needs"
    " Java; two minutes)"
)

TOPIC: Final = "recovered"
MEGABYTE: Final = 1 << 20
RECORD_BYTES: Final = 1024
PROPERTIES: Final = {"zookeeper.session.timeout.ms": "2000"}
CONFIG: Final = {"segment.bytes": str(2**31 - 1), "retention.ms": "-1"}
AT_MOST: Final = 1.0


class Start(NamedTuple):
    """The seconds that one start of a broker took, and the bytes that it read."""

    seconds: float
    read: int
    """Number of bytes that the process read by system calls."""


def write(broker: Broker, megabytes: int) -> int:
    """Fill the log, and return its end offset. Raises KafkaException."""
    create_topic(broker, TOPIC, 1, CONFIG)
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "linger.ms": 50,
            "batch.size": 65536,
            "queue.buffering.max.kbytes": 131072,
            "acks": 1,
            "log_level": 0,
        }
    )
    value = b"v" * RECORD_BYTES
    records = megabytes * MEGABYTE // RECORD_BYTES
    for _ in range(records):
        while True:
            try:
                producer.produce(TOPIC, value, partition=0)
                break
            except BufferError:
                producer.poll(0.05)
    if producer.flush(PATIENCE_S):
        raise TimeoutError(f"{broker.name} does not take the records")
    return records


def measured_start(broker: Broker, end_offset: int) -> Start:
    """Start the broker, and measure until it serves the topic. Raises OSError and Standstill."""
    began = time.monotonic()
    broker.start()
    wait_until_served(broker, TOPIC, end_offset)
    return Start(time.monotonic() - began, bytes_read(broker.pid()))


def report_of(found: dict[str, list[Start]], clean: dict[str, Start], megabytes: int) -> Report:
    """Return the report on the starts after kills, and on one start after a clean stop."""
    report = Report(NAME)
    report.figure("log, MiB", megabytes)
    medians: dict[str, Start] = {}
    for name, starts in found.items():
        medians[name] = Start(
            statistics.median(start.seconds for start in starts),
            round(statistics.median(start.read for start in starts)),
        )
        report.figure(f"{name}: seconds after kill -9", round(medians[name].seconds, 2))
        report.figure(f"{name}: slowest, seconds", round(max(s.seconds for s in starts), 2))
        report.figure(f"{name}: MiB read after kill -9", round(medians[name].read / MEGABYTE, 1))
        report.figure(f"{name}: seconds after a clean stop", round(clean[name].seconds, 2))
        report.figure(f"{name}: MiB read after a clean stop", round(clean[name].read / MEGABYTE, 1))
    mine, theirs = medians[OURS], medians[APACHE]
    report.target("seconds / Apache Kafka's", mine.seconds / theirs.seconds, "<=", AT_MOST)
    report.target("bytes read / Apache Kafka's", mine.read / theirs.read, "<=", AT_MOST)
    return report


def measure(brokers: Sequence[Broker], megabytes: int, repeats: int) -> Report:
    """Write the logs, kill and start the brokers in turn, and return the report."""
    ends = {broker.name: write(broker, megabytes) for broker in brokers}
    found: dict[str, list[Start]] = {broker.name: [] for broker in brokers}
    for turn in range(repeats):
        for broker in brokers if turn % 2 == 0 else reversed(brokers):
            broker.kill()
            wait_until_unregistered(broker)
            found[broker.name].append(measured_start(broker, ends[broker.name]))
    clean: dict[str, Start] = {}
    for broker in brokers:
        broker.stop()
        clean[broker.name] = measured_start(broker, ends[broker.name])
    return report_of(found, clean, megabytes)


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it ran, whether or not the targets hold, and 2 when it
    cannot run here.
    """
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument(
        "--megabytes",
        type=int,
        default=1024,
        metavar="N",
        help="size of the log in MiB (default 1024)",
    )
    add_repeats(parser, 3, "kills of each broker")
    args = parser.parse_args(argv)
    if not 1 <= args.megabytes <= 2000:
        parser.error("--megabytes is 1 to 2000: a segment has at most 2 GiB")
    if args.repeats < 1:
        parser.error("--repeats is at least 1")
    try:
        with contextlib.ExitStack() as stack:
            jars = kafka_jars()
            brokers = [
                stack.enter_context(ours(PROPERTIES)),
                stack.enter_context(apache(jars, PROPERTIES)),
            ]
            report = measure(brokers, args.megabytes, args.repeats)
    except (ClusterError, PeerMissing, KafkaException, TimeoutError, OSError) as error:
        print(f"bench {NAME} cannot run: {error}", file=sys.stderr)
        return 2
    report.show()
    if args.json:
        report.write(args.json)
    return 0
