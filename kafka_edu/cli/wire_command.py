"""Take requests and responses apart byte by byte: decode, show, capture, versions."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from kafka_edu.common.python_process import DEFAULT_CLUSTER, command_line
from kafka_edu.instruments.event_source import cluster_folder, styled, write_answer
from kafka_edu.instruments.wire.capture import (
    CaptureError,
    CaptureFollower,
    Frames,
    decode_captured,
    read_capture,
    title_of,
)
from kafka_edu.instruments.wire.decode import begins_with_size, decode_request, decode_response
from kafka_edu.instruments.wire.gist import gist
from kafka_edu.instruments.wire.render import TextLine, as_json, tree_lines, verdict
from kafka_edu.instruments.wire.tree import Decoded
from kafka_edu.instruments.wire.versions import history_json, history_lines
from kafka_edu.instruments.wire.words import api_name, api_named
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.capture_format import CapturedFrame
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.supervisor.action_client import (
    ActionAddress,
    ActionClient,
    ActionRefusedError,
    NoSupervisorError,
)

#: Size limit in bytes of a frame that `decode` reads from a file.
_MAX_INPUT: Final = 128 * 1024 * 1024
_POLL_S: Final = 0.2

_json_option = click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="Also write the answer to this file, as JSON; - writes it to standard output, without the"
    " text.",
)
_all_option = click.option("--all", "unfold", is_flag=True, help="Show lengths and counts too.")
_docs_option = click.option("--docs", is_flag=True, help="Say what each field is for.")
_cluster_option = click.option(
    "--cluster", default=DEFAULT_CLUSTER, show_default=True, metavar="NAME", help="The cluster."
)


@click.group()
def wire() -> None:
    """Take requests and responses apart, byte by byte."""


@wire.command()
@click.argument("frame", metavar="HEX…|FILE|-", nargs=-1, required=True)
@click.option("--api", metavar="NAME", help="For a response: its API, such as Produce or 0.")
@click.option(
    "--version", "version", type=int, metavar="N", help="For a response: its API version."
)
@click.option("--response", is_flag=True, help="The frame is a response, not a request.")
@click.option(
    "--no-size", is_flag=True, help="The bytes begin with the header, not with the frame's size."
)
@_all_option
@_docs_option
@_json_option
def decode(
    frame: tuple[str, ...],
    api: str | None,
    version: int | None,
    response: bool,
    no_size: bool,
    unfold: bool,
    docs: bool,
    json_file: Path | None,
) -> None:
    """Show what each byte of one frame means, up to the first wrong byte.

    The frame is given as hex (blanks and colons do not matter), as a file of bytes or of hex, or on
    standard input (-). A response names neither its API nor its version. Give them with --api and
    --version.
    """
    data = _bytes_of(" ".join(frame))
    with_size = not no_size and begins_with_size(data, is_response=response)
    if response or api is not None or version is not None:
        key = api_named(api) if api is not None else None
        if key is None or version is None:
            known = "" if api is None or key is not None else f"; there is no API '{api}'"
            raise click.ClickException(
                "a response names neither its API nor its version: give --api and --version" + known
            )
        decoded = decode_response(data, key, version, with_size=with_size)
    else:
        decoded = decode_request(data, with_size=with_size)
    write_answer(as_json(decoded), json_file, _styled(decoded, unfold=unfold, docs=docs))
    if decoded.problems:
        sys.exit(1)


def _styled(decoded: Decoded, *, unfold: bool, docs: bool) -> list[str]:
    return [_style(line) for line in tree_lines(decoded, unfold=unfold, docs=docs)]


def _style(line: TextLine) -> str:
    return styled(line.text, fg="red", bold=True) if line.is_wrong else line.text


def _bytes_of(text: str) -> bytes:
    """Return the bytes of the argument: hex digits, a file, or standard input.

    Raises click's exception if the argument is none of these.
    """
    if text == "-":
        raw = sys.stdin.buffer.read(_MAX_INPUT)
    elif os.path.exists(text):
        try:
            with open(text, "rb") as file:
                raw = file.read(_MAX_INPUT)
        except OSError as error:
            raise click.ClickException(f"{text} cannot be read: {error.strerror}") from error
    else:
        data = _from_hex(text)
        if data is None:
            raise click.ClickException(
                "this is neither hex nor a file: give the frame's bytes like '00 00 00 1a …'"
            )
        return data
    try:
        data = _from_hex(raw.decode("ascii"))
    except UnicodeDecodeError:
        data = None
    return raw if data is None else data


def _from_hex(text: str) -> bytes | None:
    digits = "".join(text.replace(":", " ").replace("0x", " ").split())
    if not digits:
        return None
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return None


@wire.command()
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--live", is_flag=True, help="Follow the captures of a cluster's brokers.")
@_cluster_option
@click.option("--client", metavar="ID", help="Only the frames of this client.")
@click.option("--api", metavar="NAME", help="Only the frames of this API, such as Fetch.")
@click.option(
    "--frame",
    "number",
    type=int,
    metavar="N",
    help="Show the fields of frame N, the number of a frame in the list.",
)
@click.option("--trees", is_flag=True, help="Show the fields of every frame.")
@_all_option
@_docs_option
@_json_option
def show(
    files: tuple[Path, ...],
    live: bool,
    cluster: str,
    client: str | None,
    api: str | None,
    number: int | None,
    trees: bool,
    unfold: bool,
    docs: bool,
    json_file: Path | None,
) -> None:
    """List captured frames, or show the meaning of their bytes.

    The frames come from each FILE, or without a FILE from a cluster's brokers. Brokers capture
    frames while `edu.capture.clients` names clients: see `wire capture`. --live shows frames as
    they are captured, until Ctrl-C.
    """
    key = _key(api) if api is not None else None
    if live and files:
        raise click.ClickException("name files of captured frames, or follow a cluster with --live")
    if not live and not files:
        files = tuple(cluster_folder(cluster).captures())
        if not files:
            begin = command_line("wire capture '*,-broker-*'", cluster)
            raise click.ClickException(
                f"no broker of cluster '{cluster}' has captured a frame; start with: {begin}"
            )
    if live:
        _follow(cluster, client, key, trees=trees, unfold=unfold, docs=docs)
        return
    frames = Frames()
    try:
        for path in files:
            frames.add(read_capture(path, lambda what: click.echo(f"Missing: {what}.", err=True)))
    except CaptureError as error:
        raise click.ClickException(str(error)) from error
    numbered = [
        (index, frame) for index, frame in enumerate(frames, 1) if _wanted(frame, client, key)
    ]
    if number is not None:
        numbered = [(index, frame) for index, frame in numbered if index == number]
        if not numbered:
            raise click.ClickException(f"there is no frame {number}; the list has {len(frames)}")
        trees = True
    answer = [_frame_json(index, frame, with_tree=trees) for index, frame in numbered]
    lines = [
        line
        for index, frame in numbered
        for line in _frame_lines(index, frame, trees=trees, unfold=unfold, docs=docs)
    ]
    write_answer(answer, json_file, lines or ["no frame is captured there"])


def _key(api: str) -> ApiKey:
    key = api_named(api)
    if key is None or key not in REGISTRY:
        known = ", ".join(api_name(key) for key in REGISTRY)
        raise click.ClickException(f"there is no API '{api}'. There are: {known}")
    return key


def _wanted(frame: CapturedFrame, client: str | None, key: ApiKey | None) -> bool:
    return (client is None or frame.client_id == client) and (key is None or frame.api_key == key)


def _frame_line(index: int, frame: CapturedFrame) -> str:
    clock = time.strftime("%H:%M:%S", time.localtime(frame.wall_ms / 1000))
    arrow = "←" if frame.is_response else "→"
    cut = f", {len(frame.data):,} kept" if frame.is_cut else ""
    return (
        f"{index:>5}  {clock}.{frame.wall_ms % 1000:03d}  {arrow} b{frame.broker_id}"
        f"  {title_of(frame):<28} {frame.client_id or '(no client id)'}"
        f" #{frame.correlation_id}  {frame.size:,} bytes{cut}"
    )


def _frame_lines(
    index: int, frame: CapturedFrame, *, trees: bool, unfold: bool, docs: bool
) -> Iterator[str]:
    decoded = decode_captured(frame)
    line = f"{_frame_line(index, frame)}  {gist(decoded)}".rstrip()
    if trees:
        yield styled(line, bold=True)
        yield from _styled(decoded, unfold=unfold, docs=docs)
        yield ""
        return
    yield line
    if decoded.problems and not frame.is_cut:
        yield styled(f"       ✗ {verdict(decoded)}", fg="red", bold=True)


def _frame_json(index: int, frame: CapturedFrame, *, with_tree: bool) -> dict[str, object]:
    answer: dict[str, object] = {
        "number": index,
        "time_ms": frame.wall_ms,
        "broker": frame.broker_id,
        "connection": frame.connection_id,
        "kind": "response" if frame.is_response else "request",
        "client": frame.client_id,
        "api": api_name(frame.api_key),
        "version": frame.api_version,
        "correlation_id": frame.correlation_id,
        "size": frame.size,
        "hidden": list(frame.hidden),
    }
    if with_tree:
        answer["tree"] = as_json(decode_captured(frame))
    return answer


def _follow(
    cluster: str,
    client: str | None,
    key: ApiKey | None,
    *,
    trees: bool,
    unfold: bool,
    docs: bool,
) -> None:
    folder = cluster_folder(cluster)
    followers: dict[Path, CaptureFollower] = {}
    index = 0
    said = False
    try:
        while True:
            for path in folder.captures():
                followers.setdefault(path, CaptureFollower(path))
            frames = Frames()
            for follower in followers.values():
                frames.add(follower.poll())
            for frame in frames:
                index += 1
                if _wanted(frame, client, key):
                    for line in _frame_lines(index, frame, trees=trees, unfold=unfold, docs=docs):
                        click.echo(line)
            if not index and not said:
                said = True
                begin = command_line("wire capture '*,-broker-*'", cluster)
                click.echo(f"no frame is captured yet; start a capture: {begin}", err=True)
            time.sleep(_POLL_S)
    except CaptureError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        click.echo("", err=True)


@wire.command(context_settings={"ignore_unknown_options": True})
@click.argument("clients", metavar="CLIENTS")
@_cluster_option
def capture(clients: str, cluster: str) -> None:
    """Make all brokers capture the frames of CLIENTS: client ids with commas, * for all, `off`.

    A name that ends with * means all client ids with this beginning. A name that begins with - is
    left out: '*,-broker-*' captures everything except the fetches of followers.
    """
    folder = cluster_folder(cluster)
    try:
        with ActionClient(ActionAddress.read(folder.action_address)) as client:
            message = client.ask("capture", clients=clients).get("message", "")
    except (NoSupervisorError, ActionRefusedError) as error:
        raise click.ClickException(f"the capture was not changed: {error}") from error
    click.echo(str(message))
    if clients != "off":
        click.echo(f"see them with: {command_line('wire show --live', cluster)}")


@wire.command()
@click.argument("api", required=False)
@_json_option
def versions(api: str | None, json_file: Path | None) -> None:
    """Say what each version of API added. Without API, list all APIs and their versions."""
    if api is not None:
        key = _key(api)
        write_answer(history_json(key), json_file, history_lines(key))
        return
    lines = [
        f"{int(key):>3}  {api_name(key):<30} {pair.min_version}-{pair.max_version}"
        + (
            f"  flexible from v{key.first_flexible}"
            if key.first_flexible <= pair.max_version
            else "  never flexible"
        )
        for key, pair in REGISTRY.items()
    ]
    write_answer([history_json(key) for key in REGISTRY], json_file, lines)
