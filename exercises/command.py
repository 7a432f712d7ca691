"""Exercises: list, start, watch, check, hint, solution, progress, reset. Your code runs inside a
real broker.
"""

import os
import shlex
import sys
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.syntax import Syntax
from rich.table import Table

from kafka_edu.common.python_process import command_line

from .prove import prove_solutions, prove_wrong, show_proofs
from .runner.check import check_public, live_part
from .runner.manifest import Exercise, UnknownExerciseError, find_exercise, load_manifest
from .runner.public_tests import CheckError
from .runner.verdict import Step
from .runner.workplace import Workplace
from .show import show_public, show_steps, show_verdict
from .watch import saves, show_round

PREDICT: Final = "predict"
"""The kind of an exercise whose wrong answers are followed by the right ones."""


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
    table = Table("exercise", "kind", "chapter", "title", "minutes", "")
    for exercise in load_manifest().values():
        work = Workplace(exercise, directory)
        state = work.record.state
        if state == "started":
            state = f"started: {work.file}"
        table.add_row(
            exercise.id,
            exercise.kind,
            exercise.chapter,
            exercise.title,
            str(exercise.minutes),
            state,
        )
    Console().print(table)


@lab.command()
@DIRECTORY
def progress(directory: Path | None) -> None:
    """Show how far you are, and what comes next."""
    table, console = Table("exercise", "title", "state", "checks", "hints", "since"), Console()
    works = [Workplace(exercise, directory) for exercise in load_manifest().values()]
    records = {work.exercise.id: work.record for work in works}
    for work in works:
        record, exercise = records[work.exercise.id], work.exercise
        table.add_row(
            exercise.id,
            exercise.title,
            f"[green]{record.state}[/]" if record.passed else record.state,
            str(record.checks or ""),
            f"{record.hints} of {len(exercise.hints())}" if record.hints else "",
            (record.passed or record.gave_up or record.started)[:16].replace("T", " "),
        )
    console.print(table)
    left = [work.exercise for work in works if not records[work.exercise.id].passed]
    console.print(
        f"{len(works) - len(left)} of {len(works)} passed; about"
        f" {sum(exercise.minutes for exercise in left)} minutes are left.",
        highlight=False,
    )
    if left:
        verb = "check" if records[left[0].id].started else "start"
        console.print(
            f"Next: {left[0].title}, {command_line(f'lab {verb} {left[0].id}')}", highlight=False
        )


@lab.command()
@click.argument("exercise", type=ExerciseId())
@DIRECTORY
def reset(exercise: Exercise, directory: Path | None) -> None:
    """Begin EXERCISE again from its starter. Your file is kept under another name."""
    work = Workplace(exercise, directory)
    copy = work.reset()
    kept = f" Your work is kept as {copy}." if copy is not None else ""
    click.echo(f"{work.file} is the starter again.{kept}")


@lab.command()
@click.argument("exercise", type=ExerciseId())
@DIRECTORY
@click.option("--give-up", is_flag=True, help="Show it before you have passed, and record that.")
@click.option("--yes", is_flag=True, help="Do not ask again.")
def solution(exercise: Exercise, directory: Path | None, give_up: bool, yes: bool) -> None:
    """Show the solution of EXERCISE, when you have passed it or given up."""
    work, record = Workplace(exercise, directory), Workplace(exercise, directory).record
    if not record.passed and not record.gave_up:
        if not give_up:
            left = len(exercise.hints()) - record.hints
            hints = f", there are {left} more hints" if left > 0 else ""
            raise click.ClickException(
                f"the solution is for those who have passed {exercise.id}{hints}. To see it now,"
                f" and have that recorded: {command_line(f'lab solution {exercise.id} --give-up')}"
            )
        if not yes:
            click.confirm(
                f"Give up on {exercise.id}? Your progress will say so, even if you pass later.",
                abort=True,
            )
        work.give_up()
    console = Console()
    console.print(Syntax(exercise.solution.read_text(encoding="utf-8"), "python"))


@lab.command()
@click.argument("exercise", type=ExerciseId())
@DIRECTORY
def start(exercise: Exercise, directory: Path | None) -> None:
    """Put the starter of EXERCISE into your folder and tell what is asked."""
    work, console = Workplace(exercise, directory), Console()
    new = work.start()
    console.print(Markdown(exercise.task()))
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
            f"You have had all {len(exercise.hints())} hints. The public tests say what is still"
            f" wrong: {command_line(f'lab check {exercise.id}')}. If you want to give up:"
            f" {command_line(f'lab solution {exercise.id} --give-up')}"
        )
        return
    number, text = given
    console.print(f"[bold]Hint {number} of {len(exercise.hints())}[/]")
    console.print(Markdown(text))


@lab.command()
@click.argument("exercise", type=ExerciseId(), required=False)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@DIRECTORY
@click.option(
    "--live/--no-live",
    default=True,
    help="Whether to go on to the live cluster when the public tests pass.",
)
@click.option("--seed", type=int, help="Choose the same random numbers as a check before.")
@click.option("--only", metavar="TEST", default="", help="Run only this public test.")
@click.option("--all", "all_of_them", is_flag=True, help="Check every exercise, not one.")
@click.option("--solutions", is_flag=True, help="Check the reference solutions: all must pass.")
@click.option(
    "--wrong", is_flag=True, help="Check the wrong answers: each must fail for its own reason."
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what came of it there.",
)
def check(
    exercise: Exercise | None,
    file: Path | None,
    directory: Path | None,
    live: bool,
    seed: int | None,
    only: str,
    all_of_them: bool,
    solutions: bool,
    wrong: bool,
    json_file: Path | None,
) -> None:
    """Try your EXERCISE, or a FILE: first the public tests, then broker 2 of a live cluster. Exit
    code 0 if it passed, 1 if not.

    With --solutions or --wrong, prove the checks themselves, of one EXERCISE or of --all.
    """
    if (exercise is None) != all_of_them:
        raise click.UsageError("name one EXERCISE, or --all of them")
    if solutions or wrong:
        raise click.exceptions.Exit(0 if prove(exercise, seed, live, solutions, wrong) else 1)
    if exercise is None:
        raise click.UsageError("--all goes with --solutions or --wrong")
    live = live and not only
    work, console = Workplace(exercise, directory), Console()
    tried = file if file is not None else work.file
    try:
        verdict = check_public(
            exercise,
            tried,
            seed,
            material=work.record.seed,
            only=only,
            terminal=terminal(),
        )
    except CheckError as error:
        raise click.ClickException(str(error)) from error
    show_public(console, verdict, options(file, directory))
    if live and verdict.public_passed and exercise.live:
        verdict = verdict._replace(live=check_live(console, exercise, tried))
    if file is None and work.started and not only:
        work.remember(verdict.passed)
    if exercise.kind == PREDICT and verdict.answered_wrongly and work.record.seed:
        for made in work.make_material():
            console.print(
                f"\nThese numbers are used up, because you have seen the answers. {made} has new"
                " ones.",
                highlight=False,
            )
    if json_file is not None:
        verdict.write(json_file)
    show_verdict(console, verdict, live)
    raise click.exceptions.Exit(0 if verdict.passed or (verdict.public_passed and not live) else 1)


def prove(
    exercise: Exercise | None, seed: int | None, live: bool, solutions: bool, wrong: bool
) -> bool:
    """Check files whose result is known, and return whether all came out as expected."""
    console = Console()
    exercises = list(load_manifest().values()) if exercise is None else [exercise]
    good = True
    if solutions:
        good &= show_proofs(console, prove_solutions(exercises, seed, live), "passes")
    if wrong:
        good &= show_proofs(console, prove_wrong(exercises, seed), "fails as stated")
    return good


@lab.command()
@click.argument("exercise", type=ExerciseId())
@DIRECTORY
def watch(exercise: Exercise, directory: Path | None) -> None:
    """Check EXERCISE by its public tests now, and again whenever you save it. Ctrl-C ends it."""
    work, console = Workplace(exercise, directory), Console()
    if not work.started:
        raise click.ClickException(
            f"there is no {work.file}: begin with `{command_line(f'lab start {exercise.id}')}`"
        )
    if exercise.kind == PREDICT:
        raise click.ClickException(
            f"each set of numbers of {exercise.id} can be checked once, so there is nothing to"
            f" watch: {command_line(f'lab check {exercise.id}')}"
        )
    console.print(f"watching {work.file}; Ctrl-C ends this", highlight=False)
    for _ in saves(work.file):
        try:
            verdict = check_public(
                exercise, work.file, material=work.record.seed, terminal=terminal()
            )
        except CheckError as error:
            raise click.ClickException(str(error)) from error
        show_round(console, verdict, options(None, directory))


def options(file: Path | None, directory: Path | None) -> str:
    """Return the words that name the same file in a command to type."""
    words = [str(file)] if file is not None else []
    words += ["--dir", str(directory)] if directory is not None else []
    return "".join(f" {shlex.quote(word)}" for word in words)


def terminal() -> str:
    """Return the terminal that the reader sits at; empty where there is none."""
    return os.ttyname(sys.stdin.fileno()) if sys.stdin.isatty() and sys.stdout.isatty() else ""


def check_live(console: Console, exercise: Exercise, file: Path) -> tuple[Step, ...]:
    """Run the live part and show each step as it comes."""
    from kafka_edu.supervisor.cluster import ClusterError

    console.print("\n[bold]live cluster[/]")
    steps: list[Step] = []
    try:
        with console.status("starting") as status:
            for step in live_part(exercise).check_live(exercise, file, status.update):
                steps.append(step)
                show_steps(console, [step])
    except ClusterError as error:
        raise click.ClickException(
            f"the live cluster failed, which says nothing about your code: {error}"
        ) from error
    return tuple(steps)
