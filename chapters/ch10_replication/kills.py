"""Kill brokers with -9 for a minute: five brokers, including the controller, die and come back.

Two producers run meanwhile. Afterwards the demo checks the fate of every record. The demo uses
replication factor 3, min.insync.replicas 2, acks=all, and idempotent producers on confluent-kafka
and kafka-python. Each acked record must be stored exactly once at the offset that its ack
named. In each partition, the records of one producer must be in the order of sending. The three
replicas of each partition must hold the same bytes.
"""

import time
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

import click
from rich.console import Console
from rich.markup import escape

from kafka_edu.cli.demo_frame import demo_command, wait_until, zookeeper_option
from kafka_edu.cli.demo_topic import (
    BROKERS,
    create_topic,
    wait_until_in_sync,
)
from kafka_edu.cli.progress import Progress, Standstill
from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import command_line
from kafka_edu.supervisor.cluster import Cluster, running_cluster

from ..demo_parts.numbered_clients import ConfluentProducer, NumberedProducer, PythonProducer
from ..demo_parts.stored_records import Found, compare, read_all

TOPIC: Final = "kills"
PARTITIONS: Final = 6
RECORD_BYTES: Final = 200
WARM_UP_S: Final = 3.0
_LOOK_EVERY_S: Final = 0.1


class Kill(NamedTuple):
    """One kill of a broker with -9."""

    controller: bool
    """Whether to kill the controller.

    Otherwise a leader that is not the controller is killed, if there is one.
    """
    down_s: float
    """How many seconds the broker stays away.

    Its session lasts 6 s: ZooKeeper does not notice a shorter absence.
    """


KILLS: Final = (
    Kill(False, 8.0),
    Kill(True, 2.0),
    Kill(False, 1.0),
    Kill(True, 8.0),
    Kill(False, 2.0),
)


class Outcome(NamedTuple):
    """The outcome of the run."""

    sent: int
    acked: int
    refused: list[str]
    found: Found
    kills: int
    controllers_killed: int
    identical_partitions: int
    longest_silences: dict[str, float]


def kill_and_restart(cluster: Cluster, kill: Kill, console: Console) -> bool:
    """Kill a broker and start it again. Return whether the broker was the controller."""
    controller = cluster.wait_ready()
    leaders = wait_until_in_sync(cluster.bootstrap_servers, TOPIC, PARTITIONS)
    victim = (
        controller
        if kill.controller
        else next((leader for leader in leaders.values() if leader != controller), controller)
    )
    led = sum(leader == victim for leader in leaders.values())
    cluster.kill(victim)
    what = "the controller" if victim == controller else "no controller"
    console.print(
        f"[red]✕[/] kill -9: broker {victim}, {what}, leader of {led} partitions; back in"
        f" {kill.down_s:g} s"
    )
    time.sleep(kill.down_s)  # the kills differ in how long the broker stays away
    cluster.start(victim)
    return victim == controller


def identical_partitions(cluster: Cluster) -> int:
    """Return how many partitions have the same bytes on all brokers.

    Wait for the followers' last fetches, as long as more bytes arrive.
    """
    progress = Progress("the followers' last fetches")
    while True:
        logs = [
            [_log_bytes(cluster.replica(broker, TOPIC, number)) for broker in range(BROKERS)]
            for number in range(PARTITIONS)
        ]
        same = sum(len(set(replicas)) == 1 and len(replicas[0]) > 0 for replicas in logs)
        if same == PARTITIONS:
            return same
        try:
            progress.note([[len(replica) for replica in replicas] for replicas in logs])
        except Standstill:
            return same
        time.sleep(_LOOK_EVERY_S)


def _log_bytes(folder: Path) -> bytes:
    """Return the bytes of all segments of a replica, one after another.

    They are joined, so that it does not matter where each broker begins its segments.
    """
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))


def run(cluster: Cluster, seconds: float, rate: int, console: Console) -> Outcome:
    """Kill the brokers one after another during `seconds`, under two producers.

    The producers together send `rate` records/s. The run takes longer if the replicas need longer
    to catch up.
    """
    create_topic(cluster.bootstrap_servers, TOPIC, PARTITIONS)
    producers: list[NumberedProducer] = [
        producer(cluster.bootstrap_servers, TOPIC, PARTITIONS, rate // 2, RECORD_BYTES)
        for producer in (ConfluentProducer, PythonProducer)
    ]
    began = time.monotonic()
    for producer in producers:
        producer.start()
    controllers = 0
    for i, kill in enumerate(KILLS):
        wait_until(began + WARM_UP_S + i * (seconds - WARM_UP_S) / len(KILLS))
        controllers += kill_and_restart(cluster, kill, console)
    wait_until(began + seconds)
    for producer in producers:
        producer.finish()
    console.print(
        f"[green]●[/] {sum(p.sent for p in producers):,} records sent in"
        f" {time.monotonic() - began:.0f} s; reading them back"
    )
    leaders = wait_until_in_sync(cluster.bootstrap_servers, TOPIC, PARTITIONS)
    acked = {place: offset for producer in producers for place, offset in producer.acked.items()}
    found = compare(acked, read_all(cluster, TOPIC, leaders))
    return Outcome(
        sum(producer.sent for producer in producers),
        len(acked),
        [error for producer in producers for error in producer.refused],
        found,
        len(KILLS),
        controllers,
        identical_partitions(cluster),
        {producer.name: round(producer.longest_silence(), 2) for producer in producers},
    )


def report_of(outcome: Outcome) -> Report:
    report = Report("kills")
    report.figure("sent", outcome.sent)
    report.figure("acked", outcome.acked)
    report.figure("refused", len(outcome.refused))
    report.figure("refused, by error", dict(Counter(outcome.refused).most_common()))
    for name, value in outcome.found._asdict().items():
        report.figure(name, value)
    for name, seconds in outcome.longest_silences.items():
        report.figure(f"longest time without an ack on a partition, {name}, s", seconds)
    report.target("brokers killed", outcome.kills, ">=", len(KILLS))
    report.target("of these, controllers", outcome.controllers_killed, ">=", 1)
    report.target("acked records", outcome.acked, ">", 0)
    report.target("acked records that are lost", outcome.found.lost, "==", 0)
    report.target("records stored twice", outcome.found.duplicates, "==", 0)
    report.target("records out of order", outcome.found.out_of_order, "==", 0)
    report.target(
        "partitions whose replicas hold the same bytes",
        outcome.identical_partitions,
        "==",
        PARTITIONS,
    )
    return report


@demo_command("kills")
@click.option(
    "--seconds",
    type=click.FloatRange(10),
    default=60.0,
    show_default=True,
    help="The shortest time to produce, in seconds.",
)
@click.option(
    "--rate",
    type=click.IntRange(2, 100_000),
    default=1000,
    show_default=True,
    help="Records a second, of both producers together.",
)
@zookeeper_option
def kills(console: Console, seconds: float, rate: int, zookeeper: str) -> Report:
    """Kill five brokers with -9 under two producers, and account for every record.

    The exit code is 1 if a target is missed.
    """
    with running_cluster("kills", brokers=BROKERS, zookeeper=zookeeper) as cluster:
        outcome = run(cluster, seconds, rate, console)
    for reason, count in Counter(outcome.refused).most_common():
        console.print(f"[red]refused[/] {count:,} records: {escape(reason)}", soft_wrap=True)
    report = report_of(outcome)
    report.end(
        happened=f"Brokers were killed {outcome.kills} times, and all {outcome.acked:,} acked"
        " records are there once and in order.",
        why="With acks=all the leader answers only when every in-sync replica has the record, so"
        " each new leader has it, and the producer's sequence numbers prevent duplicates.",
        look_next="Read docs/produce-path.md, and follow one kill through all its causes with"
        f" {command_line('demo chain')}.",
    )
    return report
