"""`kafka-edu bench startup`: the start time of three brokers and a ZooKeeper, and their memory.

The memory is measured when the brokers are idle. Both values are compared with Apache Kafka 2.8.2.
The start time ends for both when the Metadata of every broker lists three brokers and a controller.
The clusters are started in turn, and each figure is the median.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import command_line
from kafka_edu.supervisor.cluster import ClusterError, running_cluster

from .apache_kafka import ApacheKafka, PeerMissing, kafka_jars
from .options import add_repeats

NAME = "startup"
HELP = (
    "start three brokers until they list each other, compared with Apache Kafka 2.8.2 (needs Java"
    " for the peer; a minute)"
)

BROKERS = 3
MEGABYTE = 2**20


def start_ours(zookeeper: str) -> tuple[float, float]:
    """Start kafka-edu. Return the seconds until it is ready, and the largest broker's memory in MB.

    The memory is anonymous memory. Raises ClusterError.
    """
    began = time.monotonic()
    with running_cluster("bench-startup", brokers=BROKERS, zookeeper=zookeeper) as cluster:
        seconds = time.monotonic() - began
        memory = max(
            process.rss_anon or 0
            for process in cluster.status().processes
            if process.broker is not None
        )
    return seconds, memory / MEGABYTE


def start_kafka(jars: Path) -> tuple[float, float]:
    """Start Apache Kafka.

    Return the seconds until it is ready, and the largest broker's memory in MB. Raises PeerMissing
    if it cannot run.
    """
    kafka = ApacheKafka(jars, BROKERS)
    began = time.monotonic()
    try:
        kafka.up()
        return time.monotonic() - began, max(map(kafka.rss_anon, range(BROKERS))) / MEGABYTE
    finally:
        kafka.down()


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed.

    Return 2 if it cannot run on this machine.
    """
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    add_repeats(parser, 5)
    args = parser.parse_args(argv)
    report = Report(NAME)
    ways: dict[str, Callable[[], tuple[float, float]]] = {
        "embedded ZooKeeper": lambda: start_ours("embedded"),
        "Apache ZooKeeper": lambda: start_ours("apache"),
    }
    try:
        jars = kafka_jars()
        ways["Apache Kafka 2.8.2"] = lambda: start_kafka(jars)
        for start in ways.values():  # The first start of each reads its files from the disk.
            start()
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for _ in range(args.repeats):
            for name, start in ways.items():
                found[name].append(start())
    except (ClusterError, PeerMissing) as error:
        print(f"bench startup cannot run: {error}", file=sys.stderr)
        return 2
    for name, runs in found.items():
        report.figure(
            f"{name}: seconds until ready", statistics.median(seconds for seconds, _ in runs)
        )
        report.figure(f"{name}: the slowest start, seconds", max(seconds for seconds, _ in runs))
        report.figure(
            f"{name}: a broker's RssAnon when idle, MB",
            statistics.median(memory for _, memory in runs),
        )
    for name, most in (("embedded ZooKeeper", 2.5), ("Apache ZooKeeper", 5.0)):
        report.target(
            f"{name}: seconds until ready",
            statistics.median(seconds for seconds, _ in found[name]),
            "<=",
            most,
        )
        report.target(
            f"{name}: a broker's RssAnon when idle, MB",
            max(memory for _, memory in found[name]),
            "<=",
            60,
        )
    report.show()
    if args.json:
        report.write(args.json)
    return 0
