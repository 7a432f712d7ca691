"""Show your way through the course: where you are, what comes next and why."""

import importlib
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from rich.console import Console
from rich.table import Table

from kafka_edu.cli.command_table import COMMANDS, read_group
from kafka_edu.common.python_process import command_line
from kafka_edu.learner.seams import BROKER, seams_of

from .chapter import FOLDER, find_chapters
from .course_step import Step

if TYPE_CHECKING:
    from exercises.runner.progress import Progress, Record

#: The folder with the learner's answers and the file of progress. The command `lab` uses it too.
WORK = "lab"


def lab_module(name: str) -> object:
    """Import a module of the labs. Their package is named differently in an installed kafka-edu."""
    package = read_group(COMMANDS)["lab"].module.rpartition(".")[0]
    return importlib.import_module(f"{package}.{name}")


def open_progress(folder: Path | None = None) -> "Progress":
    """Return the store of progress. Chapters and exercises share it."""
    make: Callable[[Path], Progress] = vars(lab_module("runner.progress"))["Progress"]
    return make(folder or Path.cwd() / WORK)


def remember_chapter(number: str, *, finished: bool) -> None:
    """Record in the store of progress that a chapter was begun or finished."""
    now: Callable[[], str] = vars(lab_module("runner.progress"))["now"]

    def change(record: "Record") -> "Record":
        return record._replace(
            started=record.started or now(), passed=record.passed or (now() if finished else "")
        )

    open_progress().change(f"chapter-{number}", change)


def way(folder: Path | None = None) -> list[Step]:
    """Return all steps of the course in order, with the learner's progress in each."""
    return list(_steps(folder))


def _steps(folder: Path | None) -> Iterator[Step]:
    chapters = find_chapters()
    records = open_progress(folder).read()
    nothing: Record = vars(lab_module("runner.progress"))["Record"]()
    exercises = vars(lab_module("runner.manifest"))["load_manifest"]().values()
    rows = tomllib.loads((FOLDER / "course.toml").read_text(encoding="utf-8"))["chapter"]
    for row in rows:
        number = row["number"]
        if number in chapters:  # false while a chapter has exercises but no page
            step = f"chapter-{number}"
            yield Step(
                step,
                chapters[number].title,
                "chapter",
                row["minutes"],
                row["why"],
                f"chapter {number}",
                records.get(step, nothing),
            )
        for exercise in exercises:
            if exercise.id.partition("-")[0] == number:
                record = records.get(exercise.id, nothing)
                verb = "check" if record.started else "start"
                yield Step(
                    exercise.id,
                    f"{exercise.id} {exercise.title}",
                    exercise.kind,
                    exercise.minutes,
                    "",
                    f"lab {verb} {exercise.id}",
                    record,
                )


def next_step(steps: Sequence[Step]) -> Step | None:
    """Return the first step that is not done, or None at the end of the course."""
    return next((step for step in steps if not step.done), None)


@click.command()
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of your work (default: lab).",
)
@click.option("--go/--no-go", default=True, help="Whether to offer a key that opens it.")
@click.option(
    "--prove",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Run the whole course with fast runs and the reference solutions, in one or two hours."
    " FILE stores the results: the same command continues there.",
)
def learn(directory: Path | None, go: bool, prove: Path | None) -> None:
    """Show your way through the course. One key starts the next step."""
    console = Console()
    steps = way(directory)
    if prove is not None:
        _prove(steps, prove, console)
    coming = next_step(steps)
    show(console, steps, coming)
    if coming is None:
        console.print("You have done all steps that exist. More chapters are being written.")
        console.print(
            f"[bold]Last:[/] your own broker under faults: {command_line('lab capstone')}",
            highlight=False,
        )
        return
    if not go or not sys.stdin.isatty():
        return
    console.print("[bold]\\[enter][/] goes there · any other key leaves")
    if click.getchar() in ("\r", "\n"):
        sys.stdout.flush()
        take(coming)


def _prove(steps: Sequence[Step], file: Path, console: Console) -> NoReturn:
    from .whole_course import prove

    try:
        report = prove(steps, file, console)
    except (OSError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    report.show(console)
    raise click.exceptions.Exit(0 if report.holds else 1)


def show(console: Console, steps: Sequence[Step], coming: Step | None) -> None:
    """Print the steps of the course, and why the next step comes next."""
    table = Table("", "", "", "minutes", "", box=None, padding=(0, 1))
    for step in steps:
        sign = "[green]✓[/]" if step.done else "[bold yellow]▶[/]" if step is coming else " "
        name = f"[bold]{step.title}[/]" if step.kind == "chapter" else f"  {step.title}"
        state = "gave up" if step.record.gave_up and not step.record.passed else ""
        if not step.done and step.record.started:
            state = "begun"
        table.add_row(sign, name, step.kind, str(step.minutes), state)
    console.print(table)
    if coming is None:
        return
    left = sum(step.minutes for step in steps if not step.done)
    done = sum(step.done for step in steps)
    console.print(
        f"\n{done} of {len(steps)} steps are done; about {left} minutes are left.", highlight=False
    )
    parts = seams_of(BROKER)
    mine = sum(bool(step.record.passed) and step.id in parts for step in steps)
    if mine:
        console.print(
            f"{mine} of {len(parts)} parts of your broker are yours:"
            f" {command_line('lab my-broker')}",
            highlight=False,
        )
    console.print(f"[bold]Next:[/] {coming.title}. {coming.why}".rstrip(), highlight=False)
    console.print(f"      {command_line(coming.command)}", highlight=False)
    fresh = command_line("cluster fresh")
    console.print(f"[dim]Something is broken? {fresh} makes a new cluster.[/]", highlight=False)


def take(step: Step) -> None:
    """Run the step's command in this process."""
    name, *words = step.command.split()
    command = read_group(COMMANDS)[name].load()
    if not isinstance(command, click.Command):
        raise click.ClickException(f"'{name}' is not a command")
    command.main(words, standalone_mode=False)
