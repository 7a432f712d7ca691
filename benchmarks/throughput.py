"""`kafka-edu bench throughput`: this broker beside Apache Kafka 2.8.2 and librdkafka's mock broker, in one run.

The clients are Java's, of one version for all: ProducerPerformance, and for reading a consumer that assigns itself the partitions as
ConsumerPerformance would get them (a group needs a coordinator, which this broker does not have yet). Six partitions (the mock makes four), batches
of 64 KiB, linger 5 ms. Every peer stands through the whole run and idles while another is measured; cells are measured in turn (ours, theirs,
ours, …), and each figure is the median of the repeats.
"""

import argparse
import contextlib
import math
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from kafka_edu.cli.report import Report

from .apache_kafka import PeerMissing, apache_kafka, client_jars, kafka_jars, run_tool

NAME = "throughput"
HELP = "produce and consume beside Apache Kafka 2.8.2 and librdkafka's mock broker (needs Java; 5-15 minutes)"

PARTITIONS = 6
BATCH = 65_536
TARGET = 0.7
WARM_UPS = 2
"""Measurements of a peer that do not count: large records, then small ones, RF 3, so that a JVM has compiled what it will run."""
MEGABYTES = {100: 120, 1024: 240}
"""Record size → megabytes written in one measurement."""


class Cell(NamedTuple):
    """One row of the table."""

    size: int
    acks: str
    rf: int

    @property
    def name(self) -> str:
        return f"{self.size} B, acks {self.acks}, RF {self.rf}"


CELLS = [Cell(size, acks, rf) for rf in (1, 3) for size in (100, 1024) for acks in ("1", "all")]


class Peer(NamedTuple):
    name: str
    bootstrap: str


class Measured(NamedTuple):
    """MB/s of payload; NaN where a peer cannot be measured."""

    produce: float
    consume: float


def create_topic(bootstrap: str, topic: str, rf: int) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(topic, PARTITIONS, rf)], request_timeout=30).values():
        future.result(60)


def produce(jars: Path, peer: Peer, topic: str, cell: Cell, records: int) -> float:
    """MB/s that ProducerPerformance reports for the whole run."""
    properties = [f"bootstrap.servers={peer.bootstrap}", f"acks={cell.acks}", "linger.ms=5", f"batch.size={BATCH}"]
    out = run_tool(
        jars,
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", topic, "--num-records", str(records), "--record-size", str(cell.size), "--throughput", "-1", "--producer-props"),
        *properties,
    )
    found = re.findall(r"\(([\d.]+) MB/sec\)", out)
    if not found:
        raise RuntimeError(f"ProducerPerformance said nothing that can be read: {out[-500:]}")
    return float(found[-1])


def consume(jars: Path, peer: Peer, topic: str, records: int) -> float:
    """MB/s that the assigned consumer reports."""
    out = run_tool(jars, str(Path(__file__).with_name("AssignedConsumerPerformance.java")), peer.bootstrap, topic, str(records))
    found = re.search(r"([\d.]+) MB/sec", out)
    if found is None:
        raise RuntimeError(f"the consumer said nothing that can be read: {out[-500:]}")
    return float(found[1])


@contextlib.contextmanager
def mock_brokers() -> Iterator[Peer]:
    """librdkafka's mock cluster: brokers in C, in memory, inside a client's process."""
    from confluent_kafka import Producer

    producer = Producer({"test.mock.num.brokers": 3, "bootstrap.servers": "ignored"})
    brokers = producer.list_topics(timeout=10).brokers.values()
    yield Peer("mock", ",".join(f"{b.host}:{b.port}" for b in brokers))


def measure(jars: Path, peer: Peer, cell: Cell, repeat: int, scale: float) -> Measured:
    records = int(MEGABYTES[cell.size] * scale * 1_000_000) // cell.size
    topic = f"bench-{cell.size}-{cell.acks}-{cell.rf}-{repeat}"
    if peer.name != "mock":  # the mock broker takes no CreateTopics; it makes a topic when it is first asked for
        create_topic(peer.bootstrap, topic, cell.rf)
    produced = produce(jars, peer, topic, cell, records)
    # the mock keeps only the last 5 MB of a partition, so there is nothing to read that could be compared
    return Measured(produced, math.nan if peer.name == "mock" else consume(jars, peer, topic, records))


def run(cells: list[Cell], repeats: int, scale: float, with_mock: bool, say: Callable[[str], None]) -> dict[Cell, dict[str, Measured]]:
    """All cells on all peers; a cell's repeats are interleaved over the peers. Warm-ups of each peer go first."""
    from kafka_edu.cli.supervisor import running_cluster

    jars = client_jars()
    results: dict[Cell, dict[str, Measured]] = {}
    with contextlib.ExitStack() as stack:
        peers = [Peer("ours", stack.enter_context(running_cluster("bench-throughput")).bootstrap_servers)]
        peers.append(Peer("kafka", stack.enter_context(apache_kafka(kafka_jars())).bootstrap))
        if with_mock:
            peers.append(stack.enter_context(mock_brokers()))
        for warm_up in range(WARM_UPS):
            for peer in peers:
                measure(jars, peer, CELLS[-1 - 2 * warm_up] if peer.name != "mock" else CELLS[0], 1000 + warm_up, scale)
        for cell in cells:
            taking_part = [p for p in peers if p.name != "mock" or cell.rf == 1]
            runs: dict[str, list[Measured]] = {p.name: [] for p in taking_part}
            for repeat in range(repeats):
                for peer in taking_part:
                    runs[peer.name].append(measure(jars, peer, cell, repeat, scale))
            results[cell] = {
                name: Measured(statistics.median(m.produce for m in many), statistics.median(m.consume for m in many)) for name, many in runs.items()
            }
            shown = "   ".join(f"{name} {m.produce:6.1f} / {_or_dash(m.consume):>6}" for name, m in results[cell].items())
            say(f"{cell.name:24} produce / consume MB/s:   {shown}")
    return results


def _or_dash(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1f}"


def main(argv: list[str]) -> int:
    """Returns 0 when it ran, whether or not the targets hold; 2 when it cannot run here."""
    parser = argparse.ArgumentParser(prog=f"kafka-edu bench {NAME}", description=HELP)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of what is written a measurement: 120 MB of small records, 240 MB of large ones")
    parser.add_argument("--cell", type=int, action="append", choices=range(len(CELLS)), help="only these rows (0-7)")
    parser.add_argument("--no-mock", action="store_true")
    args = parser.parse_args(argv)
    cells = [CELLS[i] for i in args.cell] if args.cell else CELLS
    try:
        results = run(cells, args.repeats, args.scale, not args.no_mock, print)
    except PeerMissing as error:
        print(f"bench throughput cannot run: {error}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as error:
        print(f"a Java client failed: {error.stderr[-2000:]}", file=sys.stderr)
        return 2
    except subprocess.TimeoutExpired as error:
        print(f"a Java client did not come to its end within {error.timeout:g} s: {' '.join(error.cmd[-8:])}", file=sys.stderr)
        return 2
    report = Report(NAME)
    for cell, by_peer in results.items():
        for name, measured in by_peer.items():
            report.figure(f"{cell.name}: {name} produce MB/s", measured.produce)
            if not math.isnan(measured.consume):
                report.figure(f"{cell.name}: {name} consume MB/s", measured.consume)
        ours, kafka = by_peer["ours"], by_peer["kafka"]
        report.target(f"{cell.name}: produce, ours / Apache Kafka 2.8.2", ours.produce / kafka.produce, ">=", TARGET)
        report.target(f"{cell.name}: consume, ours / Apache Kafka 2.8.2", ours.consume / kafka.consume, ">=", TARGET)
    report.show()
    if args.json:
        report.write(args.json)
    return 0
