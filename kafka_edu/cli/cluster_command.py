"""Start a cluster on this machine, and stop, kill, pause or restart its brokers."""

import asyncio
import contextlib
import difflib
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import click

from kafka_edu.common.python_process import DEFAULT_CLUSTER, command_line
from kafka_edu.instruments.json_file import write_json
from kafka_edu.supervisor.act_table import ACTS, parse_values
from kafka_edu.supervisor.broker_repairs import repair_lines
from kafka_edu.supervisor.cluster import (
    Cluster,
    ClusterError,
    ClusterStatus,
    attach,
    is_up,
    start_cluster,
    take_down,
)
from kafka_edu.supervisor.cluster_folder import ClusterFolder, cluster_names
from kafka_edu.supervisor.cluster_spec import HOST, ClusterSpec, ClusterSpecError, Wish
from kafka_edu.trace.event import Source, SourceKind

_Command = TypeVar("_Command", bound=Callable[..., object])

_json_option = click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the state to this file.",
)


def _cluster_option(command: _Command) -> _Command:
    """Add `--cluster NAME`. The old spelling `--name` works too, and the help does not show it."""
    old = click.option("--name", "name", default=DEFAULT_CLUSTER, hidden=True)
    new = click.option(
        "--cluster",
        "name",
        default=DEFAULT_CLUSTER,
        show_default=True,
        metavar="NAME",
        help="The cluster's name. Several clusters can be up at once.",
    )
    return new(old(command))


@contextlib.contextmanager
def _errors_as_messages() -> Iterator[None]:
    """Show a ClusterError of the block as a message to the user, without a traceback."""
    try:
        yield
    except ClusterError as error:
        raise click.ClickException(str(error)) from error


def _progress(text: str) -> contextlib.AbstractContextManager[object]:
    """Show a spinner with this text during the block.

    The library rich is imported here, and not at the top of the module. So `up` imports it while
    the brokers are already starting, and loses no time.
    """
    from rich.console import Console

    return Console(stderr=True).status(text)


def parse_setting(text: str) -> tuple[str, str]:
    """Split the text `key=value` into key and value.

    Raises click's BadParameter if it has no `=`.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise click.BadParameter(f"'{text}' is not KEY=VALUE")
    return key.strip(), value.strip()


def parse_broker_setting(text: str) -> tuple[int, str, str]:
    """Split the text `id:key=value` into broker id, key and value.

    Raises click's BadParameter if the text has a different form.
    """
    broker, colon, rest = text.partition(":")
    if not colon or not broker.strip().isdigit():
        raise click.BadParameter(f"'{text}' is not ID:KEY=VALUE")
    return int(broker), *parse_setting(rest)


def _wish(
    brokers: int | None,
    port: int | None,
    zookeeper: str | None,
    zookeepers: int | None,
    api_level: str | None,
    props: tuple[str, ...],
    broker_props: tuple[str, ...],
    with_relays: bool | None,
) -> Wish:
    own: dict[int, dict[str, str]] = {}
    for text in broker_props:
        broker_id, key, value = parse_broker_setting(text)
        own.setdefault(broker_id, {})[key] = value
    return Wish(
        brokers,
        port,
        zookeeper,
        dict(map(parse_setting, props)) if props else None,
        own or None,
        zookeepers,
        api_level,
        with_relays,
    )


@click.group()
def cluster() -> None:
    """Start a cluster on this machine, and stop, kill, pause or restart its brokers."""


@cluster.command()
@_cluster_option
@click.option(
    "--brokers",
    type=click.IntRange(1, 100),
    help="The number of brokers (default: 3, or as last time).",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="The port of broker 0; the other brokers get the next ports (default: as last time, or"
    " free ports).",
)
@click.option(
    "--zookeeper",
    metavar="WHICH",
    help="embedded (default), apache, or the HOST:PORT/chroot of a running ZooKeeper.",
)
@click.option(
    "--zookeepers",
    type=int,
    metavar="N",
    help="The number of Apache's servers, which form an ensemble (default: 1, or as last time).",
)
@click.option(
    "--api-level",
    type=click.Choice(["2.0", "2.8"]),
    help="The Kafka release whose API versions clients get (default: 2.8, or as last time).",
)
@click.option(
    "--prop",
    "props",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of every broker; may be repeated.",
)
@click.option(
    "--broker-prop",
    "broker_props",
    multiple=True,
    metavar="ID:KEY=VALUE",
    help="A setting of one broker; may be repeated.",
)
@click.option(
    "--with-relays/--without-relays",
    default=None,
    help="Clients and ZooKeeper reach the brokers through a relay. Then these links can be slowed"
    " and cut too (default: without a relay, or as last time).",
)
@_json_option
def up(
    name: str,
    brokers: int | None,
    port: int | None,
    zookeeper: str | None,
    zookeepers: int | None,
    api_level: str | None,
    props: tuple[str, ...],
    broker_props: tuple[str, ...],
    with_relays: bool | None,
    json_file: Path | None,
) -> None:
    """Start a cluster and return when it is ready. It stays up until `down`.

    Without options, the cluster starts with the same settings, topics and records as last time.
    """
    began = time.monotonic()
    wish = _wish(brokers, port, zookeeper, zookeepers, api_level, props, broker_props, with_relays)
    with _errors_as_messages():
        started = start_cluster(name, wish)
        for warning in started.warnings:
            click.echo(f"warning: {warning}", err=True)
        try:
            with _progress(
                f"starting cluster {name}: ZooKeeper and {len(started.broker_ids)} brokers …"
            ):
                controller = started.wait_ready()
                started.release()
                signal.signal(
                    signal.SIGINT, signal.SIG_IGN
                )  # the cluster is up and stays up: Ctrl-C came too late, as the exit code shows
        except (
            BaseException
        ):  # not ready, or Ctrl-C: stop everything that was started, but keep the cluster's state
            started.down()
            raise
        status = started.status()
    seconds = time.monotonic() - began
    _show(status, controller)
    click.echo(
        f"ready in {seconds:.2f} s · bootstrap.servers {status.bootstrap_servers} · ZooKeeper"
        f" {status.zookeeper_connect} ({status.zookeeper_kind})"
    )
    _show_repairs(name, status.running_brokers)
    _write_json(json_file, status, ready_s=round(seconds, 3), controller=controller)


@cluster.command()
@_cluster_option
@_json_option
def status(name: str, json_file: Path | None) -> None:
    """Show the state of a cluster, and the names of the other clusters.

    ♛ marks the controller, according to the Metadata of the running brokers.
    """
    others = [other for other in cluster_names() if other != name]
    with _errors_as_messages():
        folder = _folder(name)
        if is_up(folder):
            with contextlib.closing(attach(name)) as found:
                now = found.status()
            known = _known(now)
            _show(now, known.controller, known.guests)
            click.echo(
                f"up for {now.up_s:.0f} s · bootstrap.servers {now.bootstrap_servers} · ZooKeeper"
                f" {now.zookeeper_connect} ({now.zookeeper_kind})"
            )
            for trouble in (*now.links, *now.stalls):
                click.echo(str(trouble))
            _write_json(json_file, now, controller=known.controller, guests=list(known.guests))
        else:
            remembered = _remembered(folder)
            click.echo(f"cluster {name} is down" if remembered else f"there is no cluster {name}")
            if json_file is not None:
                write_json(json_file, {"name": name, "up": False, "known": remembered is not None})
    for other in others:
        click.echo(f"also here: {other} ({'up' if is_up(_folder(other)) else 'down'})")


@cluster.command()
@_cluster_option
@click.option(
    "--delete", is_flag=True, help="Forget the cluster: remove its topics, records and settings."
)
@click.option("--all", "all_", is_flag=True, help="Every cluster of this user.")
def down(name: str, delete: bool, all_: bool) -> None:
    """Stop a cluster. Its brokers end by controlled shutdown. `up` starts the cluster again."""
    for each in cluster_names() if all_ else [name]:
        with _errors_as_messages():
            folder = _folder(each)
            if is_up(folder):
                with _progress(f"stopping cluster {each} …"):
                    attach(each).down(delete)
                click.echo(f"cluster {each} is down" + (" and forgotten" if delete else ""))
            elif delete and folder.path.is_dir():
                shutil.rmtree(folder.path)
                click.echo(f"cluster {each} is forgotten")
            else:
                click.echo(f"cluster {each} is not up")


@cluster.command()
@_cluster_option
def fresh(name: str) -> None:
    """Replace a broken cluster with a new one.

    The topics, records and settings of the cluster are removed. Its ports and its number of brokers
    stay. Other clusters and your work in the exercises are not changed.
    """
    with _errors_as_messages():
        folder = _folder(name)
        with _progress(f"making a fresh cluster {name} …"):
            _clear(folder)
            started = start_cluster(name, Wish(props={}, broker_props={}))
            try:
                started.wait_ready()
                started.release()
            except BaseException:
                started.down()
                raise
        status = started.status()
    click.echo(f"cluster {name} is fresh · bootstrap.servers {status.bootstrap_servers}")


def _clear(folder: ClusterFolder) -> None:
    """Stop the cluster and delete its folder, except for the file that holds its ports."""
    try:
        remembered = ClusterSpec.load(folder)
    except ClusterSpecError:
        remembered = None  # it is broken too
    if is_up(folder):
        take_down(folder)
    shutil.rmtree(folder.path, ignore_errors=True)
    if remembered is not None:
        folder.path.mkdir(parents=True, exist_ok=True)
        remembered.save(folder)


def _act_command(action: str, help_: str) -> Callable[[str, str], None]:
    @cluster.command(action, help=help_)
    @_cluster_option
    @click.argument("who", metavar="ID")
    def command(name: str, who: str) -> None:
        with _errors_as_messages(), contextlib.closing(attach(name)) as found:
            try:
                target = found.spec.source(who)
            except ClusterSpecError as error:
                raise ClusterError(str(error)) from error
            with _progress(f"{action} {'broker ' if target.broker is not None else ''}{who} …"):
                message = found.act(action, target)
                if action == "start":
                    began = time.monotonic()
                    unlisted = _wait_for_start(found, target)
                    message += f", ready {time.monotonic() - began:.2f} s later"
                    message += unlisted and f"; {unlisted}"
            click.echo(message)
            if action == "start" and target.broker is not None:
                _show_repairs(name, [target.broker])

    return command


def _show_repairs(name: str, brokers: Sequence[int]) -> None:
    """Print a line for each broker of `brokers` that repaired damaged logs when it started."""
    lines = repair_lines(_folder(name), brokers)
    for line in lines:
        click.echo(f"⚠ {line}")
    if lines:
        click.echo(f"  {command_line('why', name)} lists them; broker.log warns of each")


@cluster.command("act", context_settings={"ignore_unknown_options": True})
@_cluster_option
@click.argument("action", metavar="ACT", required=False)
@click.argument("words", metavar="[VALUE …]", nargs=-1)
def act(name: str, action: str | None, words: tuple[str, ...]) -> None:
    """Do something to a cluster: expire a session, cut a link, move a partition …

    Without an ACT, the command lists all acts with the values that each act takes.
    """
    if action is None:
        for each in ACTS.values():
            values = " ".join(p.value.upper() for p in each.parameters)
            click.echo(f"{f'{each.name} {values}'.strip():<44} {each.effect}")
        return
    known = ACTS.get(action)
    if known is None:
        nearest = difflib.get_close_matches(action, ACTS, 1)
        hint = f"; did you mean '{nearest[0]}'?" if nearest else ""
        raise click.ClickException(
            f"there is no act '{action}'{hint} Without an act, this command lists all acts."
        )
    try:
        given = parse_values(known, list(words))
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    with _errors_as_messages(), contextlib.closing(attach(name)) as found:
        with _progress(f"{known.title_with(dict(given))} …"):
            message = found.perform(action, given)
        click.echo(message)


def _wait_for_start(found: Cluster, target: Source) -> str:
    """Wait until the process `target` is ready after its start.

    For a broker, wait until the other brokers list it. For a ZooKeeper server of an ensemble, wait
    until it serves. For a single ZooKeeper server, wait until the whole cluster is ready. If a
    paused process makes this impossible, do not wait. Return "", or a warning, for example about
    brokers that do not list the new one.
    """
    paused = [p.source for p in found.status().processes if p.state == "paused"]
    if target.broker is not None:
        zookeeper = any(source.kind is SourceKind.ZOOKEEPER for source in paused)
        return "" if zookeeper else found.wait_started(target.broker)
    if len(found.spec.zookeeper.servers) > 1:
        return found.wait_serves(target.id)
    if not paused:
        found.wait_ready()
    return ""


_ID = "ID is a broker's number, or zookeeper. In an ensemble it is zookeeper-1 and so on."
_act_command("stop", f"Stop broker ID with SIGTERM: it hands its leaders over first.\n\n{_ID}")
_act_command("start", f"Start broker ID again.\n\n{_ID}")
_act_command(
    "kill", f"Kill broker ID with SIGKILL: its process ends at once, without a shutdown.\n\n{_ID}"
)
_act_command(
    "pause", f"Pause broker ID with SIGSTOP: its process stays, but answers no request.\n\n{_ID}"
)
_act_command("resume", f"Resume broker ID, which was paused.\n\n{_ID}")


def _folder(name: str) -> ClusterFolder:
    try:
        return ClusterFolder.of(name)
    except ValueError as error:
        raise ClusterError(str(error)) from error


def _remembered(folder: ClusterFolder) -> ClusterSpec | None:
    try:
        return ClusterSpec.load(folder)
    except ClusterSpecError as error:
        raise ClusterError(str(error)) from error


class Known(NamedTuple):
    """The cluster's controller and brokers, as its running brokers know them."""

    controller: int | None
    """Id of the controller.

    None if no broker answers, or if they name a broker that has stopped.
    """
    guests: Mapping[int, int]
    """Id → port of the registered brokers that the supervisor did not start."""


def _known(status: ClusterStatus) -> Known:
    """Ask the running brokers for the controller and the guests.

    A guest is a broker that the supervisor did not start. It may have the id of a stopped broker,
    but it has a different port.
    """
    from kafka_edu.common.socket_transport import SocketTransport
    from kafka_edu.supervisor.readiness import answers_of

    brokers = [process for process in status.processes if process.broker is not None]
    ports = [(HOST, process.port) for process in brokers if process.state == "running"]
    answers = asyncio.run(answers_of(SocketTransport(), ports))
    ours = {process.broker: process for process in brokers}
    guests = {
        i: port
        for i, port in sorted(answers.ports.items())
        if i not in ours or (ours[i].state == "stopped" and ours[i].port != port)
    }
    alive = {process.broker for process in brokers if process.state != "stopped"}
    known = answers.controller in alive | guests.keys()
    return Known(answers.controller if known else None, guests)


def controller_mark(ascii_only: bool) -> str:
    """Return the text that marks the controller in a list of brokers: ♛, or a word in ASCII."""
    return " (controller)" if ascii_only else " ♛"


_COLOURS = {"running": "green", "paused": "yellow", "stopped": "red"}


def _show(
    status: ClusterStatus, controller: int | None, guests: Mapping[int, int] = MappingProxyType({})
) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(title=f"cluster {status.name}", title_justify="left")
    for heading, justify in (
        ("process", "left"),
        ("state", "left"),
        ("port", "right"),
        ("pid", "right"),
        ("RssAnon MB", "right"),
    ):
        table.add_column(heading, justify="right" if justify == "right" else "left")
    crown = controller_mark(console.options.ascii_only)
    for process in status.processes:
        memory = f"{process.rss_anon / 2**20:.1f}" if process.rss_anon is not None else "-"
        state = f"[{_COLOURS[process.state]}]{process.state}[/]"
        if process.state == "stopped" and process.ended:
            state += f" ({process.ended})"
        elif process.mode:
            state += f", {process.mode}"
        leads = controller is not None and process.broker == controller
        mark = crown if leads and controller not in guests else ""
        table.add_row(
            process.process + mark, state, str(process.port or "-"), str(process.pid or "-"), memory
        )
    for guest, port in guests.items():
        mark = crown if guest == controller else ""
        table.add_row(f"broker-{guest}{mark}", "guest", str(port), "-", "-")
    console.print(table)
    if guests:
        console.print("A guest is a broker that this cluster's supervisor did not start.")


def _write_json(path: Path | None, status: ClusterStatus, **more: float | list[int] | None) -> None:
    if path is None:
        return
    fields = {
        **status._asdict(),
        "processes": [process._asdict() for process in status.processes],
        "up": True,
        **more,
    }
    write_json(path, fields)
