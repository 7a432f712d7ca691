"""The commands of `kafka-edu lab`.

They list, start, watch, check, explain and reset exercises. Teachers can also grade and export.
"""

import os
import shlex
import sys
import time
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.syntax import Syntax
from rich.table import Table

from kafka_edu.common.busy_machine import TRY_LATER, NotJudgedError
from kafka_edu.common.python_process import checkout, command_line
from kafka_edu.common.user_files import state_folder

from .capstone_command import capstone
from .exercise_id import DIRECTORY, ExerciseId
from .grading.command import export, grade, rehearse
from .mutation_run import Memory, mutate
from .mutation_table import objections, read_table, with_reasons, write_table
from .my_broker import SEAMS
from .my_broker_command import my_broker
from .prove import Proof, prove_solutions, prove_wrong, show_proofs, write_proofs
from .replay import explore_rule, replay
from .runner.check import check_public
from .runner.live import check_live
from .runner.manifest import Exercise, load_manifest
from .runner.public_tests import CheckError
from .runner.trouble import trouble_of
from .runner.verdict import Step
from .runner.workplace import Workplace
from .show import show_public, show_steps, show_verdict
from .show_wrong import show_wrong
from .spark_command import spark
from .watch import saves, show_round
from .wrong_answers import WrongAnswerError, wrong_answers

PREDICT: Final = "predict"
"""The kind of exercise that asks for numbers. After a wrong answer the learner sees the right one.
"""


@click.group()
def lab() -> None:
    """Write a part of the broker yourself, and see it work in a live cluster."""


lab.add_command(grade)
lab.add_command(export)
lab.add_command(rehearse)
lab.add_command(show_wrong)
lab.add_command(replay)
lab.add_command(explore_rule)
lab.add_command(my_broker)
lab.add_command(capstone)
lab.add_command(spark)


@lab.command("list")
@DIRECTORY
def list_exercises(directory: Path | None) -> None:
    """List the exercises by chapter, with the state of each."""
    console, chapter = Console(), ""
    for exercise in load_manifest().values():
        if exercise.chapter != chapter:
            console.print(
                ("\n" if chapter else "") + f"[bold]{exercise.chapter}[/]", highlight=False
            )
            chapter = exercise.chapter
        work = Workplace(exercise, directory)
        state = work.record.state
        if state == "started":
            state = f"started: {work.file}"
        row = f"  {exercise.id}  {exercise.kind:7}  {exercise.minutes:3} min  {exercise.title}"
        said = f"  [dim]{state}[/]" if state else ""
        console.print(row + said, highlight=False, soft_wrap=True)


@lab.command()
@DIRECTORY
def progress(directory: Path | None) -> None:
    """Show which exercises you have passed, and which one comes next."""
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
    """Begin EXERCISE again from its starter. Your file is kept under a different name."""
    work = Workplace(exercise, directory)
    ended = exercise.trouble and end_trouble(exercise)
    copy = work.reset()
    kept = f" Your work is kept as {copy}." if copy is not None else ""
    click.echo(f"{work.file} is the starter again.{kept}")
    if exercise.trouble:
        again = command_line(f"lab start {exercise.id}")
        click.echo(f"{'Its cluster is ended. ' if ended else ''}{again} makes new trouble.")


@lab.command()
@click.argument("exercise", type=ExerciseId())
@DIRECTORY
@click.option(
    "--give-up",
    is_flag=True,
    help="Show the solution before you have passed. Your progress records this.",
)
@click.option("--yes", is_flag=True, help="Do not ask for a confirmation.")
def solution(exercise: Exercise, directory: Path | None, give_up: bool, yes: bool) -> None:
    """Show the solution of EXERCISE, after you have passed it or given up."""
    work, record = Workplace(exercise, directory), Workplace(exercise, directory).record
    if not exercise.solution.is_file():
        raise click.ClickException("this copy of the course has no solutions: ask your teacher")
    if not record.passed and not record.gave_up:
        if not give_up:
            left = len(exercise.hints()) - record.hints
            hints = f", there are {left} more hints" if left > 0 else ""
            raise click.ClickException(
                f"the solution is only for students who have passed {exercise.id}{hints}. To see"
                " it now,"
                " which your progress records:"
                f" {command_line(f'lab solution {exercise.id} --give-up')}"
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
    """Put the starter of EXERCISE into your folder, and show the task.

    If the exercise is about a cluster in trouble, start that cluster.
    """
    work, console = Workplace(exercise, directory), Console()
    new = work.start()
    console.print(Markdown(exercise.task()))
    console.print(
        f"\n[bold]{work.file}[/]"
        f" {'is ready for you' if new else 'is there already, and was left as it is'}.",
        highlight=False,
    )
    if exercise.trouble:
        begin_trouble(console, exercise, work)


@lab.command()
@click.argument("exercise", type=ExerciseId())
@DIRECTORY
def hint(exercise: Exercise, directory: Path | None) -> None:
    """Show the next hint of EXERCISE. The first hints give away least."""
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
    help="Whether to continue with the live cluster when the public tests pass.",
)
@click.option(
    "--seed", type=int, help="The seed of an earlier check: use the same random numbers again."
)
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
    help="Write the result there.",
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
    """Check your EXERCISE, or a FILE: first by the public tests, then in broker 2 of a live
    cluster. The exit code is 0 if it passed, 1 if not.

    With --solutions or --wrong, prove the checks themselves, of one EXERCISE or of --all.
    """
    if (exercise is None) != all_of_them:
        raise click.UsageError("name one EXERCISE, or --all of them")
    if solutions or wrong:
        if file is not None or only:
            raise click.UsageError(
                "--solutions and --wrong check the course's own files, by all their tests: leave"
                " out FILE and --only"
            )
        proofs = prove(exercise, seed, live, solutions, wrong)
        if json_file is not None:
            write_proofs(proofs, json_file)
        raise click.exceptions.Exit(0 if all(proof.as_expected for proof in proofs) else 1)
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
    except (CheckError, NotJudgedError) as error:
        raise click.ClickException(str(error)) from error
    show_public(console, verdict, options(file, directory))
    if live and verdict.public_passed and exercise.beyond_public:
        steps = (
            check_cluster(console, exercise, work)
            if exercise.trouble
            else show_live(console, exercise, tried)
        )
        verdict = verdict._replace(live=steps)
    if file is None and work.started and not only:
        work.remember(verdict.passed)
    if exercise.kind == PREDICT and verdict.answered_wrongly and work.record.seed:
        for made in work.make_material():
            console.print(
                f"\nThese numbers cannot be used again, because you have seen the answers. {made}"
                " makes new ones.",
                highlight=False,
            )
    show_verdict(console, verdict, exercise.live_cluster, live)
    if verdict.passed and file is None and exercise.id in SEAMS:
        console.print(
            f"It is part of your own broker from now on: {command_line('lab my-broker')}",
            highlight=False,
        )
    if exercise.trouble and verdict.passed:
        ends = command_line(f"lab reset {exercise.id}")
        console.print(f"Its cluster is still up; {ends} ends it.", highlight=False)
    if json_file is not None:
        verdict.write(json_file)
    raise click.exceptions.Exit(0 if verdict.passed or (verdict.public_passed and not live) else 1)


def prove(
    exercise: Exercise | None, seed: int | None, live: bool, solutions: bool, wrong: bool
) -> list[Proof]:
    """Check reference solutions, wrong answers or both. Show and return all results."""
    console = Console()
    exercises = list(load_manifest().values()) if exercise is None else [exercise]
    proofs: list[Proof] = []
    if solutions:
        proofs += show_proofs(console, prove_solutions(exercises, seed, live), "passes")
    if wrong:
        try:
            answers = [answer for one in exercises for answer in wrong_answers(one)]
            proofs += show_proofs(console, prove_wrong(answers, seed, live), "fails as stated")
        except WrongAnswerError as error:
            raise click.ClickException(str(error)) from error
    return proofs


@lab.command("mutate")
@click.argument("exercise", type=ExerciseId(), required=False)
@click.option("--all", "all_of_them", is_flag=True, help="Try every exercise, not one.")
@click.option("--resume", is_flag=True, help="Continue a run that was stopped.")
def mutate_solutions(exercise: Exercise | None, all_of_them: bool, resume: bool) -> None:
    """Change the reference solution of EXERCISE in one place at a time: the tests must notice it.

    Each operator, condition and constant is changed once, and each time the public tests are run.
    They are run for each wrong answer too. The result is written to exercises/mutation.toml. The
    exit code is 1 if the tests find less than 95 % of the changes, or if an unnoticed change has no
    reason in that file.
    """
    if (exercise is None) != all_of_them:
        raise click.UsageError("name one EXERCISE, or --all of them")
    if checkout() is None:
        raise click.ClickException(
            "the table exercises/mutation.toml is in the checkout, not in this installation: clone"
            " the repository and run ./kafka-edu lab mutate there"
        )
    exercises = list(load_manifest().values()) if exercise is None else [exercise]
    if not exercises[0].solution.is_file():
        raise click.ClickException(
            "this is a student's copy, which has no solutions: run it in the whole course"
        )
    raise click.exceptions.Exit(0 if run_mutants(exercises, resume) else 1)


def run_mutants(exercises: list[Exercise], resume: bool) -> bool:
    """Try all mutants of these exercises, and write the table. Return whether all is in order."""
    console = Console()
    shown = Table("exercise", "mutants", "found", "%", "s")
    left: list[str] = []
    for exercise in exercises:
        began = time.monotonic()
        try:
            with console.status(exercise.id) as status:
                row = mutate(
                    exercise,
                    Memory(state_folder(), exercise, resume=resume),
                    lambda done, of, name=exercise.id: status.update(  # type: ignore[misc]
                        f"{name}: {done} of {of} mutants"
                    ),
                )
        except KeyboardInterrupt:
            raise click.ClickException(
                f"stopped in {exercise.id}. The same command with --resume continues."
            ) from None
        except (CheckError, WrongAnswerError) as error:
            raise click.ClickException(str(error)) from error
        rows = read_table()
        rows[exercise.id] = row = with_reasons(row, rows.get(exercise.id))
        write_table(rows)
        left += objections(exercise, row)
        seconds = time.monotonic() - began
        shown.add_row(
            exercise.id, str(row.mutants), str(row.found), f"{row.percent:.1f}", f"{seconds:.0f}"
        )
    console.print(shown)
    for line in left:
        console.print(line, highlight=False, markup=False)
    return not left


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
        except (CheckError, NotJudgedError) as error:
            raise click.ClickException(str(error)) from error
        show_round(console, verdict, options(None, directory))


def options(file: Path | None, directory: Path | None) -> str:
    """Return the options that a command in a message needs, to use the same file and folder."""
    words = [str(file)] if file is not None else []
    words += ["--dir", str(directory)] if directory is not None else []
    return "".join(f" {shlex.quote(word)}" for word in words)


def terminal() -> str:
    """Return the name of the user's terminal, such as /dev/pts/1; empty if there is none."""
    return os.ttyname(sys.stdin.fileno()) if sys.stdin.isatty() and sys.stdout.isatty() else ""


def show_live(console: Console, exercise: Exercise, file: Path) -> tuple[Step, ...]:
    """Run the live part, and show each step as soon as its result is known."""
    from kafka_edu.supervisor.cluster import ClusterError

    console.print(f"\n[bold]{exercise.live_cluster}[/]")
    steps: list[Step] = []
    try:
        with console.status("starting") as status:
            for step in check_live(exercise, file, status.update):
                steps.append(step)
                show_steps(console, [step])
    except ClusterError as error:
        raise click.ClickException(
            f"the {exercise.live_cluster} failed, which says nothing about your code: {error};"
            f" {TRY_LATER}"
        ) from error
    except NotJudgedError as error:
        raise click.ClickException(str(error)) from error
    return tuple(steps)


def begin_trouble(console: Console, exercise: Exercise, work: Workplace) -> None:
    """Start the exercise's cluster and make its trouble, unless the cluster is up already."""
    from kafka_edu.supervisor.cluster import ClusterError

    trouble = trouble_of(exercise)
    if work.record.seed and (work.folder / "before.json").exists() and trouble.is_running():
        console.print("Its cluster is up, and still has the trouble that was there when you left.")
        return
    try:
        with console.status("starting") as status:
            trouble.begin(work.record.seed, work.folder, status.update)
    except ClusterError as error:
        raise click.ClickException(str(error)) from error
    console.print(
        f"Its cluster is up, and in trouble: {work.folder / 'ticket.md'} says what is known.",
        highlight=False,
    )


def end_trouble(exercise: Exercise) -> bool:
    """Stop and remove the cluster of an exercise. Return whether it was up."""
    from kafka_edu.supervisor.cluster import ClusterError

    try:
        return trouble_of(exercise).end()
    except ClusterError as error:
        raise click.ClickException(str(error)) from error


def check_cluster(console: Console, exercise: Exercise, work: Workplace) -> tuple[Step, ...]:
    """Check the state of the exercise's cluster, and show each condition and whether it holds."""
    from kafka_edu.supervisor.cluster import ClusterError

    console.print("\n[bold]your cluster[/]")
    steps: list[Step] = []
    try:
        with console.status("looking") as status:
            for step in trouble_of(exercise).check_state(work.folder, status.update):
                steps.append(step)
                show_steps(console, [step])
    except ClusterError as error:
        raise click.ClickException(str(error)) from error
    return tuple(steps)
