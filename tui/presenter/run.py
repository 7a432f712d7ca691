"""Run a presentation on a live cluster or on a recording, in the dashboard or as plain text."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from kafka_edu.instruments.stage_feed import StageFeed
from kafka_edu.supervisor.action_client import (
    ActionAddress,
    ActionClient,
    ActionRefusedError,
    NoSupervisorError,
    ask_once,
)
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.wire_format import TraceFormatError

from ..screens.registry import DECLARATIONS
from ..simulation import Simulation
from .audience import Audience

if TYPE_CHECKING:  # the module imports the whole dashboard
    from .cast import Cast

#: The size of the dashboard, in columns and rows, for a fast presentation without a terminal.
_SIZE: Final = (120, 40)
LOOK_EVERY_S: Final = 0.05
SPEEDS: Final = 10
"""More steps of the speed than there are, so the last one is as fast as the machine can."""


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
    feed: StageFeed | None = None
    """The events of a simulated cluster."""
    resumes: bool = False
    """Whether a simulated cluster stands where the learner has left it."""

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


@contextmanager
def simulated_scene(
    name: str, scenario: Path, *, hurry: bool, reach_us: int | None = None
) -> Iterator[Scene]:
    """Start a simulated cluster from a scenario file, and end it after the block.

    With `hurry`, virtual time passes as fast as the machine can. With `reach_us`, the run first
    goes to this time, at which the learner left the cluster. Raises click's exception if the
    simulation cannot be started.
    """
    try:
        simulation = Simulation(str(scenario), None, resumes=reach_us is not None)
    except OSError as error:
        raise click.ClickException(f"the simulation cannot be started: {error}") from error
    try:
        _begin(simulation, hurry, reach_us)
        resumes = reach_us is not None
        key = f"{name} in virtual time"  # a real cluster of this name has its own place
        yield Scene(name, key, simulation.folder, feed=simulation.feed, resumes=resumes)
    finally:
        simulation.end_and_delete()


def _begin(simulation: Simulation, hurry: bool, reach_us: int | None) -> None:
    """Wait until the simulated cluster is up, and has come to `reach_us`."""
    while not simulation.folder.action_address.exists():
        if failure := simulation.failure():
            raise click.ClickException(failure)
        time.sleep(LOOK_EVERY_S)
    try:
        with ActionClient(ActionAddress.read(simulation.folder.action_address)) as client:
            client.ask("wait-ready")
            if reach_us is not None:
                click.echo(
                    f"the simulated cluster goes on to {reach_us / 1e6:.1f} s, where you left"
                )
                client.ask("sim-reach", at_us=reach_us)
                client.ask("sim-run")
            for _ in range(SPEEDS if hurry else 0):
                client.ask("sim-faster")
    except (ActionRefusedError, NoSupervisorError) as error:
        raise click.ClickException(simulation.failure() or str(error)) from error


class Outcome(NamedTuple):
    """The result of a presentation."""

    finished: bool
    """Whether the learner saw the end. If not, the same command continues from there."""
    names: Mapping[str, str]
    """Name → value, for the values that the script's waits and pictures have set."""
    missed: Sequence[Missed]
    """The questions that the learner answered wrongly."""
    left_us: int = 0
    """The time at which the current step began, if the learner has not seen the end."""


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
    afresh = from_start or fast or (scene.feed is not None and not scene.resumes)
    place = None if afresh else bookmark.load()
    presentation = Presentation(
        script, live=scene.replay is None, place=place, missed_before=missed_before
    )
    if plain:
        finished = _run_plain(presentation, bookmark, scene, fast, recorder, audience)
    else:
        finished = _run_dashboard(presentation, bookmark, scene, fast, audience)
    begun, left_us = presentation.step_begun()
    if scene.feed is not None and not (fast or finished):
        # The cluster ends here, and can only go on where a step begins.
        bookmark.save(begun)
    return Outcome(finished, presentation.names, presentation.missed(), left_us)


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
        feed=scene.feed,
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
        feed=scene.feed,
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
        click.echo("stopped; the same command continues there")
    return app.finished


def _live(cluster: str) -> ClusterFolder:
    """Return the folder of a running cluster. Raises click's exception if the cluster is not up."""
    try:
        folder = ClusterFolder.of(cluster)
        ask_once(folder.action_address, "status")
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    except (NoSupervisorError, ActionRefusedError) as error:
        raise click.ClickException(
            f"cluster '{cluster}' is not up; start it with:"
            f" {command_line('cluster up', cluster)}, or present on a recording with"
            " --replay RECORDING"
        ) from error
    return folder
