"""Draw a cluster, a log, a state machine, znodes or a chain of causes as SVG or PNG."""

from collections.abc import Sequence
from pathlib import Path

import click

from kafka_edu.common.python_process import command_line
from kafka_edu.instruments.drawings.figure import KINDS, DrawingError, rendered
from kafka_edu.instruments.event_source import missing_lines, read_events, source_options
from kafka_edu.instruments.recording import cluster_of

from .moments import UnknownMomentError, moment_of
from .past import NothingToDrawError, Past
from .subjects import SUBJECTS, file_name


def _kinds() -> str:
    lines = []
    for name, subject in SUBJECTS.items():
        lines.append(f"  {f'{name} {subject.wants}'.strip():<24} {subject.shows}")
    return "\n".join(lines)


@click.command(epilog="\b\nWHAT is one of:\n" + _kinds())
@click.argument("what", nargs=-1, required=True)
@source_options
@click.option(
    "--at",
    default="",
    metavar="MOMENT",
    help=(
        "The moment: seconds since the beginning (12.5), seconds before the end (-3), a time of"
        " day (14:03:07), or right after an event (b1#4711). Default: now, or the recording's end."
    ),
)
@click.option(
    "--from",
    "begin",
    default="",
    metavar="MOMENT",
    help="An earlier moment. The picture then shows the state before and after, or only the"
    " changes between the two moments.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help=f"The file to write: {', '.join(f'x.{kind}' for kind in KINDS)}. Default: an SVG named by"
    " WHAT.",
)
def draw(
    what: Sequence[str],
    cluster: str,
    replay_files: tuple[Path, ...],
    at: str,
    begin: str,
    out: Path | None,
) -> None:
    """Draw WHAT, from a live cluster or from a recording.

    Each picture explains its colours, and names the moment that it shows.
    """
    name, words = what[0], what[1:]
    subject = SUBJECTS.get(name)
    if subject is None:
        raise click.UsageError(f"there is no picture '{name}'; there are: {', '.join(SUBJECTS)}")
    if len(words) < subject.least:
        raise click.UsageError(f"it is called as: {command_line(f'draw {name} {subject.wants}')}")
    file = out or Path(f"{file_name(what)}.svg")
    kind = file.suffix.lstrip(".").lower()
    if kind not in KINDS:
        names = ", ".join(f"{file.stem or 'x'}.{one}" for one in KINDS)
        raise click.UsageError(f"'{file}' names no kind of picture: write one of {names}")
    source = read_events(cluster, replay_files, gauges=True)
    try:
        moment = moment_of(source.envelopes, at)
        earlier = moment_of(source.envelopes, begin) if begin else None
        if earlier is not None and earlier.mono_us > moment.mono_us:
            raise click.UsageError(f"--from {begin} lies after --at {at or 'the end'}")
        of = cluster_of(replay_files[0]) if replay_files else cluster
        figure = subject.draw(Past(of, source.envelopes, moment, earlier), words)
        picture = rendered(figure, kind)
    except (UnknownMomentError, NothingToDrawError, DrawingError) as error:
        raise click.ClickException(str(error)) from error
    try:
        file.write_bytes(picture)
    except OSError as error:
        raise click.ClickException(
            f"cannot write {file}: {error.strerror}. Name a file in a folder that you may write to."
        ) from error
    click.echo(f"wrote {file}")
    for line in missing_lines(source):
        click.echo(line, err=True)
