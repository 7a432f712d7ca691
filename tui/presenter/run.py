"""Run a presentation on a live cluster or on a recording, in the dashboard or as plain text."""

import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from kafka_edu.common.python_process import command_line
from kafka_edu.instruments.presenter.bookmark import Bookmark
from kafka_edu.instruments.presenter.presentation import Missed, Presentation
from kafka_edu.instruments.presenter.script import Script
from kafka_edu.instruments.recording import Recorder, cluster_of, read_recordings
from kafka_edu.instruments.replay import Replay
from kafka_edu.supervisor.action_client import (
    ActionAddress,
    ActionClient,
    ActionRefusedError,
    NoSupervisorError,
)
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.wire_format import TraceFormatError

from ..screens.registry import DECLARATIONS
from .audience import Audience

if TYPE_CHECKING:  # the module imports the whole dashboard
    from .cast import Cast

#: The size of the dashboard, in columns and rows, for a fast presentation without a terminal.
_SIZE: Final = (120, 40)


def screen_names() -> list[str]:
    """Return the names of the screens that a script may show."""
    return [declaration.name for declaration in DECLARATIONS]


class Scene(NamedTuple):
    """The place where a script is presented.

    A live cluster has a folder, a recording has a replay.
    """

    name: str
    key: str
    """The key under which the learner's place in the script is saved."""
    folder: ClusterFolder | None = None
    replay: Replay | None = None

    @classmethod
    def of_cluster(cls, cluster: str) -> "Scene":
        """Return the scene of a live cluster. Raises click's exception if the cluster is not up."""
        return cls(cluster, cluster, _live(cluster))

    @classmethod
    def of_recordings(cls, files: Sequence[Path]) -> "Scene":
        """Return the scene of merged recordings. Raises click's exception if one cannot be read."""
        try:
            replay = Replay(read_recordings(files, partial(click.echo, err=True)))
        except (TraceFormatError, OSError, ValueError) as error:
            raise click.ClickException(str(error)) from error
        key = "\0".join(str(path.resolve()) for path in files)
        return cls(cluster_of(files[0]), key, replay=replay)


class Outcome(NamedTuple):
    """The result of a presentation."""

    finished: bool
    """Whether the learner saw the end. If not, the same command continues from there."""
    names: Mapping[str, str]
    """Name → value, for the values that the script's waits and pictures have set."""
    missed: Sequence[Missed]
    """The questions that the learner answered wrongly."""


def run_presentation(
    script: Script,
    script_file: Path,
    scene: Scene,
    *,
    plain: bool = False,
    fast: bool = False,
    from_start: bool = False,
    recorder: Recorder | None = None,
    missed_before: Sequence[Missed] = (),
    audience: Audience | None = None,
) -> Outcome:
    """Present a script until the learner has seen its end or leaves.

    The first page recalls the questions in `missed_before`, from another script. With `fast`, no
    keys are needed. `recorder` writes the events of a live cluster. Only a plain presentation can
    have one. An `audience` also answers the questions. Raises click's exception if the presentation
    cannot continue.
    """
    bookmark = Bookmark(script_file, script.digest, scene.key)
    place = None if from_start or fast else bookmark.load()
    presentation = Presentation(
        script, live=scene.replay is None, place=place, missed_before=missed_before
    )
    if plain:
        finished = _run_plain(presentation, bookmark, scene, fast, recorder, audience)
    else:
        finished = _run_dashboard(presentation, bookmark, scene, fast, audience)
    return Outcome(finished, presentation.names, presentation.missed())


def write_cast(script: Script, script_file: Path, scene: Scene, file: Path) -> "Cast":
    """Write the presentation of a recording as an asciicast: the dashboard's own frames.

    Raises OSError if the file cannot be written.
    """
    from .cast import write
    from .presenter_app import PresenterApp

    with tempfile.TemporaryDirectory(prefix="kafka-edu-cast-") as nowhere:
        bookmark = Bookmark(script_file, script.digest, "cast", Path(nowhere))
        presentation = Presentation(script, live=False)
        app = PresenterApp(presentation, bookmark, scene.name, replay=scene.replay)
        return asyncio.run(write(app, file))


def _run_plain(
    presentation: Presentation,
    bookmark: Bookmark,
    scene: Scene,
    fast: bool,
    recorder: Recorder | None,
    audience: Audience | None,
) -> bool:
    from .plain_presenter import PlainError, PlainPresenter

    presenter = PlainPresenter(
        presentation,
        bookmark,
        scene.name,
        folder=scene.folder,
        replay=scene.replay,
        fast=fast,
        recorder=recorder,
        audience=audience,
    )
    try:
        asyncio.run(presenter.run())
    except PlainError as error:
        raise click.ClickException(str(error)) from error
    return presenter.finished


def _run_dashboard(
    presentation: Presentation,
    bookmark: Bookmark,
    scene: Scene,
    fast: bool,
    audience: Audience | None,
) -> bool:
    from ..collector import settle_collector
    from .presenter_app import PresenterApp

    terminal = sys.stdout.isatty()
    if not terminal and not fast:
        raise click.ClickException("the dashboard needs a terminal; --plain does without one")
    app = PresenterApp(
        presentation,
        bookmark,
        scene.name,
        folder=scene.folder,
        replay=scene.replay,
        fast=fast,
        audience=audience,
    )
    if terminal:
        settle_collector()
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
    return app.finished


def _live(cluster: str) -> ClusterFolder:
    """Return the folder of a running cluster. Raises click's exception if the cluster is not up."""
    try:
        folder = ClusterFolder.of(cluster)
        with ActionClient(ActionAddress.read(folder.action_address)) as client:
            client.ask("status")
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    except (NoSupervisorError, ActionRefusedError) as error:
        raise click.ClickException(
            f"cluster '{cluster}' is not up; start it with:"
            f" {command_line('cluster up', cluster)}, or present on a recording with"
            " --replay RECORDING"
        ) from error
    return folder
