"""Record a cluster's events, follow them, or show a recording.

Each process has a coloured column.
"""

import asyncio
import json
import re
import signal
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

import click

from kafka_edu.common.python_process import DEFAULT_CLUSTER, command_line
from kafka_edu.instruments.event_name import event_name
from kafka_edu.instruments.event_source import (
    cluster_folder,
    colour_of,
    event_json,
    missing_lines,
    read_files,
    styled,
    text_width,
)
from kafka_edu.instruments.recording import Recorder
from kafka_edu.instruments.sentences import fact_text, teller
from kafka_edu.instruments.trace_feed import TraceFeed, event_files, now_us
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Level, Source, plain
from kafka_edu.trace.events.trace import HopsLeftOut
from kafka_edu.trace.tracer import LEVELS

DRAIN_S: Final = 0.1
_ROW: Final = "{:<12} {:<9} "


class Filter(NamedTuple):
    """The options that choose which events are shown."""

    level: Level
    names: tuple[str, ...]
    topic: str
    since_us: int

    def takes(self, envelope: Envelope) -> bool:
        known = EVENT_TYPES.get(envelope.name)
        if known is None or envelope.mono_us < self.since_us:
            return False
        if known.cls is HopsLeftOut:
            return self.level is not Level.STATE and not self.names and not self.topic
        if known.kind is not Kind.FACT:
            return False
        if LEVELS.index(known.level) > LEVELS.index(self.level):
            return False
        if self.names and envelope.name not in self.names:
            return False
        return not self.topic or _is_about(envelope.event, self.topic)


def _is_about(value: object, topic: str) -> bool:
    """Return whether an event or a value in an event is about the topic or one of its
    partitions.
    """
    if isinstance(value, tuple):
        return any(_is_about(one, topic) for one in value)
    if not isinstance(value, str):
        return False
    return value == topic or bool(re.search(rf"(?:^|/){re.escape(topic)}(?:-\d+$|/|$)", value))


def _names(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Check that events with these names exist. Upper and lower case do not matter."""
    known = {name.lower(): name for name in EVENT_TYPES}
    for name in names:
        if name.lower() not in known:
            raise click.BadParameter(f"there is no event '{name}'; docs/events.md names them all")
    return tuple(known[name.lower()] for name in names)


def _seconds(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """Turn a text such as `90`, `90s`, `5m` or `1h` into seconds."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h|)", text)
    if match is None:
        raise click.BadParameter(f"'{text}' is not a length of time such as 90s or 5m")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


_CLUSTER: Final = click.option(
    "--cluster", default=DEFAULT_CLUSTER, show_default=True, metavar="NAME", help="The cluster."
)
_LEVEL: Final = click.option(
    "--level",
    type=click.Choice([level.value for level in Level]),
    default=Level.STATE.value,
    show_default=True,
    help="state: changes of state. hops: also each request's way. all: also each timer task.",
)
_JSON: Final = click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="Also write the events to this file, one JSON object per line; - writes them to standard"
    " output, without the text.",
)
_FILTERS: Final = (
    click.option(
        "--event",
        "names",
        multiple=True,
        metavar="NAME",
        callback=_names,
        help="Only events of this kind; may be repeated.",
    ),
    click.option("--topic", default="", metavar="TOPIC", help="Only events that name this topic."),
)


def _filtered(command: Callable[..., object]) -> Callable[..., object]:
    for option in _FILTERS:
        command = option(command)
    return command


class Columns:
    """Format events as lines: time, event number, one column for each process, and a sentence."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources: list[Source] = []
        for source in sources:
            self.add(source)

    def add(self, source: Source) -> None:
        """Add a column for a process.

        The brokers are sorted by id and come after the other processes.
        """
        if source not in self._sources:
            self._sources.append(source)
            self._sources.sort(key=lambda one: (one.broker is not None, one.kind, one.id))

    @property
    def _lane(self) -> int:
        """Width of a column in characters: the longest name and a space."""
        return 1 + max([3, *(len(teller(source)) for source in self._sources)])

    def heading(self) -> str:
        names = "".join(
            styled(teller(source).ljust(self._lane), fg=colour_of(source), bold=True)
            for source in self._sources
        )
        return _ROW.format("time", "fact") + names

    def lines(self, envelope: Envelope) -> list[str]:
        at = time.strftime("%H:%M:%S", time.localtime(envelope.wall_ms / 1000))
        clock = f"{at}.{envelope.wall_ms % 1000:03d}"
        lanes = "".join(
            styled(
                ("●" if source == envelope.source else "·").ljust(self._lane), fg=colour_of(source)
            )
            for source in self._sources
        )
        margin = len(_ROW.format("", "")) + self._lane * len(self._sources)
        width = max(text_width() - margin, 24)
        text = textwrap.wrap(fact_text(envelope.event), width, break_on_hyphens=False) or [""]
        head = _ROW.format(clock, event_name(envelope)) + lanes
        colour = colour_of(envelope.source)
        rails = " " * len(_ROW.format("", "")) + "".join(
            styled("·".ljust(self._lane), fg=colour_of(source), dim=True)
            for source in self._sources
        )
        return [head + styled(text[0], fg=colour)] + [
            rails + styled(part, fg=colour) for part in text[1:]
        ]


class Printer:
    """Print events in columns.

    If a JSON file is given, also write them there, one object a line.
    """

    def __init__(self, columns: Columns, json_file: Path | None) -> None:
        """Print the heading of the columns.

        Raises click's exception if the file cannot be written.
        """
        self._columns = columns
        self._file = json_file
        self._with_text = json_file is None or str(json_file) != "-"
        self._json: IO[str] | None = None
        if json_file is not None:
            try:
                self._json = click.open_file(str(json_file), "w", encoding="utf-8")
            except OSError as error:
                raise click.ClickException(f"cannot write {json_file}: {error.strerror}") from error
        self.say(columns.heading())

    @contextmanager
    def _json_whole(self, file: IO[str]) -> Iterator[None]:
        """Write to the file in the block. If it cannot be written, close it and raise click's
        exception.
        """
        try:
            yield
        except OSError as error:
            if not self._with_text:  # standard output
                raise
            self._json = None
            with suppress(OSError):  # it tries to write the rest again
                file.close()
            raise click.ClickException(
                f"cannot write {self._file}: {error.strerror}. Its last line may be incomplete"
            ) from error

    def say(self, line: str) -> None:
        """Print a line of text, except if standard output is used for JSON."""
        if self._with_text:
            click.echo(line)

    def print(self, envelope: Envelope) -> None:
        self._columns.add(envelope.source)
        if self._with_text:
            for line in self._columns.lines(envelope):
                click.echo(line)
        if self._json is not None:
            line = json.dumps(_as_json(envelope), ensure_ascii=False) + "\n"
            with self._json_whole(self._json):
                self._json.write(line)

    def flush(self) -> None:
        """Write the buffered JSON to the file now, so that other programs can read it at once."""
        if self._json is not None:
            with self._json_whole(self._json):
                self._json.flush()

    def close(self) -> None:
        self.flush()
        if self._json is not None and self._with_text:
            self._json.close()


def _as_json(envelope: Envelope) -> dict[str, object]:
    return {
        **event_json(envelope),
        "cause": envelope.cause,
        "fields": plain(envelope.event),
        "text": fact_text(envelope.event),
    }


@click.group()
def trace() -> None:
    """Record a cluster's events, follow them, or show a recording."""


@trace.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--level",
    type=click.Choice([level.value for level in Level]),
    default=Level.ALL.value,
    help="Leave out the events above this level.",
)
@_filtered
@click.option(
    "--since",
    "since_s",
    metavar="TIME",
    callback=_seconds,
    help="Only the last part of the recording, such as 90s or 5m.",
)
@_JSON
def show(
    files: Sequence[Path],
    level: str,
    names: tuple[str, ...],
    topic: str,
    since_s: float | None,
    json_file: Path | None,
) -> None:
    """Show one or more recordings, merged by time, one line for each event.

    At the end it says what could not be read, and how often a broker left out its hops.
    """
    source = read_files(files)
    envelopes = source.envelopes
    since_us = 0 if since_s is None else envelopes[-1].mono_us - int(since_s * 1e6)
    wanted = Filter(Level(level), names, topic, since_us)
    shown = [envelope for envelope in envelopes if wanted.takes(envelope)]
    if not shown:
        raise click.ClickException(
            f"none of the {len(envelopes):,} recorded events matches your options"
        )
    printer = Printer(Columns(envelope.source for envelope in shown), json_file)
    for envelope in shown:
        printer.print(envelope)
    printer.close()
    for line in missing_lines(source):
        click.echo(line, err=json_file is not None and str(json_file) == "-")


@trace.command()
@_CLUSTER
@_LEVEL
@_filtered
@click.option(
    "--since",
    "since_s",
    default="30s",
    show_default=True,
    metavar="TIME",
    callback=_seconds,
    help="How far back to begin, such as 90s or 5m. The processes keep ten minutes.",
)
@click.option(
    "--for",
    "for_s",
    metavar="TIME",
    callback=_seconds,
    help="End after this time. Without it, Ctrl-C ends.",
)
@_JSON
def tail(
    cluster: str,
    level: str,
    names: tuple[str, ...],
    topic: str,
    since_s: float,
    for_s: float | None,
    json_file: Path | None,
) -> None:
    """Show a live cluster's events as they happen.

    It begins with the events of the last seconds.
    """
    folder = _running(cluster)
    since_us = now_us() - int(since_s * 1e6)
    wanted = Filter(Level(level), names, topic, since_us)
    columns = Columns(source for source, path in event_files(folder).items() if path.exists())
    printer = Printer(columns, json_file)

    def print_all(envelopes: list[Envelope]) -> None:
        for envelope in filter(wanted.takes, envelopes):
            printer.print(envelope)
        printer.flush()

    try:
        asyncio.run(_follow(folder, Level(level), since_us, for_s, print_all))
    finally:
        printer.close()


@trace.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@_CLUSTER
@_LEVEL
@click.option(
    "--since",
    "since_s",
    metavar="TIME",
    callback=_seconds,
    help="Also record the past, such as the last 90s or 5m. The processes keep ten minutes, at"
    " level state.",
)
@click.option(
    "--for",
    "for_s",
    metavar="TIME",
    callback=_seconds,
    help="End after this time. Without it, Ctrl-C ends.",
)
def record(
    file: Path, cluster: str, level: str, since_s: float | None, for_s: float | None
) -> None:
    """Record a live cluster's events in FILE. If the name ends in .gz, the file is compressed."""
    folder = _running(cluster)
    try:
        recorder = Recorder(file, cluster)
    except OSError as error:
        raise click.ClickException(f"cannot record to {file}: {error.strerror}") from error
    counted = 0

    def write(envelopes: list[Envelope]) -> None:
        nonlocal counted
        recorder.write(envelopes)
        if recorder.failure:
            raise click.ClickException(recorder.failure)
        counted += sum(1 for e in envelopes if _is_fact(e))

    def begun() -> None:
        ends = "Ctrl-C ends it" if for_s is None else f"for {for_s:g} s"
        click.echo(f"recording all processes of cluster {cluster}; {ends}", err=True)

    since_us = None if since_s is None else now_us() - int(since_s * 1e6)
    try:
        asyncio.run(
            _follow(folder, Level(level), since_us, for_s, write, begun, recorder.takes_snapshot)
        )
    finally:
        recorder.close()
    if recorder.failure:
        raise click.ClickException(recorder.failure)
    click.echo(
        f"recorded {counted:,} facts in {file}; see them with: {command_line(f'trace show {file}')}"
    )


def _is_fact(envelope: Envelope) -> bool:
    known = EVENT_TYPES.get(envelope.name)
    return known is not None and known.kind is Kind.FACT


def _running(cluster: str) -> ClusterFolder:
    """Return the cluster's folder.

    Raises click's exception if no process of the cluster serves events.
    """
    folder = cluster_folder(cluster)
    if not any(path.exists() for path in event_files(folder).values()):
        raise click.ClickException(
            f"no process of cluster '{cluster}' serves events; start it with:"
            f" {command_line('cluster up', cluster)}"
        )
    return folder


async def _follow(
    folder: ClusterFolder,
    level: Level,
    since_us: int | None,
    for_s: float | None,
    take: Callable[[list[Envelope]], None],
    begun: Callable[[], None] = lambda: None,
    takes_snapshot: Callable[[], bool] = lambda: False,
) -> None:
    """Call `take` with all events in order, until `for_s` seconds are over or Ctrl-C is pressed.

    `begun` is called once, when all processes are connected. `takes_snapshot` is called often, and
    returns whether a new snapshot of each process is needed.
    """
    has_begun = False
    feed = TraceFeed(folder, level, since_us)
    reading = asyncio.create_task(feed.run())
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stopped.set)
    end_us = None if for_s is None else now_us() + int(for_s * 1e6)
    try:
        while not stopped.is_set() and (end_us is None or now_us() < end_us):
            await asyncio.sleep(DRAIN_S)
            take(feed.drain())
            if takes_snapshot():
                feed.ask_for_snapshots()
            if not has_begun and feed.complete():
                has_begun = True
                begun()
        await asyncio.sleep(2 * DRAIN_S)
        take(feed.rest())
        for source in feed.silent():
            click.echo(f"{teller(source)} has sent nothing so far: it may hang", err=True)
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
