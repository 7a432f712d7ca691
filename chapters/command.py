"""Play a chapter of the course on a real cluster: read, predict, run and watch, break, do."""

import contextlib
import importlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from kafka_edu.cli.command_table import COMMANDS, read_group
from kafka_edu.cli.report import Report
from kafka_edu.common.package_group import PackageGroupError, ensure_group
from kafka_edu.common.python_process import command_line

from .chapter import Chapter, find_chapters
from .learn import remember_chapter
from .page_values import Held, PageError, compare, page_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafka_edu.instruments.presenter.bookmark import MissedBefore
    from kafka_edu.instruments.presenter.presentation import Missed
    from kafka_edu.instruments.presenter.script import ClusterWish, Script
    from kafka_edu.supervisor.cluster_spec import Wish
    from tui.presenter.audience import Audience
    from tui.presenter.cast import Cast
    from tui.presenter.run import Outcome
    from tui.presenter.run import Scene as PresenterScene

#: The maximum size of a recording in bytes. Recordings are part of the repository.
MAX_RECORDING: Final = 2_000_000
#: How far apart the samples of a recording are, in µs: two samples a second. Jobs take minutes on a
#: slow machine, and their recordings would become too large.
GAUGES_EVERY_US: Final = 500_000


class Scenes(Protocol):
    """The places where a script can be presented: a live cluster or recordings."""

    def of_cluster(self, cluster: str) -> "PresenterScene": ...

    def of_recordings(self, files: "Sequence[Path]") -> "PresenterScene": ...


class Presenter(Protocol):
    """The functions of the presenter's module `run`, which is next to the command `present`."""

    @property
    def Scene(self) -> Scenes: ...

    def screen_names(self) -> list[str]: ...

    def simulated_scene(
        self, name: str, scenario: Path, *, hurry: bool, reach_us: int | None = None
    ) -> contextlib.AbstractContextManager["PresenterScene"]: ...

    def write_cast(
        self, script: "Script", script_file: Path, scene: "PresenterScene", file: Path
    ) -> "Cast": ...

    def run_presentation(
        self,
        script: "Script",
        script_file: Path,
        scene: "PresenterScene",
        *,
        plain: bool = False,
        fast: bool = False,
        from_start: bool = False,
        recorder: object = None,
        missed_before: "Sequence[Missed]" = (),
        audience: "Audience | None" = None,
    ) -> "Outcome": ...


def presenter() -> Presenter:
    """Import the presenter. Its package has a different name in an installed kafka-edu."""
    package = read_group(COMMANDS)["present"].module.rpartition(".")[0]
    module: Presenter = importlib.import_module(f"{package}.run")
    return module


@click.command()
@click.argument("number", required=False)
@click.option("--part", metavar="NAME", help="A part of the chapter that has its own cluster.")
@click.option("--read", is_flag=True, help="Show the chapter's page.")
@click.option("--plain", is_flag=True, help="Print only text, without the dashboard.")
@click.option("--from-start", is_flag=True, help="Begin at the first step, not where you stopped.")
@click.option("--replay", is_flag=True, help="Use the chapter's recording, without a cluster.")
@click.option(
    "--sim",
    is_flag=True,
    help="On a simulated cluster, in virtual time: starts at once, needs no port.",
)
@click.option(
    "--fast",
    is_flag=True,
    help="Run without keys, on a cluster of the chapter's own. At the end the values in the page"
    " are checked.",
)
@click.option(
    "--record", is_flag=True, help="Make the chapter's recording again, and check the page."
)
@click.option(
    "--cast",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the recording to this file as an asciicast: the dashboard's frames, for asciinema.",
)
@click.option(
    "--job", metavar="NAME", help="Run only one job of the chapter, on the chapter's cluster."
)
@click.option("--jobs", is_flag=True, hidden=True)
@click.option("--cluster", metavar="NAME", help="With --job: the cluster (default: the chapter's).")
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the values of the page and of the run to this file.",
)
def chapter(
    number: str | None,
    part: str | None,
    read: bool,
    plain: bool,
    from_start: bool,
    replay: bool,
    sim: bool,
    fast: bool,
    record: bool,
    cast: Path | None,
    job: str | None,
    jobs: bool,
    cluster: str | None,
    json_file: Path | None,
) -> None:
    """Run chapter NUMBER on a real cluster, step by step; without a number, list the chapters.

    The space key goes forward and backspace goes back; digits answer a question. The dashboard
    shows the cluster above the text. If you leave with q, the same command continues from there.
    Each chapter has a cluster of its own, which is deleted at the chapter's end.
    """
    if number is None:
        list_chapters()
        return
    chosen = chapter_of(number)
    if part is not None:
        chosen = _part_of(chosen, part)
    if read:
        Console().print(Markdown(chosen.text()))
        return
    if cast is not None:
        with errors_as_messages(chosen):
            _write_cast(chosen, cast)
        return
    if job is not None or jobs:
        with errors_as_messages(chosen):
            _run_jobs(chosen, job, cluster or f"chapter-{chosen.number}")
        return
    if cluster is not None:
        raise click.UsageError("--cluster needs --job; a chapter has its own cluster")
    if record and replay:
        raise click.UsageError("--record runs a cluster; leave out --replay")
    if not (plain or fast or record or sys.stdout.isatty()):
        raise click.ClickException("the dashboard needs a terminal; --plain does without one")
    if sim and (replay or record):
        raise click.UsageError("--sim simulates a cluster; leave out --replay and --record")
    if not (replay or sim):
        _require_packages(chosen)
    with errors_as_messages(chosen):
        if sim:
            _run_simulated(chosen, plain, fast, from_start, json_file)
            return
        _run(chosen, plain, from_start, replay, fast, record, json_file)


def chapter_of(number: str) -> Chapter:
    """Return the chapter with this number. Raises click's exception if there is none."""
    known = find_chapters()
    chosen = known.get(number.zfill(2))
    if chosen is None:
        raise click.UsageError(f"there is no chapter '{number}'; there are: {', '.join(known)}")
    return chosen


def _part_of(chosen: Chapter, name: str) -> Chapter:
    parts = chosen.parts()
    if name not in parts:
        there = ", ".join(parts) or "none"
        raise click.UsageError(f"chapter {chosen.number} has no part '{name}'; there are: {there}")
    return parts[name]


def _write_cast(chosen: Chapter, file: Path) -> None:
    stage = presenter()
    script = chosen.script(stage.screen_names())
    scene = stage.Scene.of_recordings([chosen.recording])
    try:
        made = stage.write_cast(script, chosen.script_file, scene, file)
    except OSError as error:
        raise click.ClickException(f"cannot write {file}: {error.strerror}") from error
    click.echo(
        f"{file}: {made.seconds:.0f} s, {made.frames} frames, {made.bytes:,} bytes; play it with:"
        f" asciinema play {file}"
    )


def _require_packages(chosen: Chapter) -> None:
    """Install the packages that the chapter's jobs need. `./kafka-edu` prints the size first."""
    if not (needs := chosen.needs()):
        return
    try:
        ensure_group(*needs)
    except PackageGroupError as error:
        recorded = command_line(f"{chosen.command} --replay")
        raise click.ClickException(
            f"{error} Or see the chapter's recording, which needs no cluster: {recorded}"
        ) from error


def _run_jobs(chosen: Chapter, job: str | None, cluster: str) -> None:
    from .job_runner import run_job, run_jobs

    if job is not None and job not in (known := chosen.jobs().names):
        there = ", ".join(known) or "none"
        raise click.UsageError(f"chapter {chosen.number} has no job '{job}'; there are: {there}")
    _require_packages(chosen)
    if job is not None:
        run_job(chosen, job, cluster)
    else:
        run_jobs(chosen, cluster)


def list_chapters() -> None:
    table = Table("chapter", "title")
    for each in find_chapters().values():
        table.add_row(each.number, each.title.removeprefix(each.number).strip())
    Console().print(table)
    click.echo(f"Begin with: {command_line('chapter 01')}")


@contextlib.contextmanager
def errors_as_messages(chosen: Chapter) -> Iterator[None]:
    from kafka_edu.instruments.presenter.script_reader import ScriptError
    from kafka_edu.supervisor.cluster import ClusterError

    try:
        yield
    except (ScriptError, ClusterError) as error:
        recorded = command_line(f"{chosen.command} --replay")
        also = f"\nIts recording needs no cluster: {recorded}" if chosen.part else ""
        raise click.ClickException(f"{error}{also}") from error
    except PageError as error:
        raise click.ClickException(f"{chosen.page}: {error}") from error


def _run(
    chosen: Chapter,
    plain: bool,
    from_start: bool,
    replay: bool,
    fast: bool,
    record: bool,
    json_file: Path | None,
) -> None:
    stage = presenter()
    script = chosen.script(stage.screen_names())
    learning = not (fast or record)
    if learning and not chosen.part:
        remember_chapter(chosen.number, finished=False)
    missed_before = _missed_before(chosen) if learning else ()
    if replay:
        scene = stage.Scene.of_recordings([chosen.recording])
        outcome = stage.run_presentation(
            script,
            chosen.script_file,
            scene,
            plain=plain,
            fast=fast,
            from_start=from_start,
            missed_before=missed_before,
        )
    elif fast or record:
        outcome = _run_fast(chosen, script, stage, plain or record, record)
    else:
        outcome = run_live(chosen, script, stage, plain, from_start, missed_before)
    if not learning:
        held = compare(page_values(chosen.text()), outcome.names)
        show_values(chosen, held, outcome.names, json_file)
    elif outcome.finished and chosen.part:
        click.echo(f"That was a part of chapter {chosen.number}: {command_line('learn')}")
    elif outcome.finished:
        remember_chapter(chosen.number, finished=True)
        _store_of_missed(chosen).save(outcome.missed)
        click.echo(f"That was chapter {chosen.number}. What comes next: {command_line('learn')}")


def _run_simulated(
    chosen: Chapter, plain: bool, fast: bool, from_start: bool, json_file: Path | None
) -> None:
    """Present on a simulated cluster, which ends with the presentation. If the learner leaves, the
    next start executes the cluster's run again, up to the start of the step.
    """
    from .left_cluster import LeftCluster, left_file
    from .simulated import NotSimulatedError, scenario_text, simulated

    stage = presenter()
    script = chosen.script(stage.screen_names())
    try:
        text = scenario_text(chosen.id, script)
    except NotSimulatedError as error:
        raise click.ClickException(
            f"chapter {chosen.id} cannot run on a simulated cluster: {error}"
        ) from error
    here = simulated(chosen.id, script, command_line(f"{chosen.command} --replay"))
    left = None if fast or from_start else LeftCluster.load(chosen.id, script.digest)
    if left is None and not from_start and left_file(chosen.id).path.exists():
        click.echo("the script or the code has changed since you left, so the chapter begins again")
    text, reach_us = (text, None) if left is None else left
    with tempfile.TemporaryDirectory(prefix="kafka-edu-sim-") as folder:
        file = Path(folder) / f"chapter-{chosen.id}.sim"
        file.write_text(text, encoding="utf-8")
        with stage.simulated_scene(
            f"chapter-{chosen.id}", file, hurry=fast, reach_us=reach_us
        ) as scene:
            LeftCluster.forget(chosen.id)  # the learner's place changes from now on
            outcome = stage.run_presentation(
                here.script, chosen.script_file, scene, plain=plain, fast=fast
            )
            if not (fast or outcome.finished) and outcome.left_us:
                LeftCluster.of(scene, text, outcome.left_us).save(chosen.id, script.digest)
    for step in here.left_out:
        click.echo(f"left out: step {step.number}, {step.title}: it needs {step.why}")
    if fast:
        values = page_values(chosen.text())
        held = [value for value in values if not {value.name, value.less} & here.missing]
        if len(held) < len(values):
            click.echo(f"{len(values) - len(held)} values of the page belong to these steps")
        show_values(chosen, compare(held, outcome.names), outcome.names, json_file)


def _store_of_missed(one: Chapter) -> "MissedBefore":
    from kafka_edu.instruments.presenter.bookmark import MissedBefore

    return MissedBefore(one.script_file)


def _missed_before(chosen: Chapter) -> "Sequence[Missed]":
    """Return the questions that the learner missed in the chapter before this one.

    A part has none.
    """
    if chosen.part:
        return ()
    before = [one for number, one in find_chapters().items() if number < chosen.number]
    return _store_of_missed(before[-1]).load() if before else ()


def _run_fast(
    chosen: Chapter, script: "Script", stage: Presenter, plain: bool, record: bool
) -> "Outcome":
    """Present on a new cluster that is used only for this, and delete this cluster afterwards."""
    from kafka_edu.common.user_files import state_folder
    from kafka_edu.instruments.recording import Recorder, thinned
    from kafka_edu.supervisor.cluster import running_cluster

    name = f"chapter-{chosen.id}-fast"
    wish = script.cluster
    with contextlib.ExitStack() as stack:
        stack.enter_context(
            running_cluster(
                name,
                brokers=wish.brokers,
                props=wish.props,
                broker_props=wish.broker_props,
                zookeeper=wish.zookeeper,
                zookeepers=wish.zookeepers,
                with_relays=wish.with_relays,
                api_level=wish.api_level,
                home=state_folder(),
            )
        )
        keep = thinned(GAUGES_EVERY_US if script.jobs.names else 0)
        recorder = Recorder(chosen.recording, name, keep) if record else None
        if recorder is not None:
            stack.callback(recorder.close)
        scene = stage.Scene.of_cluster(name)
        outcome = stage.run_presentation(
            script, chosen.script_file, scene, plain=plain, fast=True, recorder=recorder
        )
    if recorder is not None and recorder.failure:
        raise click.ClickException(recorder.failure)
    if record and (size := chosen.recording.stat().st_size) > MAX_RECORDING:
        raise click.ClickException(
            f"{chosen.recording} has {size:,} bytes; at most {MAX_RECORDING:,} are allowed"
        )
    return outcome


def _wish(wish: "ClusterWish") -> "Wish":
    from kafka_edu.supervisor.cluster_spec import Wish

    return Wish(
        wish.brokers,
        zookeeper=wish.zookeeper,
        props=wish.props,
        broker_props=wish.broker_props,
        zookeepers=wish.zookeepers,
        api_level=wish.api_level,
        with_relays=wish.with_relays,
    )


def run_live(
    chosen: Chapter,
    script: "Script",
    stage: Presenter,
    plain: bool,
    from_start: bool,
    missed_before: "Sequence[Missed]",
    audience: "Audience | None" = None,
) -> "Outcome":
    """Present on the chapter's own cluster, which stays up while the learner is away."""
    from kafka_edu.supervisor.cluster import attach, is_up, start_cluster
    from kafka_edu.supervisor.cluster_folder import ClusterFolder

    name = f"chapter-{chosen.id}"
    folder = ClusterFolder.of(name)
    if from_start and is_up(folder):
        attach(name).down(delete=True)
    if not is_up(folder):
        from_start = True  # this is not the cluster of the saved place
        shutil.rmtree(folder.path, ignore_errors=True)
        with Console(stderr=True).status("starting ZooKeeper and the brokers"):
            cluster = start_cluster(name, _wish(script.cluster))
            with contextlib.closing(cluster):
                cluster.wait_ready()
                cluster.release()
    finished = False
    try:
        outcome = stage.run_presentation(
            script,
            chosen.script_file,
            stage.Scene.of_cluster(name),
            plain=plain,
            from_start=from_start,
            missed_before=missed_before,
            audience=audience,
        )
        finished = outcome.finished
    finally:
        if finished:
            attach(name).down(delete=True)
        else:
            delete = command_line(f"cluster down --cluster {name} --delete")
            click.echo(f"Its cluster stays up. To stop it: {delete}")
    return outcome


def show_values(
    chosen: Chapter, held: "Sequence[Held]", names: "Mapping[str, str]", json_file: Path | None
) -> None:
    """Show the page's values next to those of the run. Exit with 1 if a value does not agree."""
    report = Report(f"chapter-{chosen.id}")
    for name, value in names.items():
        report.figure(name, value)
    wrong = [each for each in held if each.objection]
    report.target("values of the page that do not hold", len(wrong), "==", 0)
    report.target("values of the page", len(held), ">=", 1)
    for each in wrong:
        click.echo(f"{chosen.page}:{each.value.line}: {each.objection}", err=True)
    if json_file is not None:
        report.write(json_file)
    if not report.holds:
        raise click.exceptions.Exit(1)
    click.echo(f"the {len(held)} marked values of {chosen.page.name} hold in this run")
