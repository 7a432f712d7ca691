"""`kafka-edu bench throughput`: compare kafka-edu's broker with two other brokers in one run.

The others are Apache Kafka 2.8.2 and librdkafka's mock broker.

Three values are measured, with the same clients and settings for each broker. The brokers take
turns (ours, theirs; theirs, ours; …), because each one leaves data that must still be written to
the disk. Each figure is the median of the repeats:

    MB/s           produce and consume, with Java's ProducerPerformance and ConsumerPerformance
                   and with confluent-kafka; six partitions, batches of 64 KiB, linger 5 ms;
                   records of 100 B and 1 KiB, acks 0, 1, all, RF 1 and 3
    requests/s     produce requests with one record each, over eight connections, with five
                   unanswered requests on each
    latency        from a producer's call until a consumer has the record, at 1,000 records a second

All clusters run during the whole benchmark, and are idle while another one is measured. The mock
takes part only where it can: with librdkafka's client, RF 1, and without reading, because it keeps
only 5 MB of a partition. At the end, the anonymous memory of each broker is measured.
"""

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import command_line
from kafka_edu.supervisor.cluster import Cluster, running_cluster

from . import confluent_clients, java_clients
from .apache_kafka import PeerMissing, apache_kafka, kafka_jars
from .end_to_end_latency import Latency, end_to_end_latency
from .options import add_repeats
from .request_rate import request_rate

NAME = "throughput"
HELP = (
    "produce and consume, requests/s and latency, compared with Apache Kafka 2.8.2 and"
    " librdkafka's mock broker (needs Java; half an hour)"
)

PARTITIONS = 6
BROKERS = 3
MEGABYTE = 1 << 20
SETTINGS = {"offsets.topic.num.partitions": "5", "group.initial.rebalance.delay.ms": "0"}
"""Settings of kafka-edu's brokers.

ApacheKafka.up gives the same settings to Apache Kafka's brokers.
"""
MEGABYTES = {
    ("java", 100): 120,
    ("java", 1024): 240,
    ("confluent", 100): 40,
    ("confluent", 1024): 160,
}
"""Client and record size in bytes → megabytes that are written in one measurement."""
RATE_SECONDS = 4.0
LATENCY_SECONDS = 8.0
IN_EVERY_CELL = 0.95
ALTOGETHER = 1.0
REQUESTS = 0.4
LATENCY = 2.0
MEMORY_MB = 150
READS = {"java": 2, "confluent": 5}
"""Client → how often the written records are read.

The Java consumer needs a second for one read, with its JIT. The other client needs a quarter of a
second. So a single read is not precise.
"""


class CheckoutFails(Exception):
    """A command of the other checkout has failed.

    The text of this exception contains the command and its last output.
    """


class Cell(NamedTuple):
    """One row of the table: one combination of client, record size, acks and RF."""

    client: str
    size: int
    acks: str
    rf: int

    @property
    def name(self) -> str:
        return f"{self.client}, {self.size} B, acks {self.acks}, RF {self.rf}"

    @property
    def records(self) -> int:
        return MEGABYTES[self.client, self.size] * 1_000_000 // self.size


CELLS = [
    Cell(client, size, acks, rf)
    for client in ("java", "confluent")
    for rf in (1, 3)
    for size in (100, 1024)
    for acks in ("0", "1", "all")
]


class Peer(NamedTuple):
    name: str
    bootstrap: str

    @property
    def is_mock(self) -> bool:
        return self.name == "mock"

    def takes_part(self, cell: Cell) -> bool:
        return not self.is_mock or (cell.client == "confluent" and cell.rf == 1)


class Measured(NamedTuple):
    """The medians of one cell, in MB/s of payload. NaN if the cluster cannot be measured."""

    produce: float
    consume: float


class Repeat(NamedTuple):
    """The MB/s of one repeat. The records that were produced are read READS times."""

    produce: float
    consume: list[float]


def create_topic(bootstrap: str, topic: str, rf: int) -> list[tuple[str, int]]:
    """Create a topic. Return the address of each partition's leader."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics(
        [NewTopic(topic, PARTITIONS, rf)], request_timeout=30
    ).values():
        future.result(60)
    # A broker that does not know yet that it leads a partition refuses records. With acks=0 they
    # would be lost. So one record is first written to each partition with acks=all.
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    for partition in range(PARTITIONS):
        producer.produce(topic, b"first", partition=partition)
    if producer.flush(60):
        raise RuntimeError(f"{topic} has no leaders a minute after it was created")
    metadata = producer.list_topics(topic, timeout=30)
    leaders = [
        partition.leader for _, partition in sorted(metadata.topics[topic].partitions.items())
    ]
    return [
        (str(metadata.brokers[leader].host), metadata.brokers[leader].port) for leader in leaders
    ]


def delete_topic(bootstrap: str, topic: str) -> None:
    """Delete a topic, so that it does not slow down the next measurement."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_topics([topic], request_timeout=30).values():
        future.result(60)


@contextlib.contextmanager
def mock_brokers() -> Iterator[Peer]:
    """Run librdkafka's mock cluster: brokers in C, in memory, inside a client's process."""
    producer = Producer({"test.mock.num.brokers": BROKERS, "bootstrap.servers": "ignored"})
    brokers = producer.list_topics(timeout=10).brokers.values()
    yield Peer("mock", ",".join(f"{b.host}:{b.port}" for b in brokers))


def also_peer(stack: contextlib.ExitStack, setting: str | None) -> list[Peer]:
    """Start a second kafka-edu cluster with one more setting.

    It is stopped when the stack closes.
    """
    if setting is None:
        return []
    key, _, value = setting.partition("=")
    cluster = stack.enter_context(running_cluster("bench-also", props={**SETTINGS, key: value}))
    return [Peer(setting, cluster.bootstrap_servers)]


@contextlib.contextmanager
def other_checkout(folder: Path) -> Iterator[Peer]:
    """Run the brokers of another checkout of kafka-edu during the block. Raises CheckoutFails.

    The cluster is in a temporary folder, and its packages are in a separate environment.
    """
    command = str(folder.resolve() / "kafka-edu")
    inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "KAFKA_EDU_VENV")}
    with tempfile.TemporaryDirectory(prefix="kafka-edu-bench-") as home:
        state = Path(home) / "state.json"

        def cluster(*args: str) -> None:
            try:
                subprocess.run(
                    [command, "cluster", *args],
                    env={**inherited, "KAFKA_EDU_HOME": home},
                    capture_output=True,
                    text=True,
                    check=True,
                )
            except OSError as error:
                raise CheckoutFails(f"{command}: {error.strerror}") from error
            except subprocess.CalledProcessError as error:
                raise CheckoutFails(
                    f"{command} cluster {args[0]}: {error.stderr[-2000:]}"
                ) from error

        props = [f"--prop={key}={value}" for key, value in SETTINGS.items()]
        cluster("up", f"--brokers={BROKERS}", f"--json={state}", *props)
        bootstrap = json.loads(state.read_text(encoding="utf-8"))["bootstrap_servers"]
        try:
            yield Peer(str(folder), bootstrap)
        finally:
            cluster("down", "--delete")


class Run:
    """The clusters, during one run of the benchmark."""

    def __init__(
        self, peers: list[Peer], jars: Path, repeats: int, say: Callable[[str], None]
    ) -> None:
        self._peers = peers
        self._jars = jars
        self._repeats = repeats
        self._say = say
        self._topics = 0

    def _turns(self) -> Iterator[Peer]:
        """Yield each cluster once in each repeat. Every second repeat has the opposite order."""
        for repeat in range(self._repeats):
            yield from reversed(self._peers) if repeat % 2 else self._peers

    @contextlib.contextmanager
    def _topic(self, peer: Peer, rf: int) -> Iterator[tuple[str, list[tuple[str, int]]]]:
        """Create a new topic during the block. Yield its name and the addresses of its leaders.

        The mock does not support CreateTopics. It creates a topic at the first request for the
        topic, and keeps it.
        """
        self._topics += 1
        name = f"bench-{self._topics}"
        if peer.is_mock:
            yield name, []
        else:
            yield name, create_topic(peer.bootstrap, name, rf)
            delete_topic(peer.bootstrap, name)

    def throughput(self, peer: Peer, cell: Cell) -> Repeat:
        """Measure one cell once."""
        size, acks, records = cell.size, cell.acks, cell.records
        with self._topic(peer, cell.rf) as (topic, _):
            if cell.client == "java":
                produced = java_clients.produce(
                    self._jars, peer.bootstrap, topic, size=size, acks=acks, records=records
                )
                return Repeat(
                    produced,
                    [
                        java_clients.consume(self._jars, peer.bootstrap, topic, records=records)
                        for _ in range(READS[cell.client])
                    ],
                )
            produced = confluent_clients.produce(
                peer.bootstrap, topic, size=size, acks=acks, records=records
            )
            if peer.is_mock:
                return Repeat(produced, [math.nan])
            return Repeat(
                produced,
                [
                    confluent_clients.consume(
                        peer.bootstrap, topic, PARTITIONS, size=size, records=records
                    )
                    for _ in range(READS[cell.client])
                ],
            )

    def warm_up(self, cells: list[Cell]) -> None:
        """Run measurements that do not count, with large and small records and RF 3.

        After that, a JVM has compiled the code that the measurements use.
        """
        for cell in (cells[-1], cells[0]):
            for peer in self._peers:
                if peer.takes_part(cell):
                    self.throughput(peer, cell)

    def cell(self, cell: Cell) -> dict[str, Measured]:
        """Return cluster → the medians of one cell.

        In each repeat, the clusters are measured in turn.
        """
        runs: dict[str, list[Repeat]] = {
            peer.name: [] for peer in self._peers if peer.takes_part(cell)
        }
        for peer in self._turns():
            if peer.takes_part(cell):
                runs[peer.name].append(self.throughput(peer, cell))
        found = {
            name: Measured(
                statistics.median(m.produce for m in many),
                statistics.median(rate for m in many for rate in m.consume),
            )
            for name, many in runs.items()
        }
        shown = "   ".join(
            f"{name} {m.produce:6.1f} / {_or_dash(m.consume):>6}" for name, m in found.items()
        )
        self._say(f"{cell.name:34} produce / consume MB/s:   {shown}")
        return found

    def request_rates(self, acks: int, rf: int) -> dict[str, float]:
        """Return cluster → requests/s."""
        runs: dict[str, list[float]] = {peer.name: [] for peer in self._peers if not peer.is_mock}
        for peer in self._turns():
            if not peer.is_mock:
                with self._topic(peer, rf) as (topic, leaders):
                    runs[peer.name].append(
                        request_rate(leaders, topic, acks=acks, seconds=RATE_SECONDS)
                    )
        return {name: statistics.median(many) for name, many in runs.items()}

    def latencies(self, rf: int) -> dict[str, Latency]:
        """Return cluster → the medians of the latency's percentiles."""
        runs: dict[str, list[Latency]] = {peer.name: [] for peer in self._peers if not peer.is_mock}
        for peer in self._turns():
            if not peer.is_mock:
                with self._topic(peer, rf) as (topic, _):
                    runs[peer.name].append(
                        end_to_end_latency(
                            peer.bootstrap, topic, PARTITIONS, seconds=LATENCY_SECONDS
                        )
                    )
        return {
            name: Latency(
                statistics.median(m.p50 for m in many), statistics.median(m.p99 for m in many)
            )
            for name, many in runs.items()
        }


def _or_dash(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1f}"


def report_cells(report: Report, results: dict[Cell, dict[str, Measured]]) -> None:
    """Compare each cell with Apache Kafka, and report the geometric mean of all ratios."""
    ratios: dict[str, list[float]] = {"produce": [], "consume": []}
    for cell, by_peer in results.items():
        for name, measured in by_peer.items():
            for way, value in measured._asdict().items():
                if not math.isnan(value):
                    report.figure(f"{cell.name}: {name} {way} MB/s", value)
        for way, many in ratios.items():
            ratio = getattr(by_peer["ours"], way) / getattr(by_peer["kafka"], way)
            many.append(ratio)
            report.target(
                f"{cell.name}: {way}, ours / Apache Kafka 2.8.2", ratio, ">=", IN_EVERY_CELL
            )
    for way, many in ratios.items():
        report.target(
            f"{way}, all cells (geometric mean): ours / Apache Kafka 2.8.2",
            statistics.geometric_mean(many),
            ">=",
            ALTOGETHER,
        )


def report_rates(report: Report, run: Run) -> None:
    for acks, rf in ((1, 1), (-1, 3)):
        rates = run.request_rates(acks, rf)
        name = f"requests of one record/s, acks {'all' if acks < 0 else acks}, RF {rf}"
        for peer, rate in rates.items():
            report.figure(f"{name}: {peer}", rate)
        report.target(
            f"{name}: ours / Apache Kafka 2.8.2", rates["ours"] / rates["kafka"], ">=", REQUESTS
        )


def report_latencies(report: Report, run: Run) -> None:
    for rf in (1, 3):
        latencies = run.latencies(rf)
        name = f"latency at 1,000 records/s, acks all, RF {rf}, ms"
        for peer, latency in latencies.items():
            report.figure(f"{name}: {peer} p50", latency.p50)
            report.figure(f"{name}: {peer} p99", latency.p99)
        report.target(
            f"{name}: p50, ours / Apache Kafka 2.8.2",
            latencies["ours"].p50 / latencies["kafka"].p50,
            "<=",
            LATENCY,
        )


def our_memory(cluster: Cluster) -> float:
    """Return the anonymous memory of kafka-edu's largest broker, in MB."""
    return (
        max(
            process.rss_anon or 0
            for process in cluster.status().processes
            if process.broker is not None
        )
        / MEGABYTE
    )


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed.

    Return 2 if it cannot run on this machine.
    """
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    add_repeats(parser, 3)
    parser.add_argument(
        "--cell",
        type=int,
        action="append",
        choices=range(len(CELLS)),
        help="only these rows of the table",
    )
    parser.add_argument("--client", choices=["java", "confluent"], help="only this client's rows")
    parser.add_argument(
        "--also",
        metavar="KEY=VALUE",
        help="measure a second cluster of ours too, with this setting",
    )
    parser.add_argument(
        "--checkout",
        metavar="FOLDER",
        type=Path,
        action="append",
        default=[],
        help="measure the brokers of another checkout of kafka-edu too, such as one of an older"
        " commit",
    )
    parser.add_argument(
        "--only",
        choices=["mb", "requests", "latency"],
        action="append",
        help="only this one of the three measurements",
    )
    args = parser.parse_args(argv)
    cells = (
        [CELLS[i] for i in args.cell]
        if args.cell
        else [cell for cell in CELLS if args.client in (None, cell.client)]
    )
    wanted = args.only or ["mb", "requests", "latency"]
    report = Report(NAME)
    try:
        with contextlib.ExitStack() as stack:
            jars = kafka_jars()
            ours = stack.enter_context(running_cluster("bench-throughput", props=SETTINGS))
            kafka = stack.enter_context(apache_kafka(jars))
            peers = [
                Peer("ours", ours.bootstrap_servers),
                *also_peer(stack, args.also),
                *(stack.enter_context(other_checkout(one)) for one in args.checkout),
                Peer("kafka", kafka.bootstrap),
                stack.enter_context(mock_brokers()),
            ]
            run = Run(peers, jars, args.repeats, lambda line: print(line, flush=True))
            run.warm_up(cells)
            if "mb" in wanted:
                report_cells(report, {cell: run.cell(cell) for cell in cells})
            if "requests" in wanted:
                report_rates(report, run)
            if "latency" in wanted:
                report_latencies(report, run)
            report.figure(
                "Apache Kafka 2.8.2: a broker's RssAnon after all that, MB",
                max(map(kafka.rss_anon, range(BROKERS))) / MEGABYTE,
            )
            report.target(
                "a broker's RssAnon after all that, MB", our_memory(ours), "<=", MEMORY_MB
            )
    except PeerMissing as error:
        print(f"bench throughput cannot run: {error}", file=sys.stderr)
        return 2
    except CheckoutFails as error:
        print(f"the other checkout: {error}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as error:
        print(f"a Java client failed: {error.stderr[-2000:]}", file=sys.stderr)
        return 2
    except subprocess.TimeoutExpired as error:
        print(
            f"a Java client did not finish within {error.timeout:g} s: {' '.join(error.cmd[-8:])}",
            file=sys.stderr,
        )
        return 2
    report.show()
    if args.json:
        report.write(args.json)
    return 0
