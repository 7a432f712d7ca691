"""Watch a cluster, or a recording of one, in the terminal: brokers, partitions, timing wheels."""

import sys
from pathlib import Path

import click

from kafka_edu.common.cluster_home import ClusterFolder, cluster_names


def _size(_: click.Context, __: click.Parameter, text: str) -> tuple[int, int]:
    columns, x, rows = text.partition("x")
    if not x or not columns.isdigit() or not rows.isdigit() or int(columns) < 40 or int(rows) < 12:
        raise click.BadParameter(f"'{text}' is not COLUMNSxROWS of at least 40x12")
    return int(columns), int(rows)


@click.command()
@click.option("--cluster", "cluster", default="default", show_default=True, metavar="NAME", help="The cluster to watch; it may come and go.")
@click.option(
    "--replay",
    "replay_files",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Play a recording instead; several are merged. .gz is understood.",
)
@click.option("--record", "record_file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Record what is seen; .gz packs it.")
@click.option("--screen", type=click.Choice(["cluster", "wheels"]), default="cluster", show_default=True, help="For --screenshot.")
@click.option(
    "--screenshot", "svg_file", metavar="OUT.svg", type=click.Path(dir_okay=False, path_type=Path), help="Draw one picture of a recording, and end."
)
@click.option("--at", "at_s", default=-1.0, metavar="SECONDS", help="For --screenshot: at which second of the recording (default: its end).")
@click.option("--size", default="120x36", show_default=True, metavar="COLUMNSxROWS", callback=_size, help="For --screenshot.")
@click.option("--light", is_flag=True, help="For --screenshot: the light theme.")
def dashboard(
    cluster: str,
    replay_files: tuple[Path, ...],
    record_file: Path | None,
    screen: str,
    svg_file: Path | None,
    at_s: float,
    size: tuple[int, int],
    light: bool,
) -> None:
    """Watch a cluster, or a recording of one, in the terminal: brokers, partitions, timing wheels.

    1 and 2 change the screen, ? says what a widget shows, the footer names the other keys. On the Cluster screen a broker can be killed, started,
    paused, resumed and stopped.
    """
    from kafka_edu.trace.wire_format import TraceFormatError

    from .app import DashboardApp, take_picture
    from .recording import cluster_of, read_recordings
    from .replay import Replay

    replay = None
    if replay_files:
        try:
            replay = Replay(read_recordings(replay_files))
        except (TraceFormatError, OSError, ValueError) as error:
            raise click.ClickException(str(error)) from error
    if svg_file is not None:
        if replay is None:
            raise click.UsageError("--screenshot draws a recording: name it with --replay")
        svg = take_picture(cluster_of(replay_files[0]), replay, replay.length_ms if at_s < 0 else int(at_s * 1000), screen, size, light)
        svg_file.write_text(svg, encoding="utf-8")
        click.echo(f"wrote {svg_file}")
        return
    if not sys.stdout.isatty():
        raise click.ClickException("the dashboard needs a terminal; --replay FILE --screenshot OUT.svg draws a picture without one")
    if replay is not None:
        DashboardApp(cluster_of(replay_files[0]), replay=replay).run()
        return
    try:
        folder = ClusterFolder.of(cluster)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    if not folder.path.is_dir():
        known = ", ".join(cluster_names())
        raise click.ClickException(
            f"there is no cluster '{cluster}'; start one with: kafka-edu cluster up" + (f", or name one of: {known}" if known else "")
        )
    try:
        app = DashboardApp(cluster, folder, record=record_file)
    except OSError as error:
        raise click.ClickException(f"cannot record to {record_file}: {error}") from error
    app.run()
