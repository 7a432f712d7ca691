"""Watch a cluster, or a recording of one, in the terminal: brokers, partitions, timing wheels."""

import asyncio
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kafka_edu.common.python_process import DEFAULT_CLUSTER

if TYPE_CHECKING:
    from .report import AppReport

#: How many seconds a picture of a simulated run waits for its cluster to be up.
SIMULATION_TIMEOUT_S: Final = 60.0
#: How many seconds to watch a live cluster before its picture is drawn. They count from the first
#: events of its processes.
LIVE_PICTURE_AFTER_S: Final = 1.0


def _size(_: click.Context, __: click.Parameter, text: str) -> tuple[int, int]:
    columns, x, rows = text.partition("x")
    if not x or not columns.isdigit() or not rows.isdigit() or int(columns) < 40 or int(rows) < 12:
        raise click.BadParameter(f"'{text}' is not COLUMNSxROWS of at least 40x12")
    return int(columns), int(rows)


def _screen(_: click.Context, __: click.Parameter, name: str) -> str:
    from .screens.registry import DECLARATIONS  # importing Textual takes a moment

    names = [each.name for each in DECLARATIONS]
    if name not in names:
        raise click.BadParameter(
            f"there is no screen '{name}'; the screens are: {', '.join(names)}"
        )
    return name


@click.command()
@click.option(
    "--cluster",
    "cluster",
    default=DEFAULT_CLUSTER,
    show_default=True,
    metavar="NAME",
    help="The cluster to watch. It may start and stop meanwhile.",
)
@click.option(
    "--replay",
    "replay_files",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Play a recording instead. Several are merged. Files may be packed (.gz).",
)
@click.option(
    "--sim",
    "scenario",
    metavar="FILE",
    help=(
        "Simulate a cluster instead: FILE is a scenario (docs/simulator.md), or the name of a"
        " scenario that comes with the program, such as replication."
    ),
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="With --sim: the seed. Default: the seed in the file, or 1.",
)
@click.option(
    "--learner",
    "learners",
    multiple=True,
    metavar="EXERCISE=FILE",
    help=(
        "With --sim: let a learner's part serve in the brokers, such as 02-1=wheel.py; with"
        " 2:02-1=wheel.py, in broker 2 only. May be given several times."
    ),
)
@click.option(
    "--record",
    "record_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Record what the dashboard sees into this file. A name with .gz packs it.",
)
@click.option(
    "--report",
    "report_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help=(
        "With a live cluster: write a line of JSON each second, with the delay of the view, the"
        " time to answer keys, and the memory."
    ),
)
@click.option(
    "--capture",
    "capture_files",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Frames that brokers captured, for the Wire screen; with or without a recording.",
)
@click.option(
    "--frame",
    "frame_number",
    type=int,
    metavar="N",
    help="With --capture: begin with frame N, counted as `wire show` does.",
)
@click.option(
    "--screen",
    default="cluster",
    metavar="NAME",
    callback=_screen,
    show_default=True,
    help="The screen to begin with, or to draw.",
)
@click.option(
    "--screenshot",
    "svg_file",
    metavar="OUT.svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw one picture and end. This needs no terminal.",
)
@click.option(
    "--at",
    "at_s",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help=(
        "With --screenshot: the second of the recording (default: its end). With a live cluster:"
        " how many seconds to watch before the picture (default: 1)."
    ),
)
@click.option(
    "--size",
    default="120x36",
    show_default=True,
    metavar="COLUMNSxROWS",
    callback=_size,
    help="For --screenshot.",
)
@click.option("--light", is_flag=True, help="Begin with the light theme, for a projector.")
@click.option(
    "--ascii",
    "ascii_only",
    is_flag=True,
    help="Use letters instead of symbols, as with LANG=C.",
)
def dashboard(
    cluster: str,
    replay_files: tuple[Path, ...],
    scenario: str | None,
    seed: int | None,
    learners: tuple[str, ...],
    record_file: Path | None,
    report_file: Path | None,
    capture_files: tuple[Path, ...],
    frame_number: int | None,
    screen: str,
    svg_file: Path | None,
    at_s: float | None,
    size: tuple[int, int],
    light: bool,
    ascii_only: bool,
) -> None:
    """Watch a cluster, or a recording of one, in the terminal: brokers, partitions, timing wheels.

    Digits change the screen, ? explains a widget, and the footer shows the other keys. On the
    Cluster screen you can kill, start, pause, resume and stop a broker.
    """
    from kafka_edu.instruments.event_source import cluster_folder
    from kafka_edu.instruments.recording import cluster_of, read_recordings
    from kafka_edu.instruments.replay import Replay
    from kafka_edu.instruments.wire.capture import CaptureError, read_capture
    from kafka_edu.trace.wire_format import TraceFormatError

    from .app import DashboardApp, live_picture, picture
    from .ascii import terminal_is_ascii
    from .collector import settle_collector
    from .report import AppReport
    from .view_model.wire_view import WireView

    wire = WireView()
    warnings: list[str] = []
    try:
        for path in capture_files:
            wire.add(read_capture(path, warnings.append))
    except CaptureError as error:
        raise click.ClickException(str(error)) from error
    if frame_number is not None:
        if not 0 < frame_number <= len(wire.listed):
            raise click.ClickException(
                f"there is no frame {frame_number}; --capture gives {len(wire.listed)}"
            )
        wire.choose(wire.listed[frame_number - 1])
    if replay_files or capture_files:
        try:
            envelopes = read_recordings(replay_files, warnings.append)
            if replay_files and not envelopes:
                names = ", ".join(map(str, replay_files))
                raise click.ClickException(f"{names}: the recording holds no events")
            replay = Replay(envelopes) if envelopes else None
        except (TraceFormatError, OSError, ValueError) as error:
            raise click.ClickException(str(error)) from error
        name = cluster_of(replay_files[0]) if replay_files else capture_files[0].stem
        if svg_file is not None:
            end_ms = replay.length_ms if replay is not None else 0
            at_ms = end_ms if at_s is None else int(at_s * 1000)
            svg = picture(name, replay, at_ms, screen, size, light, wire, ascii_only)
            _write(svg_file, asyncio.run(svg))
            for warning in warnings:
                click.echo(warning, err=True)
            return
        _require_terminal()
        settle_collector()
        DashboardApp(
            name,
            replay=replay,
            screen=screen,
            wire=wire,
            ascii_only=ascii_only or terminal_is_ascii(),
            light=light,
            warnings=warnings,
        ).run()
        return
    if svg_file is None:
        _require_terminal()
    if scenario is not None:
        if record_file is not None or report_file is not None:
            raise click.UsageError("--record and --report are for real clusters, without --sim")
        _simulate(scenario, seed, learners, screen, svg_file, at_s, size, light, ascii_only)
        return
    if learners:
        raise click.UsageError("--learner needs --sim; in a real cluster, use lab check --live")
    folder = cluster_folder(cluster)
    try:
        report = AppReport(report_file, time.monotonic()) if report_file is not None else None
    except OSError as error:
        raise click.ClickException(f"cannot write {report_file}: {error.strerror}") from error
    if report is not None:
        click.get_current_context().call_on_close(partial(_check_report, report))
    try:
        app = DashboardApp(
            cluster,
            folder,
            record=record_file,
            screen=screen,
            ascii_only=ascii_only or (svg_file is None and terminal_is_ascii()),
            light=light and svg_file is None,
            report=report,
        )
    except OSError as error:
        raise click.ClickException(f"cannot record to {record_file}: {error}") from error
    try:
        if svg_file is not None:
            drawing = live_picture(
                app, LIVE_PICTURE_AFTER_S if at_s is None else at_s, screen, size, light
            )
            _write(svg_file, asyncio.run(drawing))
        else:
            settle_collector()
            app.run()
    finally:
        app.close_recording(partial(click.echo, err=True))
    if svg_file is None and app.recording_failure:
        raise click.ClickException(app.recording_failure)


def _simulate(
    scenario: str,
    seed: int | None,
    learners: tuple[str, ...],
    screen: str,
    svg_file: Path | None,
    at_s: float | None,
    size: tuple[int, int],
    light: bool,
    ascii_only: bool,
) -> None:
    """Start a simulated run, and watch it until the dashboard ends."""
    from .app import live_picture
    from .ascii import terminal_is_ascii
    from .collector import settle_collector
    from .simulated_app import SimulatedApp
    from .simulation import Simulation

    try:
        simulation = Simulation(scenario, seed, learners)
    except OSError as error:
        raise click.ClickException(f"the simulation cannot be started: {error}") from error
    app = SimulatedApp(
        Path(scenario).stem,
        simulation.folder,
        screen=screen,
        ascii_only=ascii_only or (svg_file is None and terminal_is_ascii()),
        light=light and svg_file is None,
        feed=simulation.feed,
    )
    try:
        if svg_file is not None:
            watch_s = LIVE_PICTURE_AFTER_S if at_s is None else at_s
            drawing = live_picture(
                app, watch_s, screen, size, light, link_timeout_s=SIMULATION_TIMEOUT_S
            )
            svg = asyncio.run(drawing)
        else:
            settle_collector()
            app.run()
    finally:
        kept = simulation.end()
    if simulation.feed.failed and simulation.feed.simulation is None:
        raise click.ClickException(simulation.feed.failed)
    if svg_file is not None:
        _write(svg_file, svg)
    if kept:
        click.echo(f"the futures of this run: {', '.join(map(str, kept))}")


def _require_terminal() -> None:
    """Raise click's exception if there is no terminal to draw on."""
    if not sys.stdout.isatty():
        raise click.ClickException(
            "the dashboard needs a terminal; --screenshot OUT.svg draws a picture without one"
        )


def _check_report(report: "AppReport") -> None:
    """Raise click's exception if the report has ended too early. Called when the dashboard ends."""
    if report.failure:
        raise click.ClickException(report.failure)


def _write(svg_file: Path, svg: str) -> None:
    """Write the picture. Raise click's exception if the file cannot be written."""
    try:
        svg_file.write_text(svg, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(
            f"cannot write {svg_file}: {error.strerror}. Name a file in a folder that you may"
            " write to."
        ) from error
    click.echo(f"wrote {svg_file}")
