"""`kafka-edu bench idle-partitions`: the memory of a broker with thousands of idle partitions.

The result is compared with Apache Kafka 2.8.2. The broker leads the partitions, and nobody writes
to them.

Our broker and Apache Kafka's each get one topic with `--partitions` partitions and RF 1. The
anonymous memory (RssAnon, the memory of the process without mapped files) is read twice: before the
topic is created, and `--settle` seconds after each partition has a leader. Apache Kafka has the
heap size of its start script, 1 GiB, but does not have to fill it.
"""

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

from confluent_kafka import KafkaException

from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import command_line
from kafka_edu.supervisor.cluster import ClusterError

from .apache_kafka import PeerMissing, kafka_jars
from .one_broker import APACHE, OURS, Broker, apache, create_topic, memory, open_files, ours

NAME = "idle-partitions"
HELP = (
    "memory of a broker with 3,000 idle partitions, compared with Apache Kafka 2.8.2 (needs Java;"
    " a minute)"
)

TOPIC: Final = "idle"
MEGABYTE: Final = 1 << 20
AT_MOST: Final = 1.0


class Idle(NamedTuple):
    """The memory, open files and time that one broker needs for the partitions."""

    before: int
    """Anonymous memory before the topic was created, in bytes."""
    after: int
    open_files: int
    seconds: float
    """Seconds from the request for the topic until each partition had a leader."""


def measure(broker: Broker, partitions: int, settle_s: float) -> Idle:
    """Create the topic, and return the memory, open files and time that the broker needs for it.

    Raises KafkaException and OSError.
    """
    before, began = memory(broker), time.monotonic()
    create_topic(broker, TOPIC, partitions, {})
    seconds = time.monotonic() - began
    time.sleep(settle_s)  # memory from the creation is freed; no event says when
    return Idle(before, memory(broker), open_files(broker), seconds)


def report_of(found: dict[str, Idle], partitions: int) -> Report:
    """Return the report with the figures of both brokers and the target."""
    report = Report(NAME)
    report.figure("partitions", partitions)
    for name, idle in found.items():
        grown = (idle.after - idle.before) / partitions / 1024
        report.figure(f"{name}: RssAnon before, MB", round(idle.before / MEGABYTE, 1))
        report.figure(f"{name}: RssAnon with the partitions, MB", round(idle.after / MEGABYTE, 1))
        report.figure(f"{name}: KiB a partition", round(grown, 1))
        report.figure(f"{name}: open files", idle.open_files)
        report.figure(f"{name}: seconds until all have leaders", round(idle.seconds, 1))
    mine, theirs = found[OURS], found[APACHE]
    report.target("RssAnon / Apache Kafka's", mine.after / theirs.after, "<=", AT_MOST)
    return report


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it ran, whether or not the targets hold, and 2 when it
    cannot run here.
    """
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument(
        "--partitions", type=int, default=3000, metavar="N", help="partitions (default 3000)"
    )
    parser.add_argument(
        "--settle",
        type=float,
        default=10.0,
        metavar="S",
        help="seconds without load before the measurement (default 10)",
    )
    args = parser.parse_args(argv)
    if not 1 <= args.partitions <= 10_000:
        parser.error("--partitions is 1 to 10000: our broker creates no more in one request")
    found: dict[str, Idle] = {}
    try:
        jars = kafka_jars()
        sides: list[Callable[[], AbstractContextManager[Broker]]] = [
            lambda: ours({}),
            lambda: apache(jars, {}),
        ]
        for side in sides:
            with side() as broker:
                found[broker.name] = measure(broker, args.partitions, args.settle)
    except (ClusterError, PeerMissing, KafkaException, TimeoutError, OSError) as error:
        print(f"bench {NAME} cannot run: {error}", file=sys.stderr)
        return 2
    report = report_of(found, args.partitions)
    report.show()
    if args.json:
        report.write(args.json)
    return 0
