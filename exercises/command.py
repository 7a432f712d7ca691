"""Exercises: list, start, check, hint. Your code runs inside a real broker."""

from collections.abc import Iterable
from pathlib import Path

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from kafka_edu.common.python_process import command_line

from .runner.check import Verdict, check_public, live_part
from .runner.manifest import Exercise, UnknownExerciseError, find_exercise, load_manifest
from .runner.public_tests import CheckError, Outcome
from .runner.verdict import Step
from .runner.workplace import Workplace


class ExerciseId(click.ParamType[Exercise]):
    """An id of the manifest, as in 02-1."""

    name = "exercise"

    def convert(
        self, value: str | Exercise, param: click.Parameter | None, ctx: click.Context | None
    ) -> Exercise:
        if isinstance(value, Exercise):
            return value
        try:
            return find_exercise(value)
        except UnknownExerciseError as error:
            self.fail(str(error), param, ctx)


DIRECTORY = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that holds a folder for each exercise (default: lab).",
)


@click.group()
def lab() -> None:
    """Write a piece of the broker yourself, and see it serve in a live cluster."""


@lab.command("list")
@DIRECTORY
def list_exercises(directory: Path | None) -> None:
    """List the exercises and how far you are."""
    table = Table("exercise", "chapter", "title", "minutes", "")
    for exercise in load_manifest().values():
        work = Workplace(exercise, directory)
        state = (
            "[green]passed[/]" if work.passed else f"started: {work.file}" if work.started else ""
        )
        table.add_row(exercise.id, exercise.chapter, exercise.title, str(exercise.minutes), state)
    Console().print(table)


@lab.command()
@click.argument("exercise", type=ExerciseId())
@DIRECTORY
def start(exercise: Exercise, directory: Path | None) -> None:
    """Put the starter of EXERCISE into your folder and tell what is asked."""
    work, console = Workplace(exercise, directory), Console()
    new = work.start()
    console.print(Markdown(exercise.readme.read_text(encoding="utf-8")))
    console.print(
        f"\n[bold]{work.file}[/]"
        f" {'is ready for you' if new else 'is there already, and was left as it is'}.",
        highlight=False,
    )


@lab.command()
@click.argument("exercise", type=ExerciseId())
@DIRECTORY
def hint(exercise: Exercise, directory: Path | None) -> None:
    """Give the next hint of EXERCISE, mildest first."""
    work, console = Workplace(exercise, directory), Console()
    given = work.next_hint()
    if given is None:
        console.print(
            f"You have had all {work.hints_given} hints. The public tests say what is still amiss:"
            f" {command_line(f'lab check {exercise.id}')}"
        )
        return
    number, text = given
    console.print(f"[bold]Hint {number} of {len(exercise.hints())}[/]")
    console.print(Markdown(text))


@lab.command()
@click.argument("exercise", type=ExerciseId())
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@DIRECTORY
@click.option(
    "--live/--no-live",
    default=True,
    help="Whether to go on to the live cluster when the public tests pass.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what came of it there.",
)
def check(
    exercise: Exercise,
    file: Path | None,
    directory: Path | None,
    live: bool,
    json_file: Path | None,
) -> None:
    """Try your EXERCISE, or a FILE: first the public tests, then broker 2 of a live cluster. Exit
    code 0 if it passed, 1 if not.
    """
    work, console = Workplace(exercise, directory), Console()
    tried = file if file is not None else work.file
    try:
        with console.status("public tests"):
            verdict = check_public(exercise, tried)
    except CheckError as error:
        raise click.ClickException(str(error)) from error
    show_public(console, verdict)
    if live and verdict.public_passed:
        verdict = verdict._replace(live=check_live(console, exercise, tried))
    if file is None and work.started:
        work.remember(verdict.passed)
    if json_file is not None:
        verdict.write(json_file)
    show_verdict(console, verdict, live)
    raise click.exceptions.Exit(0 if verdict.passed or (verdict.public_passed and not live) else 1)


def check_live(console: Console, exercise: Exercise, file: Path) -> tuple[Step, ...]:
    """Run the live part and show each step as it comes."""
    from kafka_edu.supervisor.cluster import ClusterError

    console.print("\n[bold]live cluster[/]")
    steps: list[Step] = []
    try:
        with console.status("starting") as status:
            for step in live_part(exercise).check_live(file, status.update):
                steps.append(step)
                show_rows(console, [(step.says, step.passed, step.seen)])
    except ClusterError as error:
        raise click.ClickException(
            f"the live cluster failed, which says nothing about your code: {error}"
        ) from error
    return tuple(steps)


def show_public(console: Console, verdict: Verdict) -> None:
    if verdict.objection:
        console.print(verdict.objection, highlight=False, markup=False)
        return
    console.print("[bold]public tests[/]")
    first_of: dict[str, Outcome] = {}
    rows = []
    for outcome in verdict.public:
        reason = outcome.message.partition("): ")[2] or outcome.message  # without what was asked
        first = first_of.setdefault(reason, outcome) if reason else outcome
        rows.append(
            (
                outcome.says,
                outcome.passed,
                outcome.message if first is outcome else "for the same reason",
            )
        )
    show_rows(console, rows)


def show_rows(console: Console, rows: Iterable[tuple[str, bool, str]]) -> None:
    for says, passed, seen in rows:
        console.print(
            f" [{'green' if passed else 'red'}]{'✓' if passed else '✗'}[/] {says}", highlight=False
        )
        if seen:
            console.print(
                f"   {seen}", style="dim" if passed else "", highlight=False, markup=False
            )


def show_verdict(console: Console, verdict: Verdict, live: bool) -> None:
    if verdict.passed:
        console.print(
            f"\n[bold green]{verdict.exercise} passed[/]: your code has served in a live broker."
        )
    elif verdict.public_passed and not live:
        console.print(
            "\nThe public tests pass. Without --no-live it goes on to the live cluster, and counts"
            " only then."
        )
    elif not verdict.objection:
        console.print(
            f"\n[bold]{verdict.exercise} not passed yet.[/] A hint:"
            f" {command_line(f'lab hint {verdict.exercise}')}",
            highlight=False,
        )
