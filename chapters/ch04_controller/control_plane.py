"""Measure how long LeaderAndIsr and StopReplica wait behind a backlog of Produce requests.

The time is measured with and without a separate listener for the controller (book 001; KIP-291;
spec C10).

Broker 0 may hold many Produce requests in its queue when the controller sends LeaderAndIsr or
StopReplica. All requests in this queue are equal, so the controller's request waits behind all of
them. Much of the work in the meantime is useless: its records are refused, truncated or deleted
afterwards. With control.plane.listener.name the controller's requests arrive on a port of their
own, and do not wait in this queue.

There are two clusters, one without that listener and one with it, and the same flood on one broker.
Topics are created and deleted on that broker, so the controller sends it LeaderAndIsr and
StopReplica. At the end, the leadership of the flooded partition is moved to another broker. The
controller's events report how long each request took.
"""

import queue
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from kafka_edu.cli.demo_frame import demo_command, zookeeper_option
from kafka_edu.cli.demo_topic import BROKERS, wait_until_in_sync
from kafka_edu.cli.progress import Progress
from kafka_edu.cli.report import Report, number
from kafka_edu.clients.admin.cluster_calls import CLUSTER, controlled_shutdown
from kafka_edu.clients.admin.new_topic import make_assigned_topic
from kafka_edu.clients.blocking import Admin
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.server.config.listener_settings import CONTROL_PLANE_KEY
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from kafka_edu.supervisor.cluster_spec import HOST
from kafka_edu.trace.events.controller import ControllerResponseReceived
from kafka_edu.trace.trace_client import TraceClient

from .produce_flood import ProduceFlood

TOPIC: Final = "backlog"
WITHOUT: Final = "one queue for all"
WITH: Final = "separate control plane"
LISTENER: Final = "CONTROL"
#: The time limit, in seconds, of requests that are not measured. The backlog does not delay them.
PATIENCE_S: Final = 600.0
_LOOK_EVERY_S: Final = 0.2
#: With these settings a request behind the backlog only waits, however slow the machine is. The
#: controller does not give up and send it again, and the follower does not leave the ISR.
PROPS: Final = {
    "controller.socket.timeout.ms": "600000",
    "replica.lag.time.max.ms": "600000",
    "zookeeper.session.timeout.ms": "60000",  # the maximum that the embedded ZooKeeper allows
}
LEADER_AND_ISR, STOP_REPLICA, DELETION = "LeaderAndIsr", "StopReplica", "a topic's deletion"


class Measured(NamedTuple):
    """The measurements of one cluster under the flood."""

    how: str
    took_ms: dict[str, list[float]]
    """Request name → how many ms each request took, from sending it to its answer.

    For a deletion, the time runs from the order to the answer to StopReplica. An UpdateMetadata
    comes before the StopReplica.
    """
    leadership_ms: float
    """How many ms the last LeaderAndIsr took: the flooded broker gives up the flooded partition."""
    answered: int
    """The number of Produce requests that were answered without an error."""
    refused: int
    """The number of Produce requests that the broker refused: it was no longer the leader."""
    failures: list[str]

    def median(self, name: str) -> float:
        return round(statistics.median(self.took_ms[name]), 1)

    def longest(self, name: str) -> float:
        return round(max(self.took_ms[name]), 1)


class Answer(NamedTuple):
    """A broker's answer to a request from the controller."""

    key: ApiKey
    took_ms: float
    """The time in ms from sending the request to its answer."""
    at_us: int
    """When the answer came, in µs of the monotonic clock."""


class ControllerWatch:
    """The controller's requests to one broker, as the controller's events report them.

    The events of all brokers are read, because another broker may become the controller.
    """

    def __init__(self, cluster: Cluster, broker: int, flood: ProduceFlood) -> None:
        self._broker = broker
        self._flood = flood
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._clients = [TraceClient(cluster.events_address(each)) for each in cluster.broker_ids]
        for client in self._clients:
            threading.Thread(target=self._read, args=(client,), daemon=True).start()

    def _read(self, client: TraceClient) -> None:
        try:
            for envelope in client:
                match envelope.event:
                    case ControllerResponseReceived(broker_id=self._broker) as event:
                        key = ApiKey(event.api_key)
                        self._answers.put(Answer(key, event.took_us / 1000, envelope.mono_us))
        except (OSError, ValueError):  # the connection is closed at the end
            return

    def await_answer(self, key: ApiKey) -> Answer:
        """Return the broker's next answer to a request of this kind.

        The answer may be late: the broker first answers each Produce request of the backlog. So the
        call waits as long as Produce requests are answered. Raises Standstill if nothing is
        answered any more.
        """
        progress = Progress(f"the answer to a {key.name}")
        while True:
            progress.note(
                f"{self._flood.answered + self._flood.refused:,} produce requests answered"
            )
            try:
                answer = self._answers.get(timeout=_LOOK_EVERY_S)
            except queue.Empty:
                continue
            if answer.key is key:
                return answer

    def close(self) -> None:
        for client in self._clients:
            client.close()


def ask_controlled_shutdown(admin: Admin, broker: int) -> None:
    """Have the controller move all leaderships away from the broker.

    Raises ClusterError if the broker still leads a partition afterwards, and ClientException if the
    controller refuses.
    """
    _, remaining = admin.ask(controlled_shutdown(broker))[CLUSTER]
    if remaining:
        raise ClusterError(f"broker {broker} still leads {len(remaining)} partitions")


def measure(
    cluster: Cluster, how: str, connections: int, megabytes: int, rounds: int, console: Console
) -> Measured:
    """Flood a broker that is not the controller, and measure the controller's requests to it."""
    controller = cluster.wait_ready()
    victim, other = (broker for broker in cluster.broker_ids if broker != controller)
    quiet = f"{HOST}:{cluster.port(controller)}"
    make_assigned_topic(quiet, TOPIC, {0: [victim, other]})
    wait_until_in_sync(quiet, TOPIC, 1, replicas=2)
    flood = ProduceFlood(HOST, cluster.port(victim), TOPIC, connections, megabytes)
    watch = ControllerWatch(cluster, victim, flood)
    took: defaultdict[str, list[float]] = defaultdict(list)
    patience_ms = int(PATIENCE_S * 1000)
    patient = {"request.timeout.ms": patience_ms, "default.api.timeout.ms": patience_ms}
    flood.start()
    try:
        with Admin({"bootstrap.servers": quiet, **patient}) as admin:
            for each in range(rounds):
                name = f"made-and-deleted-{each}"
                make_assigned_topic(quiet, name, {0: [victim]})
                took[LEADER_AND_ISR].append(watch.await_answer(ApiKey.LEADER_AND_ISR).took_ms)
                ordered_us = time.monotonic_ns() // 1000
                admin.delete_topics([name]).all()
                stopped = watch.await_answer(ApiKey.STOP_REPLICA)
                took[STOP_REPLICA].append(stopped.took_ms)
                took[DELETION].append((stopped.at_us - ordered_us) / 1000)
                console.print(
                    f"[dim]○[/] {how}: {each + 1} of {rounds} topics made and deleted; the last"
                    f" {LEADER_AND_ISR} took {took[LEADER_AND_ISR][-1]:,.0f} ms",
                    soft_wrap=True,
                )
            if flood.refused:
                raise ClusterError(
                    f"broker {victim} lost its leadership while it was measured, so there was no"
                    " backlog: its ZooKeeper session expired, because the machine is too busy"
                )
            ask_controlled_shutdown(admin, victim)
            leadership_ms = watch.await_answer(ApiKey.LEADER_AND_ISR).took_ms
    finally:
        flood.stop()
        watch.close()
    console.print(
        f"[green]●[/] {how}: {flood.answered} produce requests answered meanwhile", soft_wrap=True
    )
    return Measured(
        how, took, round(leadership_ms, 1), flood.answered, flood.refused, flood.failures
    )


def rows(measured: Measured) -> dict[str, float]:
    """Return the rows of the result table for one cluster."""
    of_requests = {}
    for name in measured.took_ms:
        of_requests[f"{name}: ms until it was processed, median"] = measured.median(name)
        of_requests[f"{name}: ms until it was processed, longest"] = measured.longest(name)
    return {
        **of_requests,
        "ms until the leader of the flooded partition gave up (once)": measured.leadership_ms,
        "produce requests answered": measured.answered,
        "produce requests that were answered with another leader": measured.refused,
    }


def show(both: Sequence[Measured], console: Console) -> None:
    table = Table(
        "the controller's requests to a broker with a backlog",
        *(each.how for each in both),
        title_justify="left",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for name in rows(both[0]):
        table.add_row(name, *(number(rows(each)[name]) for each in both))
    console.print(table)


def report_of(both: Sequence[Measured]) -> Report:
    report = Report("control-plane")
    for each in both:
        for name, value in rows(each).items():
            report.figure(f"{each.how}: {name}", value)
    without, apart = both
    for name in (LEADER_AND_ISR, DELETION):
        what = (
            f"{name}: median ms with a separate control plane; the target is half the time without"
            " one"
        )
        report.target(what, apart.median(name), "<", without.median(name) / 2)
    report.target(
        "produce requests that failed otherwise",
        len(without.failures) + len(apart.failures),
        "==",
        0,
    )
    return report


@demo_command("control-plane", figures=False)
@click.option(
    "--connections",
    type=click.IntRange(1, 500),
    default=40,
    show_default=True,
    help="Connections that flood one broker with Produce.",
)
@click.option(
    "--megabytes",
    type=click.IntRange(1, 64),
    default=8,
    show_default=True,
    help="The size of each request after decompression, in MiB.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, 100),
    default=5,
    show_default=True,
    help="Topics to make and delete under the flood.",
)
@zookeeper_option
def control_plane(
    console: Console, connections: int, megabytes: int, rounds: int, zookeeper: str
) -> Report:
    """Measure how long the controller's requests wait behind a backlog of Produce requests.

    The time is measured with and without control.plane.listener.name. The exit code is 1 if a
    target is missed.
    """
    both = []
    for how, props in ((WITHOUT, PROPS), (WITH, PROPS | {CONTROL_PLANE_KEY: LISTENER})):
        console.print(f"[dim]○[/] {how}: starting three brokers", soft_wrap=True)
        with running_cluster(
            "control-plane", brokers=BROKERS, zookeeper=zookeeper, props=props
        ) as cluster:
            both.append(measure(cluster, how, connections, megabytes, rounds, console))
    show(both, console)
    report = report_of(both)
    without, apart = (each.median(LEADER_AND_ISR) for each in both)
    report.end(
        happened=f"Behind a backlog of Produce a LeaderAndIsr took {without:,.0f} ms (median),"
        f" and {apart:,.0f} ms with a listener of its own.",
        why="All requests of a listener share one queue, and with control.plane.listener.name the"
        " controller's requests have their own listener, processor, queue and handler (KIP-291).",
        look_next="Read docs/architecture.md, which shows where the requests of each listener go.",
    )
    return report
