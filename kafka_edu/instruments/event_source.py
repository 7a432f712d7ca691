"""Read the events for an instrument, from a live cluster or from recordings.

Every instrument of the command line has the same three options: `--cluster NAME`, `--replay FILE`
(several files are merged) and `--json FILE`.
"""

import asyncio
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import click

from kafka_edu.common.python_process import DEFAULT_CLUSTER, command_line
from kafka_edu.common.words import duration, plural
from kafka_edu.instruments.event_name import event_name
from kafka_edu.instruments.json_file import write_json
from kafka_edu.instruments.look_back import look_back
from kafka_edu.instruments.recording import read_recordings
from kafka_edu.supervisor.cluster_folder import ClusterFolder, cluster_names
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Source
from kafka_edu.trace.events.trace import HopsLeftOut
from kafka_edu.trace.wire_format import TraceFormatError

Command = TypeVar("Command", bound=Callable[..., object])

BROKER_COLOURS: Final = ("cyan", "yellow", "magenta", "green", "blue", "bright_red")
"""The colours of the brokers on a terminal. A seventh broker has the first colour again."""


def source_options(command: Command) -> Command:
    """Add `--cluster` and `--replay` to a command that reads events."""
    cluster = click.option(
        "--cluster", default=DEFAULT_CLUSTER, show_default=True, metavar="NAME", help="The cluster."
    )
    replay = click.option(
        "--replay",
        "replay_files",
        multiple=True,
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Read a recording instead. Several are merged. Files may be packed (.gz).",
    )
    return cluster(replay(command))


def event_options(command: Command) -> Command:
    """Add `--cluster`, `--replay` and `--json` to an instrument's command."""
    as_json = click.option(
        "--json",
        "json_file",
        metavar="FILE",
        type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
        help="Write the answer here as JSON too; - is standard output, without the text.",
    )
    return source_options(as_json(command))


class EventSource(NamedTuple):
    """All events that could be read, in one order of time."""

    envelopes: list[Envelope]
    missing: list[str]
    """The gaps that could not be read, one sentence for each."""
    folder: ClusterFolder | None
    """The folder of the live cluster. None if the events come from a recording."""

    @property
    def facts(self) -> list[Envelope]:
        return [e for e in self.envelopes if EVENT_TYPES[e.name].kind is Kind.FACT]

    @property
    def reach(self) -> str:
        """Return the covered time and processes in words: `the last 4.2 s of 5 processes`."""
        facts = self.facts
        if not facts:
            return "nothing"
        processes = len({envelope.source for envelope in facts})
        of = plural(processes, "process")
        span_ms = (self.envelopes[-1].mono_us - facts[0].mono_us) / 1000
        last = "the last " if self.folder is not None else ""
        return f"{last}{duration(span_ms)} of {of}, {len(facts):,} facts"


def cluster_folder(cluster: str) -> ClusterFolder:
    """Return the folder of a cluster. Raises ClickException with one line if there is none."""
    try:
        folder = ClusterFolder.of(cluster)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    if not folder.path.is_dir():
        known = ", ".join(cluster_names())
        raise click.ClickException(
            f"there is no cluster '{cluster}'; start one with:"
            f" {command_line('cluster up', cluster)}"
            + (f", or name one of: {known}" if known else "")
        )
    return folder


def read_events(cluster: str, replay_files: Sequence[Path], *, gauges: bool = False) -> EventSource:
    """Read all events from the recordings, or from the processes of the live cluster.

    Raises ClickException with one line if there is nothing to read.
    """
    if replay_files:
        return read_files(replay_files)
    folder = cluster_folder(cluster)
    past = asyncio.run(look_back(folder, gauges=gauges))
    if not past.envelopes:
        why = f" ({'; '.join(past.missing)})" if past.missing else ""
        raise click.ClickException(
            f"no process of cluster '{cluster}' answers{why}; start it with:"
            f" {command_line('cluster up', cluster)}"
        )
    return EventSource(past.envelopes, past.missing, folder)


def read_files(files: Sequence[Path]) -> EventSource:
    """Read recordings. Raises ClickException with one line if they have no events."""
    missing: list[str] = []
    try:
        envelopes = read_recordings(files, missing.append)
    except (TraceFormatError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if not envelopes:
        why = f" ({'; '.join(missing)})" if missing else ""
        raise click.ClickException(f"nothing is recorded in {', '.join(map(str, files))}{why}")
    return EventSource(envelopes, [*missing, *_hops_left_out(envelopes)], None)


def _hops_left_out(envelopes: Sequence[Envelope]) -> Iterator[str]:
    """Yield a sentence for each broker that had more hops than its recording may contain.

    The sentence cannot give the number of these hops, because the broker did not emit them.
    """
    times_us: dict[Source, list[int]] = {}
    for envelope in envelopes:
        if isinstance(envelope.event, HopsLeftOut):
            times_us.setdefault(envelope.source, []).append(envelope.event.for_us)
    for source, each_us in sorted(times_us.items()):
        yield (
            f"{source} left out its hops {plural(len(each_us), 'time')}, for"
            f" {duration(sum(each_us) / 1000)} together, because there were too many"
            " (edu.record.hops.per.second)"
        )


def missing_lines(source: EventSource) -> list[str]:
    """Return the sentences about what is not known, wrapped into lines."""
    width = text_width()
    return [line for words in source.missing for line in textwrap.wrap(f"Missing: {words}.", width)]


def event_json(envelope: Envelope) -> dict[str, object]:
    """Return the head of an event (everything but its fields) as a dictionary for `json.dumps`."""
    return {
        "event": event_name(envelope),
        "name": envelope.name,
        "source": list(envelope.source),
        "wall_ms": envelope.wall_ms,
        "mono_us": envelope.mono_us,
    }


def text_width() -> int:
    """Return the width for texts in columns: the terminal's width or 80, but not too wide to
    read.
    """
    return max(40, min(shutil.get_terminal_size((80, 24)).columns, 140))


def colour_of(source: Source) -> str:
    """Return the colour of a process, as `click.style` takes it."""
    if source.broker is None:
        return "white"
    return BROKER_COLOURS[source.broker % len(BROKER_COLOURS)]


def styled(text: str, **style: object) -> str:
    """Colour a text, unless NO_COLOR is set.

    Click removes colours that the terminal cannot show.
    """
    if os.environ.get("NO_COLOR"):
        return text
    return click.style(text, **style)  # type: ignore[arg-type]  # the names are click's own


def write_answer(answer: object, json_file: Path | None, lines: Sequence[str]) -> None:
    """Print the lines. If a file is named, also write the answer to it as JSON.

    Raises ClickException if the file cannot be written.
    """
    if json_file is not None and str(json_file) == "-":
        json.dump(answer, sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
        return
    for line in lines:
        click.echo(line)
    if json_file is not None:
        write_json(json_file, answer)
