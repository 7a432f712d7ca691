"""Put a steady load on a cluster. The dashboard's key `l` runs this command too."""

import asyncio
import contextlib
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kafka_edu.cli.client_trace import NoClientNumber, client_tracer
from kafka_edu.cli.demo_frame import json_option, rate_option
from kafka_edu.common.python_process import DEFAULT_CLUSTER, command_line
from kafka_edu.supervisor.cluster_folder import ClusterFolder, cluster_names

if TYPE_CHECKING:
    from kafka_edu.clients.load.load import Load, LoadSpec

LINE_EVERY_S: Final = 1.0
_CREATE_TIMEOUT_S: Final = 20.0


@click.command()
@click.option(
    "--cluster",
    default=DEFAULT_CLUSTER,
    show_default=True,
    metavar="NAME",
    help="The cluster to load.",
)
@click.option(
    "--topic",
    default="load",
    show_default=True,
    help="The topic. It is created if it does not exist.",
)
@rate_option(1_000_000, "Records a second, of all producers together.")
@click.option(
    "--acks",
    type=click.Choice(["all", "1", "0"]),
    default="all",
    show_default=True,
    help="Which acknowledgement a producer waits for.",
)
@click.option(
    "--keys",
    type=click.IntRange(0, 1_000_000),
    default=0,
    show_default=True,
    help="How many different keys; 0: records without a key.",
)
@click.option(
    "--record-size",
    "size",
    type=click.IntRange(32, 1_000_000),
    default=100,
    show_default=True,
    help="Bytes of a record's value.",
)
@click.option("--producers", type=click.IntRange(1, 16), default=1, show_default=True)
@click.option("--consumers", type=click.IntRange(0, 16), default=1, show_default=True)
@click.option("--group", default="load", show_default=True, help="The consumers' group.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop after this time. Without this option, Ctrl-C stops the load.",
)
@click.option("--while-stdin-is-open", "owned", is_flag=True, hidden=True)
@json_option
def load(
    cluster: str,
    topic: str,
    rate: int,
    acks: str,
    keys: int,
    size: int,
    producers: int,
    consumers: int,
    group: str,
    seconds: float | None,
    owned: bool,
    json_file: Path | None,
) -> None:
    """Send and read records at a steady rate, and count what is sent, acked, lost and read.

    The clients are our own producers and consumers, so a dashboard of the cluster also shows what
    is inside them (screen Client), besides the counts. While they run, you can kill a broker.
    Ctrl-C stops the load. The command then waits for the last answers and prints a summary.
    """
    from kafka_edu.clients.load.load import LoadSpec

    try:
        folder = ClusterFolder.of(cluster)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    spec = LoadSpec(topic, rate, acks, keys, size, producers, consumers, group)
    bootstrap = _bootstrap_of(folder)
    try:
        compacted = _create_topic(bootstrap, topic)
        running, ran_s = asyncio.run(_run(spec, folder, bootstrap, seconds, owned, compacted))
    except (_Failed, NoClientNumber) as error:
        raise click.ClickException(str(error)) from error
    if owned:
        return
    _report(running, ran_s, folder, json_file, compacted)


class _Failed(Exception):
    """The load cannot start. The message says why, and what the user can do."""


def _bootstrap_of(folder: ClusterFolder) -> str:
    """Return the bootstrap servers of the cluster as HOST:PORT, separated by commas.

    Raises click's exception if the cluster is not up.
    """
    from kafka_edu.supervisor.action_client import (
        ActionAddress,
        ActionClient,
        ActionRefusedError,
        NoSupervisorError,
    )

    try:
        with ActionClient(ActionAddress.read(folder.action_address)) as client:
            status = client.ask("status")["status"]
    except (NoSupervisorError, ActionRefusedError) as error:
        known = ", ".join(cluster_names())
        raise click.ClickException(
            f"cluster '{folder.name}' is not up; start it with: "
            + command_line("cluster up", folder.name)
            + (f", or name one of: {known}" if known else "")
        ) from error
    assert isinstance(status, dict)
    return str(status["bootstrap_servers"])


def _create_topic(bootstrap: str, topic: str) -> bool:
    """Create the topic if it does not exist, with up to three replicas.

    Return whether it is compacted. Raises _Failed if the topic cannot be created.
    """
    from kafka_edu.clients.admin.config_calls import ConfigResource
    from kafka_edu.clients.admin.new_topic import make_topic
    from kafka_edu.clients.blocking import Admin
    from kafka_edu.clients.load.load import PARTITIONS, replicas_of_new_topic
    from kafka_edu.common.errors import Errors, KafkaException
    from kafka_edu.protocol.messages.describe_configs import ResourceType

    limit_ms = int(_CREATE_TIMEOUT_S * 1000)
    limits = {"request.timeout.ms": limit_ms, "default.api.timeout.ms": limit_ms}
    try:
        with Admin({"bootstrap.servers": bootstrap, **limits}) as admin:
            if topic in admin.list_topics():
                resource = ConfigResource(ResourceType.TOPIC, topic)
                configs = admin.describe_configs([resource])[resource]
                return "compact" in str(configs["cleanup.policy"].value)
            replicas, settings = replicas_of_new_topic(len(admin.describe_cluster().nodes))
        make_topic(bootstrap, topic, PARTITIONS, replicas, settings)
    except KafkaException as error:
        if error.error is not Errors.TOPIC_ALREADY_EXISTS:
            raise _Failed(f"topic '{topic}' cannot be created: {error}") from error
    return False


async def _run(
    spec: "LoadSpec",
    folder: ClusterFolder,
    bootstrap: str,
    seconds: float | None,
    owned: bool,
    compacted: bool,
) -> "tuple[Load, float]":
    """Run the load until a signal arrives, its time is over, or the process that started it ends.

    Return the load, which has stopped, and the seconds that it ran.
    """
    from kafka_edu.clients.load.load import Load
    from kafka_edu.clients.load.own_clients import own_clients

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(each, stop.set)
    if owned:
        threading.Thread(target=_wait_for_owner, args=(loop, stop), daemon=True).start()
    async with client_tracer(folder) as trace:
        clients = own_clients(spec, bootstrap, trace.time, trace)
        running = Load(spec, clients, trace, compacted=compacted)
        began = time.monotonic()
        running.start()
        await _watch(running, began, seconds, stop, quiet=owned)
        ran_s = time.monotonic() - began
        if not owned:
            _show(running, ran_s, "waiting for the last answers")
        await running.finish()
    if not owned and sys.stderr.isatty():
        click.echo("", err=True)
    return running, ran_s


def _wait_for_owner(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Read standard input until its other end is closed, then set `stop`.

    The process that started this load holds the other end, so the load ends together with it.
    """
    while sys.stdin.buffer.read(4096):
        continue
    with contextlib.suppress(RuntimeError):  # the loop has ended by itself
        loop.call_soon_threadsafe(stop.set)


async def _watch(
    running: "Load", began: float, seconds: float | None, stop: asyncio.Event, *, quiet: bool
) -> None:
    from kafka_edu.clients.load.load import TICK_S

    next_line = began
    while not stop.is_set():
        running.tick()
        now = time.monotonic()
        if seconds is not None and now - began >= seconds:
            return
        if not quiet and now >= next_line:
            next_line = now + (LINE_EVERY_S if sys.stderr.isatty() else 10 * LINE_EVERY_S)
            _show(running, now - began, "Ctrl-C stops")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), TICK_S)


def _show(running: "Load", ran_s: float, hint: str) -> None:
    """Print the counts. On a terminal, they replace the previous line."""
    state = running.state()
    line = (
        f"{ran_s:,.0f} s · sent {state.sent:,} · acked {state.acked:,} · waiting {state.waiting:,}"
        f" (oldest {state.oldest_ms:,} ms) · refused {state.refused:,} · read {state.read:,}"
        f" · lost {state.lost:,} · {hint}"
    )
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[2K{line}", nl=False, err=True)
    else:
        click.echo(line, err=True)


def _report(
    running: "Load",
    ran_s: float,
    folder: ClusterFolder,
    json_file: Path | None,
    compacted: bool,
) -> None:
    """Print what the load has done, and write its figures to the JSON file.

    Raises SystemExit(1) if an acked record was lost, or if a bug has ended a client.
    """
    from kafka_edu.cli.report import Report

    state, unread = running.state(), running.unread
    report = Report("load")
    report.figure("seconds", round(ran_s, 3))
    for name in ("sent", "acked", "refused", "waiting", "read", "read_again", "lost"):
        report.figure(name.replace("_", " "), getattr(state, name))
    report.figure("acked and not read", unread)
    if not compacted:
        report.target("records acked and lost", state.lost, "==", 0)
    report.target("loads with a client that a bug has ended", int(bool(running.broken)), "==", 0)
    if state.acks == "0":
        happened = (
            f"{state.sent:,} records were sent. With acks=0 no broker confirms that it stored them."
        )
    else:
        happened = (
            f"{state.sent:,} records were sent and {state.acked:,} acked;"
            f" {state.refused + state.waiting:,} were not acked"
            + (f"; {state.lost:,} acked ones were lost." if not compacted else ".")
        )
    click.echo(happened)
    if compacted:
        click.echo(
            f"The topic is compacted: the group '{state.group}' read {state.read:,} records. An"
            " acked record that it did not read may have been superseded, so none counts as lost."
        )
    elif state.lost:
        click.echo(
            "A lost record that was acked was on a leader that failed, but not on the replica that"
            " leads now. Look for acks=1 and for an unclean election."
        )
    elif not state.consumers:
        click.echo("No consumer read them, so this load could not notice a lost record.")
    elif state.acks == "0":
        click.echo(f"The group '{state.group}' read {state.read:,} of them.")
    elif unread:
        click.echo(
            f"The group had not read {unread:,} acked records when it stopped; they may be there."
        )
    else:
        click.echo(
            f"The group '{state.group}' read {state.read:,} records, and each acked one is among"
            " them."
        )
    if running.broken:
        click.echo(f"This load does not count: {running.broken}. Please report it.")
    elif state.error:
        click.echo(f"The last error of a client: {state.error}")
    look = command_line("trace tail", folder.name)
    click.echo(f"Look next at the cluster's events: {look}")
    if json_file is not None:
        report.write(json_file)
    if not report.holds:
        raise SystemExit(1)
