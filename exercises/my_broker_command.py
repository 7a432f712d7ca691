"""The command `kafka-edu lab my-broker`.

It starts a cluster in which all parts run that the learner has passed.
"""

import signal
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from kafka_edu.common.python_process import command_line
from kafka_edu.instruments.json_file import write_json
from kafka_edu.learner.lab_partitions import LAB_TOPICS

from .exercise_id import DIRECTORY
from .my_broker import NAME, SEAMS, Part, my_parts, reference_parts, wish_of
from .runner.manifest import load_manifest
from .runner.workplace import Workplace


@click.command("my-broker")
@DIRECTORY
@click.option("--list", "only_list", is_flag=True, help="Only list which parts are yours.")
@click.option(
    "--without",
    multiple=True,
    metavar="EXERCISE",
    help="Use the course's part instead of yours; may be repeated.",
)
@click.option(
    "--prove",
    is_flag=True,
    help=(
        "Kill the controller under an unmodified producer and consumer, and compare its speed with"
        " ours; two minutes, and nothing stays up."
    ),
)
@click.option("--solutions", is_flag=True, help="Use the reference solutions, not your files.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write the list to this file, or with --prove the figures.",
)
def my_broker(
    directory: Path | None,
    only_list: bool,
    without: tuple[str, ...],
    prove: bool,
    solutions: bool,
    json_file: Path | None,
) -> None:
    """Start a cluster of three brokers in which everything that you have passed runs.

    You can use it with any client. It stays up until `cluster down --cluster my-broker`. You may
    kill its brokers like those of any other cluster. With each exercise that you pass, more of it
    is yours.
    """
    parts = chosen_parts(directory, solutions, without)
    show_parts(Console(), parts)
    if json_file is not None and not prove:
        _write(json_file, parts)
    if only_list:
        return
    require_one(parts)
    if prove:
        raise click.exceptions.Exit(0 if _prove(parts, json_file) else 1)
    _start(parts)


def chosen_parts(directory: Path | None, solutions: bool, without: tuple[str, ...]) -> list[Part]:
    """Return the parts: the learner's files, or the reference solutions. Raises click's
    exceptions.
    """
    unknown = [word for word in without if word not in SEAMS]
    if unknown:
        raise click.UsageError(
            f"--without {unknown[0]}: no part of a broker has that number; there are:"
            f" {', '.join(SEAMS)}"
        )
    exercises = list(load_manifest().values())
    if solutions:
        if not all(one.solution.is_file() for one in exercises if one.id in SEAMS):
            raise click.ClickException("this copy of the course has no solutions")
        return reference_parts(exercises, without)
    return my_parts([Workplace(exercise, directory) for exercise in exercises], without)


def require_one(parts: Sequence[Part]) -> None:
    """Raise click's exception if no part of the learner would run."""
    if not any(part.mine for part in parts):
        raise click.ClickException(
            "nothing in it would be yours: pass an exercise first, for example"
            f" {command_line('lab start 02-1')}"
        )


def _prove(parts: Sequence[Part], json_file: Path | None) -> bool:
    from kafka_edu.supervisor.cluster import ClusterError

    from .my_broker_proof import prove

    console = Console()
    try:
        with console.status("starting") as status:
            report = prove(parts, status.update)
    except ClusterError as error:
        raise click.ClickException(f"{error}; try again when nothing else runs") from error
    report.show(console)
    if json_file is not None:
        report.write(json_file)
    return report.holds


def show_parts(console: Console, parts: Sequence[Part]) -> None:
    """Show a table of the parts: whether each is the learner's, and the reason if it is not."""
    table = Table("exercise", "part", "whose", "")
    for part in parts:
        whose = "[green]mine[/]" if part.mine else "ours"
        table.add_row(part.exercise.id, SEAMS[part.exercise.id].wanted, whose, part.note)
    console.print(table)
    mine = sum(part.mine for part in parts)
    console.print(f"{mine} of {len(parts)} parts are yours.", highlight=False)


def _start(parts: Sequence[Part]) -> None:
    from kafka_edu.supervisor.cluster import ClusterError, start_cluster

    down = command_line(f"cluster down --cluster {NAME}")
    try:
        cluster = start_cluster(NAME, wish_of(parts))
    except ClusterError as error:
        again = f"; {down} ends it" if "is up already" in str(error) else ""
        raise click.ClickException(f"{error}{again}") from error
    try:
        with Console().status("starting three brokers, with your parts in each"):
            cluster.wait_ready()
        cluster.release()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is up and stays up
    except ClusterError as error:
        cluster.down()
        raise click.ClickException(str(error)) from error
    except BaseException:
        cluster.down()
        raise
    servers = cluster.bootstrap_servers
    topic = f"{LAB_TOPICS}mine"
    for line in (
        f"Your brokers are up: bootstrap.servers {servers}",
        f"  talk to them:  kcat -b {servers} -t {topic} -P",
        f"  or a load:     {command_line(f'load --cluster {NAME} --topic {topic} --rate 50')}",
        f"  watch them:    {command_line(f'dashboard --cluster {NAME}')}",
        f"  end them:      {down}",
    ):
        click.echo(line)


def _write(file: Path, parts: Sequence[Part]) -> None:
    rows = [
        {
            "exercise": part.exercise.id,
            "part": SEAMS[part.exercise.id].wanted,
            "mine": part.mine,
            "why": part.why,
        }
        for part in parts
    ]
    write_json(file, rows)
