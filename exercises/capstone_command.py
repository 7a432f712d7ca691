"""The command `kafka-edu lab capstone`.

It runs all parts that a learner has built, while faults happen, and writes a certificate.
"""

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kafka_edu.cli.report import Report

from .exercise_id import DIRECTORY
from .my_broker import Part, parts_of
from .my_broker_command import chosen_parts, require_one, show_parts

if TYPE_CHECKING:
    from .capstone import Played
    from .certificate import Certificate

SECONDS: Final = 180.0
PAGE: Final = "certificate.html"
PICTURE: Final = "certificate.png"


@click.command("capstone")
@DIRECTORY
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=SECONDS,
    show_default=True,
    help="How many seconds brokers are killed, paused and stopped; 0: only until each part had its"
    " moment.",
)
@click.option(
    "--seed",
    type=int,
    default=1,
    show_default=True,
    help="The seed: it decides the order of the acts.",
)
@click.option("--solutions", is_flag=True, help="Use the reference solutions, not your files.")
@click.option(
    "--without",
    multiple=True,
    metavar="EXERCISE",
    help="Use the course's part instead of yours; may be repeated.",
)
@click.option(
    "--alone",
    is_flag=True,
    help="Leave out the second run, with the course's own parts, for comparison.",
)
@click.option("--name", default="", help="Your name, for the certificate.")
@click.option(
    "--wrong",
    is_flag=True,
    help="Prove the capstone: try one wrong part at a time. Each has to fail in its own moment.",
)
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help=f"The folder for {PAGE} and {PICTURE}.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write figures and targets to this file.",
)
def capstone(
    directory: Path | None,
    seconds: float,
    seed: int,
    solutions: bool,
    without: tuple[str, ...],
    alone: bool,
    name: str,
    wrong: bool,
    folder: Path,
    json_file: Path | None,
) -> None:
    """Let everything that you have passed work together, while brokers die for three minutes.

    Two unmodified clients work all the time. The grade depends on the records that they lose, on
    the invariants that the events show, and on whether each of your parts did its work in its
    moment. For parts that you have not written, the course's own parts run. If all targets are met,
    you get a certificate. Exits with 1 if a target is missed.
    """
    console = Console()
    if wrong:
        from .capstone_wrong import prove_wrong_parts

        report = prove_wrong_parts(seed, console)
        _end(report, console, json_file)
    parts = chosen_parts(directory, solutions, without)
    show_parts(console, parts)
    require_one(parts)
    ours = None if alone else parts_of([part.exercise for part in parts], {}, {}, ())
    report = _run(console, parts, ours, seed, seconds, name, folder)
    _end(report, console, json_file)


def _end(report: Report, console: Console, json_file: Path | None) -> None:
    """Show the report, write it to `json_file` if there is one, and exit with 0 or 1."""
    report.show(console)
    if json_file is not None:
        report.write(json_file)
    raise click.exceptions.Exit(0 if report.holds else 1)


def _run(
    console: Console,
    parts: Sequence[Part],
    ours: Sequence[Part] | None,
    seed: int,
    seconds: float,
    name: str,
    folder: Path,
) -> Report:
    from kafka_edu.supervisor.cluster import ClusterError

    from .capstone import MOMENTS, play
    from .capstone_judge import vacancies
    from .capstone_report import lines_of, report_of

    def played(of: Sequence[Part], whose: str) -> "Played":
        with console.status("starting") as status:

            def say(words: str) -> None:
                status.update(escape(f"{whose}: {words}"))

            return play(of, seed, seconds, say)

    try:
        first = played(ours, "ours") if ours is not None else None
        second = played(parts, "yours")
    except ClusterError as error:
        raise click.ClickException(f"{error}; try again when nothing else runs") from error
    report = report_of(second, parts, first)
    _show_moments(console, second)
    if report.holds:
        from .certificate import Certificate

        longest = max((one.ms for one in vacancies(second.envelopes)), default=0.0)
        before = (
            None
            if first is None
            else max((one.ms for one in vacancies(first.envelopes)), default=0.0)
        )
        _write_certificate(
            Certificate(
                name,
                datetime.date.today().isoformat(),
                second.seconds,
                seed,
                second.load.acked,
                second.load.lost,
                second.acts,
                longest,
                before,
                lines_of(second, parts, MOMENTS),
                second.envelopes,
            ),
            folder,
        )
    return report


def _show_moments(console: Console, played: "Played") -> None:
    table = Table("part", "the result of its moment", "")
    for name, steps in played.steps.items():
        failed = [step for step in steps if not step.passed]
        verdict = "[red]no[/]" if failed else "[green]yes[/]"
        seen = f"{failed[0].says}: {failed[0].seen}" if failed else f"{len(steps)} steps"
        table.add_row(name, escape(seen), verdict)
    console.print(table)


def _write_certificate(made: "Certificate", folder: Path) -> None:
    from kafka_edu.instruments.drawings.figure import DrawingError

    from .certificate import page, picture
    from .learner_broker import ALL

    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / PAGE).write_text(page(made, ALL), encoding="utf-8")
        (folder / PICTURE).write_bytes(picture(made, ALL))
    except OSError as error:
        raise click.ClickException(f"cannot write to {folder}: {error.strerror}") from error
    except DrawingError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Your certificate: {folder / PAGE}, and as a picture {folder / PICTURE}")
