"""A metadata proxy: a bootstrap server for clients that is not a broker (docs/metadata-proxy.md).

The proxy answers ApiVersions and Metadata requests with a copy of another cluster's metadata. It
shows that clients use bootstrap.servers only to find the brokers.
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from kafka_edu.cli.proxy_process import ProxyProcess, Say, take_copies
from kafka_edu.clients.proxy.health import DOWN_AFTER, UP_AFTER
from kafka_edu.clients.proxy.metadata_copy import MetadataCopy
from kafka_edu.clients.proxy.metadata_proxy import MetadataProxy
from kafka_edu.clients.proxy.proxy_server import REFRESH_MS, TIMEOUT_MS
from kafka_edu.clients.proxy.recording import RecordingError, read_recording, write_recording
from kafka_edu.clients.proxy.routes import RouteError, Routes, parse_routes
from kafka_edu.clients.proxy.target import Address, Target
from kafka_edu.common.words import cause_of, plural
from kafka_edu.learner.seams import PROXY, LearnerCode, LearnerError, install
from kafka_edu.trace.tracer import Tracer

_MAX_PORT: Final = 65535


class AddressType(click.ParamType[Address]):
    """Click type of an option value HOST:PORT. An IPv6 address is written in brackets."""

    name = "HOST:PORT"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Address:
        text = str(value)
        host, colon, port = text.rpartition(":")
        bare = host.removeprefix("[").removesuffix("]")
        if (
            not colon
            or not bare
            or not (port.isascii() and port.isdigit())
            or int(port) > _MAX_PORT
            or (":" in bare and not host.startswith("["))
        ):
            self.fail(f"{text} is not HOST:PORT, as 127.0.0.1:9092 or [::1]:9092", param, ctx)
        return Address(bare, int(port))


ADDRESS: Final = AddressType()


class Named(click.ParamType[tuple[str, str]]):
    """Click type of an option value [NAME=]TEXT. NAME is "" if it is not given.

    NAME consists of letters, digits, - and _. If the text before = has other characters, the whole
    value is TEXT.
    """

    def __init__(self, name: str) -> None:
        self.name = f"[NAME=]{name}"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not equals or not name.replace("-", "").replace("_", "").isalnum():
            return "", str(value)
        return name, text


def make_targets(
    given: Sequence[tuple[str, str]],
    replayed: Sequence[tuple[str, str]],
    trace: Tracer | None,
    down_after: int = DOWN_AFTER,
    up_after: int = UP_AFTER,
) -> list[Target]:
    """Return the targets of the proxy: first the clusters, then the recordings to play back.

    `given` and `replayed` are pairs of a name and addresses or a file. A target without a name is
    called cluster-1, cluster-2 and so on. Raises click.ClickException.
    """
    targets: dict[str, Target] = {}
    for number, (name, text) in enumerate([*given, *replayed], 1):
        name = name or f"cluster-{number}"
        if name in targets:
            raise click.UsageError(f"two clusters are called {name}: give each its own NAME=")
        if number <= len(given):
            addresses = [ADDRESS.convert(address, None, None) for address in text.split(",")]
            targets[name] = Target(name, addresses, trace, down_after, up_after)
        else:
            targets[name] = Target(name, [], trace)
            targets[name].play_back(_read(Path(text)))
    return list(targets.values())


def _read(path: Path) -> MetadataCopy:
    try:
        return read_recording(path.read_bytes())
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror}") from error
    except RecordingError as error:
        raise click.ClickException(
            f"{path} is not a recording of metadata: {error}; choose another file, or write one"
            " with --record FILE"
        ) from error


def make_routes(rules: Sequence[str], file: Path | None, targets: Sequence[Target]) -> Routes:
    """Return the rules of the options and then the rules of the file.

    Raises click.ClickException.
    """
    lines = [(f"--route {number}", rule) for number, rule in enumerate(rules, 1)]
    try:
        if file is not None:
            lines += [
                (f"{file}, line {number}", line)
                for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
            ]
        return parse_routes(lines, [target.name for target in targets])
    except UnicodeDecodeError as error:
        raise click.ClickException(
            f"cannot read {file}: it is not UTF-8. Write the rules into a text file."
        ) from error
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {cause_of(error)}") from error
    except RouteError as error:
        raise click.ClickException(str(error)) from error


def health_of(target: Target) -> str:
    """Describe the state of the target in one line."""
    copy = target.copy
    if copy is None:
        return f"{target.name}  {target.state}  {target.last_error}"
    brokers = ", ".join(
        f"{broker.node_id} at {Address(broker.host, broker.port)}" for broker in copy.brokers
    )
    cluster = (
        f"cluster {copy.response.cluster_id or '(without an id)'}, controller"
        f" {copy.response.controller_id}, brokers {brokers}"
    )
    return (
        f"{target.name}  {target.state}  {copy.source} says: {cluster}; {_counts(copy)}, Metadata"
        f" up to version {copy.version}"
    )


def _counts(copy: MetadataCopy) -> str:
    return f"{plural(len(copy.response.topics), 'topic')}, {plural(copy.partitions, 'partition')}"


def record(targets: Sequence[Target], path: Path, timeout_ms: float, say: Say) -> Target:
    """Copy the metadata of the only target into the file.

    Return a target that plays this copy back. Raises click.ClickException.
    """
    if len(targets) != 1:
        raise click.UsageError("--record copies one cluster: give exactly one --target")
    (target,) = targets
    asyncio.run(take_copies(targets, timeout_ms))
    copy = target.copy
    if copy is None:
        raise click.ClickException(
            f"nothing was recorded, because no broker of {target.name} gave its metadata:"
            f" {target.last_error}. Check --target"
        )
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_bytes(write_recording(copy))
        os.replace(temporary, path)
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error
    say(
        f"recorded in {path}: {plural(len(copy.brokers), 'broker')}, {_counts(copy)}, according to"
        f" {copy.source}"
    )
    played_back = Target(target.name, [], None)
    played_back.play_back(copy)
    return played_back


def _installed(learner: str) -> list[LearnerCode]:
    """Replace parts of the proxy with a learner's code.

    Return the learner's parts. Raises click.ClickException if they cannot be used.
    """
    try:
        return install(learner, PROXY) if learner else []
    except (ValueError, LearnerError) as error:
        raise click.ClickException(f"the proxy cannot start: {error}") from error


@click.command()
@click.option(
    "--listen", type=ADDRESS, help="Where clients find the proxy; port 0 takes a free one."
)
@click.option(
    "--target",
    "given",
    multiple=True,
    type=Named("HOST:PORT[,HOST:PORT…]"),
    help="A cluster to represent: the addresses of some of its brokers.",
)
@click.option(
    "--replay",
    "replayed",
    multiple=True,
    type=Named("FILE"),
    help="A cluster to represent, from a file that --record wrote.",
)
@click.option(
    "--record",
    "record_to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Copy the target's metadata into this file, once.",
)
@click.option(
    "--route",
    "rules",
    multiple=True,
    metavar="RULE",
    help="'client=PATTERN topic=PATTERN to=NAME[,NAME…]': which clients go to which cluster.",
)
@click.option(
    "--routes",
    "routes_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file of such rules, one a line.",
)
@click.option(
    "--find-coordinator", is_flag=True, help="Also answer FindCoordinator, from the copy."
)
@click.option(
    "--target-versions",
    is_flag=True,
    help=(
        "List in ApiVersions every API that the target serves, because some clients apply the first"
        " server's answer to the whole cluster."
    ),
)
@click.option(
    "--refresh-ms",
    type=click.IntRange(10),
    default=REFRESH_MS,
    show_default=True,
    help="The time between two requests for a target's metadata.",
)
@click.option(
    "--timeout-ms",
    type=click.IntRange(1),
    default=TIMEOUT_MS,
    show_default=True,
    help="How long to wait for an answer of each broker of a target.",
)
@click.option(
    "--down-after",
    type=click.IntRange(1),
    default=DOWN_AFTER,
    show_default=True,
    help="A target is left out after this number of failures in a row.",
)
@click.option(
    "--up-after",
    type=click.IntRange(1),
    default=UP_AFTER,
    show_default=True,
    help="The target is used again after this number of answers in a row.",
)
@click.option(
    "--health",
    is_flag=True,
    help="Ask each target once, show its answer, and exit: with 1 if one does not answer.",
)
@click.option(
    "--events",
    "events_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Record the proxy's events here.",
)
@click.option(
    "--learner",
    default="",
    metavar="EXERCISE=FILE",
    help="Let the code of an exercise run in this proxy. Put ; between several exercises.",
)
def proxy(
    listen: Address | None,
    given: tuple[tuple[str, str], ...],
    replayed: tuple[tuple[str, str], ...],
    record_to: Path | None,
    rules: tuple[str, ...],
    routes_file: Path | None,
    find_coordinator: bool,
    target_versions: bool,
    refresh_ms: int,
    timeout_ms: int,
    down_after: int,
    up_after: int,
    health: bool,
    events_file: Path | None,
    learner: str,
) -> None:
    """Serve a copy of a cluster's metadata: a bootstrap server that is not a broker.

    With --record alone, the copy is only written to the file. With --record and --listen, the
    recorded copy is served. Otherwise each target gets a new request every few seconds, and a
    target without an answering broker is left out. Without a rule, clients are spread over all
    clusters.
    """
    if not given and not replayed:
        raise click.UsageError("no cluster is named: give --target HOST:PORT, or --replay FILE")
    process = ProxyProcess(lambda line: click.echo(line), events_file, _installed(learner))
    trace = None if health or record_to is not None else process.tracer
    targets = make_targets(given, replayed, trace, down_after, up_after)
    routes = make_routes(rules, routes_file, targets)
    if health:
        asyncio.run(take_copies([target for target in targets if not target.serves], timeout_ms))
        for target in targets:
            click.echo(health_of(target))
        raise SystemExit(0 if all(target.serves for target in targets) else 1)
    if record_to is not None:
        targets = [record(targets, record_to, timeout_ms, lambda line: click.echo(line))]
        if listen is None:
            return
    if listen is None:
        raise click.UsageError("no address to listen on: give --listen HOST:PORT")
    core = MetadataProxy(
        targets, routes, find_coordinator=find_coordinator, target_versions=target_versions
    )
    raise SystemExit(
        asyncio.run(process.run(listen, core, refresh_ms=refresh_ms, timeout_ms=timeout_ms))
    )
