"""Show what bootstrap.servers means (book §6.5.2).

A producer bootstraps on a server that is no broker, and keeps working when that server is gone.

    confluent-kafka ── bootstrap ──▶ proxy ── copy of the metadata ──▶ three brokers ◀── bootstrap ── kafka-python
          └───────────────────────── records ─────────────────────────────▲   └───────── records ─────────▶

The book changes a Kafka so that it answers with another cluster's metadata. Here the metadata proxy
(`kafka-edu proxy`) answers with the metadata instead. Half way through the run the proxy is
stopped. At the end each acked record must have been consumed. The demo also counts bytes on both
sides: how many the proxy and the brokers received, and how many are in the logs of each.
"""  # noqa: E501

import socket
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from rich.console import Console

from kafka_edu.cli.demo_frame import demo_command, zookeeper_option
from kafka_edu.cli.demo_topic import (
    BROKERS,
    create_topic,
    wait_until_in_sync,
)
from kafka_edu.cli.progress import STANDSTILL_S, Progress
from kafka_edu.cli.report import Report
from kafka_edu.clients.web_log.records import endless_lines
from kafka_edu.common.python_process import command_line
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from kafka_edu.supervisor.running_proxy import RunningProxy, running_proxy
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.network import ConnectionOpened, NetworkSampled
from kafka_edu.trace.events.proxy import ProxyStopped
from kafka_edu.trace.trace_client import TraceClient

from ..demo_parts.log_clients import LogConsumer, LogProducer, Verdict, compare

TOPIC: Final = "web"
PARTITIONS: Final = 6
NEW_CLIENT_TIMEOUT_S: Final = 2.0
_LOOK_EVERY_S: Final = 0.05


class ProxySide(NamedTuple):
    """The proxy's last report, and the files that it left on its disk."""

    connections: int
    requests: dict[str, int]
    """API name → number of requests that the proxy received."""
    refused: int
    bytes_in: int
    bytes_out: int
    log_bytes: int
    """The size of the proxy's .log files in bytes.

    Brokers store records in files with this suffix.
    """


class Half(NamedTuple):
    """The numbers of records so far, when the proxy is stopped."""

    acked: int
    consumed: int


class Outcome(NamedTuple):
    verdict: Verdict
    half: Half
    proxy: ProxySide
    new_clients: int
    """How many new clients could still bootstrap on the proxy's address after it was stopped."""
    brokers_bytes_in: int
    """Bytes that the brokers received while the clients ran: records and all requests.

    Followers fetch on connections that they open themselves. These bytes are not counted.
    """
    brokers_log_bytes: int
    """The size of the topic's logs in bytes, all replicas together."""


def bytes_into(cluster: Cluster) -> int:
    """Return how many bytes all brokers' sockets have received so far.

    Raises TimeoutError if a broker sends no sample in time.
    """
    total = 0
    for broker in cluster.broker_ids:
        with TraceClient(cluster.events_address(broker), gauges=True) as events:
            sampled = events.wait_for(
                lambda envelope: isinstance(envelope.event, NetworkSampled), STANDSTILL_S
            ).event
        assert isinstance(sampled, NetworkSampled)
        total += sampled.bytes_in_total
    return total


def log_bytes(folders: Sequence[Path]) -> int:
    return sum(path.stat().st_size for folder in folders for path in folder.rglob("*.log"))


def proxy_side(proxy: RunningProxy, events: Sequence[Envelope]) -> ProxySide:
    """Return what the stopped proxy has reported, and what it left on its disk."""
    stopped = next(
        (envelope.event for envelope in events if isinstance(envelope.event, ProxyStopped)), None
    )
    if stopped is None:
        raise ClusterError(f"the proxy did not stop as it should: {proxy.said()}")
    requests = {ApiKey(key).name: count for key, count in stopped.requests}
    connections = sum(isinstance(envelope.event, ConnectionOpened) for envelope in events)
    return ProxySide(
        connections,
        requests,
        stopped.refused,
        stopped.bytes_in,
        stopped.bytes_out,
        log_bytes([proxy.folder]),
    )


def boots(address: str, timeout_s: float) -> bool:
    """Return whether a new client that knows only this address can connect to the cluster.

    The client is confluent-kafka's, because the proxy is for unmodified clients.
    """
    try:
        AdminClient({"bootstrap.servers": address, "log_level": 0}).list_topics(timeout=timeout_s)
    except KafkaException:
        return False
    return True


def is_open(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        probe.settimeout(NEW_CLIENT_TIMEOUT_S)
        return probe.connect_ex((host, int(port))) == 0


def stream_until(end: float, producer: LogProducer, consumer: LogConsumer, above: Half) -> None:
    """Wait until the time `end`, and until more records than in `above` are acked and consumed.

    Raises Standstill if no more records come.
    """
    progress = Progress(f"more than {above.acked:,} acked and {above.consumed:,} consumed records")
    while (
        time.monotonic() < end
        or len(producer.acked) <= above.acked
        or len(consumer.read) <= above.consumed
    ):
        if time.monotonic() > end:
            progress.note(f"{len(producer.acked):,} acked, {len(consumer.read):,} consumed")
        consumer.check()
        producer.check()
        time.sleep(_LOOK_EVERY_S)


def run(
    cluster: Cluster,
    proxy: RunningProxy,
    address: str,
    seconds: float,
    rate: int,
    console: Console,
) -> Outcome:
    """Run the experiment on a cluster and a proxy that are ready."""
    if not boots(address, STANDSTILL_S):
        raise ClusterError(f"no client gets metadata from the proxy: {proxy.said()}")
    bytes_before = bytes_into(cluster)
    producer = LogProducer(address, TOPIC, endless_lines(7), rate)
    consumer = LogConsumer(cluster.bootstrap_servers, TOPIC, PARTITIONS)
    try:
        began = time.monotonic()
        consumer.start()
        producer.start()
        console.print(
            f"[green]●[/] confluent-kafka produces, bootstrap.servers={address} (the proxy)",
            soft_wrap=True,
        )
        console.print(
            f"[green]●[/] kafka-python consumes, bootstrap.servers={cluster.bootstrap_servers} (the"
            " cluster)",
            soft_wrap=True,
        )
        stream_until(began + seconds / 2, producer, consumer, Half(0, 0))
        proxied = proxy_side(proxy, proxy.stop())
        half = Half(len(producer.acked), len(consumer.read))
        console.print(
            f"[red]✕[/] the proxy is stopped; up to now {half.acked:,} records were acked,"
            f" {half.consumed:,} consumed",
            soft_wrap=True,
        )
        if is_open(address):
            raise ClusterError(f"somebody still listens on {address}")
        new_clients = int(boots(address, NEW_CLIENT_TIMEOUT_S))
        stream_until(began + seconds, producer, consumer, half)
        producer.finish()
        consumer.finish()
    finally:
        consumer.abandon()
        producer.abandon()
    wait_until_in_sync(cluster.bootstrap_servers, TOPIC, PARTITIONS)
    verdict = compare(
        producer.produced,
        producer.acked,
        len(producer.failed),
        producer.produced_status,
        consumer.read,
    )
    folders = [
        cluster.folder.broker_data(broker) / f"{TOPIC}-{number}"
        for broker in cluster.broker_ids
        for number in range(PARTITIONS)
    ]
    return Outcome(
        verdict, half, proxied, new_clients, bytes_into(cluster) - bytes_before, log_bytes(folders)
    )


def report_of(outcome: Outcome) -> Report:
    verdict, proxied, report = outcome.verdict, outcome.proxy, Report("proxy")
    report.figure("records produced", verdict.produced)
    report.figure("acked before the proxy was stopped", outcome.half.acked)
    report.figure("consumed before the proxy was stopped", outcome.half.consumed)
    report.figure("connections to the proxy", proxied.connections)
    for api, count in proxied.requests.items():
        report.figure(f"requests that the proxy answered: {api}", count)
    report.figure("bytes into the proxy's socket", proxied.bytes_in)
    report.figure("bytes out of the proxy's socket", proxied.bytes_out)
    report.figure("bytes into the brokers' sockets", outcome.brokers_bytes_in)
    report.figure("bytes in the brokers' logs", outcome.brokers_log_bytes)
    others = sum(
        count
        for api, count in proxied.requests.items()
        if api not in (ApiKey.API_VERSIONS.name, ApiKey.METADATA.name)
    )
    report.target("bytes in the proxy's logs", proxied.log_bytes, "==", 0)
    report.target(
        "requests to the proxy other than ApiVersions and Metadata",
        others + proxied.refused,
        "==",
        0,
    )
    report.target(
        "requests for Metadata to the proxy", proxied.requests.get(ApiKey.METADATA.name, 0), ">", 0
    )
    report.target(
        "bytes into the proxy / bytes into the brokers",
        proxied.bytes_in / outcome.brokers_bytes_in,
        "<",
        0.01,
    )
    report.target("bytes in the brokers' logs", outcome.brokers_log_bytes, ">", 0)
    report.target("acked after the proxy was stopped", verdict.acked - outcome.half.acked, ">", 0)
    report.target(
        "consumed after the proxy was stopped", verdict.consumed - outcome.half.consumed, ">", 0
    )
    report.target("records that were not acked", verdict.produced - verdict.acked, "==", 0)
    report.target("acked records that are lost", verdict.lost, "==", 0)
    report.target("records read twice", verdict.duplicates, "==", 0)
    report.target(
        "records consumed, compared with those acked", verdict.consumed - verdict.acked, "==", 0
    )
    report.target(
        "new clients that get metadata from the stopped proxy", outcome.new_clients, "==", 0
    )
    return report


@demo_command("proxy")
@click.option(
    "--seconds",
    type=click.FloatRange(2),
    default=20.0,
    show_default=True,
    help="The shortest time to produce, in seconds.",
)
@click.option(
    "--rate",
    type=click.IntRange(1, 100_000),
    default=1000,
    show_default=True,
    help="Records a second.",
)
@zookeeper_option
def proxy(console: Console, seconds: float, rate: int, zookeeper: str) -> Report:
    """Show what bootstrap.servers means, with a producer that bootstraps on a metadata proxy.

    The proxy is stopped half way, and records and bytes are counted. The exit code is 1 if a target
    is missed.
    """
    with running_cluster("proxy", brokers=BROKERS, zookeeper=zookeeper) as cluster:
        # before the proxy copies the metadata
        create_topic(cluster.bootstrap_servers, TOPIC, PARTITIONS)
        with (
            tempfile.TemporaryDirectory(prefix="kafka-edu-proxy-") as folder,
            running_proxy(Path(folder), "--target", cluster.bootstrap_servers) as (
                running,
                address,
            ),
        ):
            outcome = run(cluster, running, address, seconds, rate, console)
    report = report_of(outcome)
    report.end(
        happened=f"A producer started on the proxy, and {outcome.verdict.acked:,} records were"
        " acked and consumed although the proxy stopped half way.",
        why="A client uses bootstrap.servers only to fetch the metadata, which names the brokers,"
        " and sends all records to the brokers themselves.",
        look_next="Read docs/metadata-proxy.md, and start a proxy of your own with"
        f" {command_line('proxy --help')}.",
    )
    return report
