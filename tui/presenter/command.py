"""Drive a cluster, or a recording of one, step by step, with narration: present."""

import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kafka_edu.common.python_process import command_line
from kafka_edu.supervisor.action_client import (
    ActionAddress,
    ActionClient,
    ActionRefusedError,
    NoSupervisorError,
)
from kafka_edu.supervisor.cluster_folder import ClusterFolder

if TYPE_CHECKING:  # events and Textual take a moment to import
    from kafka_edu.instruments.presenter.bookmark import Bookmark
    from kafka_edu.instruments.presenter.presentation import Presentation
    from kafka_edu.instruments.replay import Replay

#: The size of the dashboard of a fast presentation that has no terminal.
_SIZE = (120, 40)


@click.command()
@click.argument(
    "script_file",
    metavar="FILE.toml",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--cluster",
    default="default",
    show_default=True,
    metavar="NAME",
    help="The cluster to present on; it must be up.",
)
@click.option(
    "--replay",
    "replay_files",
    multiple=True,
    metavar="RECORDING",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Present on a recording instead; several are merged.",
)
@click.option("--plain", is_flag=True, help="Without the dashboard: text only.")
@click.option("--from-start", is_flag=True, help="Do not go on where you stopped.")
@click.option("--check", is_flag=True, help="Only check the file.")
@click.option("--fast", is_flag=True, help="Without keys: go on when all has been seen.")
def present(
    script_file: Path,
    cluster: str,
    replay_files: tuple[Path, ...],
    plain: bool,
    from_start: bool,
    check: bool,
    fast: bool,
) -> None:
    """Drive a cluster, or a recording of one, step by step, with narration.

    The space key goes on and backspace goes back; digits choose an answer. Each step waits until
    what it speaks of has happened. docs/presenter.md describes the file. If you leave with q, the
    same command goes on from there.
    """
    from kafka_edu.instruments.presenter.bookmark import Bookmark
    from kafka_edu.instruments.presenter.presentation import Presentation
    from kafka_edu.instruments.presenter.script_reader import ScriptError, read_script
    from kafka_edu.instruments.recording import cluster_of, read_recordings
    from kafka_edu.instruments.replay import Replay
    from kafka_edu.trace.wire_format import TraceFormatError

    from ..screens.registry import DECLARATIONS

    try:
        script = read_script(script_file, [each.name for each in DECLARATIONS])
    except ScriptError as error:
        raise click.ClickException(str(error)) from error
    if check:
        click.echo(f"{script_file}: '{script.title}', {len(script.steps)} steps")
        return
    replay: Replay | None = None
    folder: ClusterFolder | None = None
    if replay_files:
        try:
            replay = Replay(read_recordings(replay_files, partial(click.echo, err=True)))
        except (TraceFormatError, OSError, ValueError) as error:
            raise click.ClickException(str(error)) from error
        name = cluster_of(replay_files[0])
        stage = "\0".join(str(path.resolve()) for path in replay_files)
    else:
        folder, name, stage = _live(cluster), cluster, cluster
    bookmark = Bookmark(script_file, script.digest, stage)
    place = None if from_start or fast else bookmark.load()
    presentation = Presentation(script, live=replay is None, place=place)
    if plain:
        _run_plain(presentation, bookmark, name, folder, replay, fast)
    else:
        _run_dashboard(presentation, bookmark, name, folder, replay, fast)


def _run_plain(
    presentation: "Presentation",
    bookmark: "Bookmark",
    name: str,
    folder: ClusterFolder | None,
    replay: "Replay | None",
    fast: bool,
) -> None:
    from .plain_presenter import PlainError, PlainPresenter

    presenter = PlainPresenter(
        presentation, bookmark, name, folder=folder, replay=replay, fast=fast
    )
    try:
        asyncio.run(presenter.run())
    except PlainError as error:
        raise click.ClickException(str(error)) from error


def _run_dashboard(
    presentation: "Presentation",
    bookmark: "Bookmark",
    name: str,
    folder: ClusterFolder | None,
    replay: "Replay | None",
    fast: bool,
) -> None:
    from .presenter_app import PresenterApp

    terminal = sys.stdout.isatty()
    if not terminal and not fast:
        raise click.ClickException("the dashboard needs a terminal; --plain does without one")
    app = PresenterApp(presentation, bookmark, name, folder=folder, replay=replay, fast=fast)
    if terminal:
        app.run()
    else:
        app.run(headless=True, size=_SIZE)
    if app.trouble:
        raise click.ClickException(app.trouble)
    if app.return_code:
        raise SystemExit(app.return_code)
    if fast:
        click.echo(f"all {len(presentation.script.steps)} steps were seen")
    elif not app.finished:
        click.echo("stopped; the same command goes on from there")


def _live(cluster: str) -> ClusterFolder:
    """Return the folder of a cluster that is up. Raises click's exception if it is not."""
    try:
        folder = ClusterFolder.of(cluster)
        with ActionClient(ActionAddress.read(folder.action_address)) as client:
            client.ask("status")
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    except (NoSupervisorError, ActionRefusedError) as error:
        option = "" if cluster == "default" else f" --cluster {cluster}"
        raise click.ClickException(
            f"cluster '{cluster}' is not up; start it with: {command_line('cluster up' + option)}"
            ", or present on a recording with --replay RECORDING"
        ) from error
    return folder
