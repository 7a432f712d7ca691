"""Stream a web log through three brokers, and kill a leader: no acked record is lost.

The demo sets up its own cluster and streams a web log through it with unmodified clients. While
they run, it kills the leader of a partition with SIGKILL. Then it compares every acked record with
the records that were read, and stops everything.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import click
from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as ProgressLine
from rich.table import Table

from kafka_edu.cli.demo_ending import ends_in_sentences
from kafka_edu.cli.demo_frame import json_option, zookeeper_option
from kafka_edu.cli.demo_topic import BROKERS, create_topic, demo_admin, leaders_of
from kafka_edu.cli.progress import Progress, wait_while_moving
from kafka_edu.cli.report import Report
from kafka_edu.clients.blocking import Admin
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.web_log.records import endless_lines
from kafka_edu.common.python_process import command_line
from kafka_edu.supervisor.cluster import Cluster, is_up, start_cluster
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import Wish

from ..demo_parts.log_clients import LogConsumer, LogProducer, Verdict, compare, longest_silence

TOPIC: Final = "web"
PARTITIONS: Final = 6
WARM_UP_S: Final = 2.0
_LOOK_EVERY_S: Final = 0.05


class Killing(NamedTuple):
    """The effects of the leader's kill."""

    broker: int
    partitions: tuple[int, ...]
    """The partitions that the killed broker led."""
    leaders_before: tuple[int, ...]
    leaders_after: tuple[int, ...]
    at: float
    seconds_without_leader: float
    """Time from the kill until Metadata names a living leader for each of the partitions."""


class Result(NamedTuple):
    ready_s: float
    verdict: Verdict
    killing: Killing
    seconds_without_ack: float
    """The producer's longest time without an ack, on a partition that the killed broker led."""


class Narrator:
    """Prints the progress: one changing line on a terminal, plain lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._progress = ProgressLine(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[counts]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=None, counts="")

    def __enter__(self) -> "Narrator":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """Print a line that the next line does not replace."""
        self.console.print(text, soft_wrap=True)

    def doing(self, text: str) -> None:
        """Show what the demo waits for at this moment."""
        self._progress.update(self._task, description=text)

    def count(self, producer: LogProducer, consumer: LogConsumer) -> None:
        counts = (
            f"produced {producer.produced:,} · acked {len(producer.acked):,} · read"
            f" {len(consumer.read):,}"
        )
        self._progress.update(self._task, counts=counts)


def leaders(admin: Admin) -> dict[int, int]:
    """Return partition → leader (-1: none), from a broker's Metadata answer."""
    try:
        return leaders_of(admin, TOPIC)
    except ClientException:  # this broker has just died: the next look asks another
        return {}


def all_leaders(admin: Admin) -> dict[int, int]:
    """Return partition → leader, as soon as every partition has a leader.

    Raises Standstill if a partition gets none.
    """
    return wait_while_moving(
        lambda: leaders(admin),
        lambda found: len(found) == PARTITIONS and min(found.values()) >= 0,
        "a leader of each partition",
    )


def kill_leader(
    cluster: Cluster,
    admin: Admin,
    narrator: Narrator,
    producer: LogProducer,
    consumer: LogConsumer,
) -> Killing:
    """Kill the broker that leads partition 0, and wait until its partitions have new leaders."""
    before = all_leaders(admin)
    victim = before[0]
    led = tuple(sorted(partition for partition, leader in before.items() if leader == victim))
    pid = cluster.pid(victim)
    at = time.monotonic()
    cluster.kill(victim)
    narrator.say(
        f"[red]✕[/] kill -9 {pid}: broker {victim}, which led partition{'s' * (len(led) > 1)}"
        f" {', '.join(map(str, led))}"
    )
    narrator.doing("waiting for new leaders (its ZooKeeper session must expire: 6 s)")
    progress = Progress(f"new leaders of the partitions {led}")
    while True:
        now = leaders(admin)
        progress.note(f"leaders {now}")
        if len(now) == PARTITIONS and all(now[partition] not in (victim, -1) for partition in led):
            gap = time.monotonic() - at
            moved = ", ".join(f"{partition} → {now[partition]}" for partition in led)
            narrator.say(f"[green]●[/] new leaders after {gap:.1f} s: {moved}")
            return Killing(
                victim,
                led,
                tuple(before[p] for p in led),
                tuple(now[p] for p in led),
                at,
                round(gap, 3),
            )
        narrator.count(producer, consumer)
        time.sleep(_LOOK_EVERY_S)


def stream(
    cluster: Cluster, seconds: float, rate: int, seed: int, narrator: Narrator, ready_s: float
) -> Result:
    """Run the demo on a cluster that is ready."""
    narrator.doing("creating the topic")
    create_topic(cluster.bootstrap_servers, TOPIC, PARTITIONS)
    narrator.say(
        f"[green]●[/] topic {TOPIC}: {PARTITIONS} partitions on 3 brokers each,"
        " min.insync.replicas 2"
    )
    producer = LogProducer(cluster.bootstrap_servers, TOPIC, endless_lines(seed), rate)
    consumer = LogConsumer(cluster.bootstrap_servers, TOPIC, PARTITIONS)
    try:
        began = time.monotonic()
        consumer.start()
        producer.start()
        narrator.doing("streaming the web log")
        _stream_until(began + WARM_UP_S, narrator, producer, consumer, at_least_acked=1)
        with demo_admin(cluster.bootstrap_servers) as admin:
            killing = kill_leader(cluster, admin, narrator, producer, consumer)
        narrator.doing("streaming continues with two brokers")
        _stream_until(
            max(began + seconds, time.monotonic() + WARM_UP_S), narrator, producer, consumer
        )
        narrator.doing("waiting for the last acks")
        producer.finish()
        narrator.doing("reading to the end")
        consumer.finish()
        narrator.count(producer, consumer)
    finally:
        consumer.abandon()
        producer.abandon()
    verdict = compare(
        producer.produced,
        producer.acked,
        len(producer.failed),
        producer.produced_status,
        consumer.read,
    )
    silence = longest_silence(producer.acked, frozenset(killing.partitions), killing.at)
    return Result(ready_s, verdict, killing, round(silence, 3))


def _stream_until(
    end: float,
    narrator: Narrator,
    producer: LogProducer,
    consumer: LogConsumer,
    at_least_acked: int = 0,
) -> None:
    progress = Progress("the producer's first acknowledgement")
    while time.monotonic() < end or len(producer.acked) < at_least_acked:
        narrator.count(producer, consumer)
        consumer.check()
        producer.check()
        if time.monotonic() > end:
            progress.note(f"{producer.produced:,} records produced, none acked")
        time.sleep(_LOOK_EVERY_S)


@contextlib.contextmanager
def demo_cluster(keep: bool, zookeeper: str, narrator: Narrator) -> Iterator[tuple[Cluster, float]]:
    """Start a cluster for the demo. Yield it when it is ready, and how many seconds that took.

    Its name is `demo`, or another name if this one is taken.
    """
    folder = ClusterFolder.of("demo")
    taken = is_up(folder) or (folder.spec.exists() and not folder.temporary.exists())
    name = f"demo-{os.getpid()}" if taken else "demo"
    began = time.monotonic()
    narrator.doing("starting ZooKeeper and three brokers")
    cluster = start_cluster(name, Wish(BROKERS, None, zookeeper), temporary=not keep)
    kept = False
    try:
        cluster.wait_ready()
        ready_s = time.monotonic() - began
        narrator.say(
            f"[green]●[/] cluster {name} ready in {ready_s:.2f} s: {cluster.bootstrap_servers},"
            f" ZooKeeper {cluster.zookeeper_connect}"
        )
        yield cluster, ready_s
        if keep:
            cluster.release()
            kept = True
    finally:
        if kept:
            cluster.close()
        else:
            narrator.doing("stopping everything")
            cluster.down(delete=True)


def show(result: Result, console: Console) -> None:
    verdict, killing = result.verdict, result.killing
    table = Table(show_header=False, title="What happened", title_justify="left")
    table.add_column()
    table.add_column(justify="right")
    table.add_row("produced", f"{verdict.produced:,}")
    table.add_row("acked (acks=all)", f"{verdict.acked:,}")
    table.add_row("consumed", f"{verdict.consumed:,}")
    table.add_row(
        "lost: acked, but not where the ack said",
        f"[{'green' if verdict.lost == 0 else 'red'}]{verdict.lost:,}[/]",
    )
    table.add_row("duplicates", f"{verdict.duplicates:,}")
    table.add_row("not acked", f"{verdict.produced - verdict.acked:,}")
    table.add_row(
        "status codes as the generator counted them", "yes" if verdict.statuses_agree else "no"
    )
    for partition, before, after in zip(
        killing.partitions, killing.leaders_before, killing.leaders_after, strict=True
    ):
        table.add_row(f"leader of {TOPIC}-{partition} before → after", f"{before} → {after}")
    table.add_row("seconds without a leader (Metadata)", f"{killing.seconds_without_leader:.2f}")
    table.add_row("longest wait for an ack there (producer)", f"{result.seconds_without_ack:.2f}")
    console.print(table)


def report_of(result: Result) -> Report:
    killing, verdict, report = result.killing, result.verdict, Report("demo")
    figures = {
        "ready_s": round(result.ready_s, 3),
        **verdict._asdict(),
        "killed_broker": killing.broker,
        "partitions": list(killing.partitions),
        "leaders_before": list(killing.leaders_before),
        "leaders_after": list(killing.leaders_after),
        "seconds_without_leader": killing.seconds_without_leader,
        "seconds_without_ack": result.seconds_without_ack,
    }
    for name, value in figures.items():
        report.figure(name, value)
    report.target("acked records that are lost", verdict.lost, "==", 0)
    report.target("records read twice", verdict.duplicates, "==", 0)
    report.target("records that were not acked", verdict.produced - verdict.acked, "==", 0)
    report.target(
        "status codes as the generator counted them (1: yes)", int(verdict.statuses_agree), "==", 1
    )
    report.end(
        happened=f"Broker {killing.broker} was killed under load, its partitions had new leaders"
        f" after {killing.seconds_without_leader:.1f} s, and all {verdict.acked:,} acked records"
        " were read back.",
        why="With acks=all a record is acknowledged when every in-sync replica has it, so any"
        " replica that the controller elects has it too.",
        look_next=f"See every cause of such an election with {command_line('demo chain')}, or watch"
        f" a cluster with {command_line('cluster up')} and {command_line('dashboard')}.",
    )
    return report


@click.command("web-log")
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=12.0,
    show_default=True,
    help="The shortest time to stream, in seconds. The run also waits for a new leader.",
)
@click.option(
    "--rate",
    type=click.IntRange(1, 100_000),
    default=1000,
    show_default=True,
    help="Records a second.",
)
@click.option("--seed", type=int, default=7, show_default=True, help="The seed of the web log.")
@zookeeper_option
@click.option("--keep", is_flag=True, help="Leave the cluster up at the end.")
@json_option
def web_log(
    seconds: float,
    rate: int,
    seed: int,
    zookeeper: str,
    keep: bool,
    json_file: Path | None,
) -> None:
    """Stream a web log through three brokers, and kill a leader with -9: no acked record is lost.

    The exit code is 1 if a target is missed.
    """
    console = Console()
    with ends_in_sentences("web-log"):
        with (
            Narrator(console) as narrator,
            demo_cluster(keep, zookeeper, narrator) as (cluster, ready_s),
        ):
            result = stream(cluster, seconds, rate, seed, narrator, ready_s)
            name = cluster.name
        show(result, console)
        report = report_of(result)
        if report.holds:
            report.show_ending(console)
        else:
            report.show(console, figures=False)
        if json_file is not None:
            report.write(json_file)
    if keep:
        console.print(
            "The cluster is still up. Look at it with"
            f" {command_line(f'dashboard --cluster {name}')}; stop it with"
            f" {command_line(f'cluster down --cluster {name} --delete')}"
        )
    if not report.holds:
        raise SystemExit(1)
