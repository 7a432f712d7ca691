"""The commands of `kafka-edu lab` for teachers: grade, export and rehearse."""

import os
import time
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kafka_edu.common.python_process import command_line

from ..exercise_id import ExerciseId
from ..runner.manifest import Exercise
from .export import ExportError, export_gradescope, export_offline, export_student
from .grade import Grade, Grader, Kind, RefusedError, Result, grade_class
from .outputs import one_line, write_csv, write_json, write_junit
from .rehearse import ROSTER
from .rehearse import rehearse as make_up
from .submissions import Roster, SubmissionsError, find_submissions

FOLDER = click.Path(file_okay=False, path_type=Path)
OUTPUT = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--exercise", type=ExerciseId(), required=True, help="The exercise, such as 02-1.")
@click.option(
    "--seed",
    default=1,
    show_default=True,
    help="The seed of the tests' random numbers. Keep it secret.",
)
@click.option("--roster", "roster_file", type=OUTPUT, help="A CSV file with the students.")
@click.option("--csv", "csv_file", type=OUTPUT, help="Write a row for each student to this file.")
@click.option(
    "--json", "json_file", type=OUTPUT, help="Write every test of each student to this file."
)
@click.option("--junit", "junit_file", type=OUTPUT, help="Write a JUnit report to this file.")
@click.option(
    "--trusted", is_flag=True, help="Run submissions without separate users, limits and namespaces."
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    help="How many submissions to grade at once (default: the number of cores).",
)
def grade(
    folder: Path,
    exercise: Exercise,
    seed: int,
    roster_file: Path | None,
    csv_file: Path | None,
    json_file: Path | None,
    junit_file: Path | None,
    trusted: bool,
    jobs: int | None,
) -> None:
    """Grade the submissions in FOLDER, each in a jail of its own. Needs root on Linux.

    The exit code is 0 if every student has a grade, 1 if a submission could not be graded.
    """
    console, began = Console(), time.monotonic()
    try:
        roster = Roster(roster_file) if roster_file is not None else None
        submissions = find_submissions(folder, exercise)
        grader = Grader(exercise, seed, Kind.TRUSTED if trusted else Kind.NAMESPACES)
        with console.status(f"0 of {len(submissions)} graded") as status:
            done: list[Grade] = []

            def report(one: Grade) -> None:
                done.append(one)
                status.update(f"{len(done)} of {len(submissions)} graded")

            cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
            grades = grade_class(grader, submissions, roster, jobs=jobs or cores, report=report)
    except (SubmissionsError, RefusedError) as error:
        raise click.ClickException(str(error)) from error
    show(console, grades, time.monotonic() - began)
    try:
        if csv_file is not None:
            write_csv(csv_file, grades)
        if json_file is not None:
            write_json(json_file, exercise, seed, grades)
        if junit_file is not None:
            write_junit(junit_file, exercise, grades)
    except OSError as error:
        raise click.ClickException(
            f"the grades cannot be written ({error}): choose another place and grade again; the"
            " same seed gives the same grades"
        ) from error
    if any(one.result is Result.NOT_GRADED for one in grades):
        raise click.exceptions.Exit(1)


@click.command()
@click.option(
    "--student",
    type=FOLDER,
    metavar="DIR",
    help="Copy the course to this folder, without solutions, wrong answers and hidden tests.",
)
@click.option(
    "--offline",
    type=FOLDER,
    metavar="DIR",
    help="Copy the course in the same way, with all packages, for machines without a network.",
)
@click.option(
    "--for-python",
    multiple=True,
    metavar="3.N",
    help="With --offline: fetch packages for this Python (default: the running one).",
)
@click.option(
    "--gradescope",
    type=(ExerciseId(), OUTPUT),
    metavar="EXERCISE FILE.zip",
    help="Write an autograder for Gradescope.",
)
@click.option("--seed", default=1, show_default=True, help="With --gradescope: as for `grade`.")
def export(
    student: Path | None,
    offline: Path | None,
    for_python: tuple[str, ...],
    gradescope: tuple[Exercise, Path] | None,
    seed: int,
) -> None:
    """Export the course: for students, for a class without a network, or for Gradescope."""
    if sum(one is not None for one in (student, offline, gradescope)) != 1:
        raise click.UsageError("choose one of --student, --offline and --gradescope")
    try:
        if student is not None:
            count = export_student(student)
            click.echo(f"{student} has the course, {count:,} files, without the answers.")
        if offline is not None:
            size = export_offline(offline, for_python or ("",))
            click.echo(
                f"{offline} has the course without the answers, and {size / 1e6:.0f} MB of"
                f" packages for this kind of machine. ./kafka-edu in it needs no network."
            )
        if gradescope is not None:
            exercise, file = gradescope
            points = export_gradescope(exercise, file, seed)
            click.echo(
                f"{file} is an autograder for {exercise.id}: upload it, choose a base image of"
                f" Ubuntu 22.04 or later, and give the assignment {points:g} points."
            )
    except (ExportError, OSError) as error:
        raise click.ClickException(str(error)) from error


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--exercise", type=ExerciseId(), default="02-1", show_default=True)
def rehearse(folder: Path, exercise: Exercise) -> None:
    """Make 30 submissions in FOLDER (right, wrong, empty, copied and hostile), to try `grade`."""
    if exercise.material:
        raise click.ClickException(
            f"the numbers of {exercise.id} are made for each student, so nothing can be made up:"
            " choose an exercise of the kind build"
        )
    try:
        submissions = make_up(folder, exercise)
    except OSError as error:
        raise click.ClickException(
            f"nothing was made up ({error}): name a new folder that can be written"
        ) from error
    kinds = [one.kind for one in submissions]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    click.echo(f"{folder}/submissions has {len(kinds)} submissions: {counts}")
    click.echo(
        "Now: "
        + command_line(
            f"lab grade {folder}/submissions --exercise {exercise.id}"
            f" --roster {folder}/{ROSTER} --csv {folder}/grades.csv"
        )
    )


def show(console: Console, grades: list[Grade], seconds: float) -> None:
    """Show a table of all grades, and a line with the number of each result."""
    table = Table("student", "result", "points", "s", "why, and what to look at")
    colours = {Result.PASSED: "green", Result.FAILED: "red"}
    for one in grades:
        why = "; ".join(filter(None, [one.reason, one.note]))
        table.add_row(
            Text(one_line(one.student)),
            Text(one.result, colours.get(one.result, "yellow")),
            f"{one.earned:g} of {one.possible:g}" if one.rows else "",
            f"{one.seconds:.1f}",
            Text(one_line(why)[:200]),
        )
    console.print(table)
    counts = ", ".join(
        f"{sum(one.result is result for one in grades)} {result}"
        for result in Result
        if any(one.result is result for one in grades)
    )
    console.print(f"{len(grades)} students in {seconds:.0f} s: {counts}", highlight=False)
