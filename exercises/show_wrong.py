"""The command `lab show-wrong`.

It shows what a wrong answer changes in the reference solution, and why that is wrong.
"""

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.text import Text

from .exercise_id import ExerciseId
from .wrong_answers import WrongAnswer, WrongAnswerError, wrong_answer, wrong_answers

_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


@click.command("show-wrong")
@click.argument("name", metavar="EXERCISE[/NUMBER]")
@click.option(
    "--to",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the whole wrong answer there, so that `lab check` and `lab grade` can try it.",
)
@click.pass_context
def show_wrong(context: click.Context, name: str, file: Path | None) -> None:
    """Show how a wrong answer differs from the reference solution, and why it is wrong.

    02-1/3 is the third wrong answer to exercise 02-1. Without a NUMBER, list all wrong answers to
    an EXERCISE.

    The output gives parts of the solution away: it is for teachers.
    """
    exercise_id, slash, which = name.partition("/")
    exercise = ExerciseId().convert(exercise_id, None, context)
    console = Console()
    if not slash and file is not None:
        raise click.UsageError(f"--to goes with one wrong answer, as in {exercise_id}/1")
    try:
        if slash:
            answer = wrong_answer(exercise, which)
            show(console, answer)
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(answer.source(), encoding="utf-8")
            return
        for one in wrong_answers(exercise):
            console.print(Text(f"{one.title}: {one.why}"), soft_wrap=True)
    except WrongAnswerError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{file} cannot be written: {error.strerror}") from error


def show(console: Console, answer: WrongAnswer) -> None:
    """Show why an answer is wrong, which test it fails, and the changed lines. Raises
    WrongAnswerError.
    """
    where = f"“{answer.test}” in the live part" if answer.live else answer.test
    if answer.hidden:
        where = f"the hidden test {answer.test}"
    console.print(Text(f"{answer.title}: {answer.why}", style="bold"), soft_wrap=True)
    console.print(Text(f"It fails {where}, which says: … {answer.reason} …\n"), soft_wrap=True)
    for line in difference(answer):
        style = "bold" if line.startswith(("---", "+++")) else _STYLES.get(line[:1], "")
        console.print(Text(line, style=style), soft_wrap=True)


def difference(answer: WrongAnswer) -> Iterator[str]:
    """Yield the lines of a unified diff from the reference solution to a wrong answer.

    Raises WrongAnswerError.
    """
    reference = answer.exercise.solution
    return difflib.unified_diff(
        reference.read_text(encoding="utf-8").splitlines(),
        answer.edited().splitlines(),
        reference.name,
        answer.title,
        lineterm="",
    )
