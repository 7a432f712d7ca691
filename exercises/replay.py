"""Try a learner's rule in every order of events (`lab replay` and `lab explore`).

The shortest order in which the rule goes wrong is written as a recording, and the dashboard plays
it.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from kafka_edu.common.python_process import (
    command_line,
    python_command,
    python_environment,
    run_to_its_end,
)
from kafka_edu.common.words import plural
from kafka_edu.learner.learner import Learner, LearnerFailure
from kafka_edu.sim.all_orders import LIMITS, explore
from kafka_edu.sim.election_orders import ElectionSpace, parse_events
from kafka_edu.sim.election_recording import OrderRecording
from kafka_edu.trace.event import SUPERVISOR
from kafka_edu.trace.wire_format import encode, encode_header

from .exercise_id import DIRECTORY, ExerciseId
from .runner.manifest import Exercise, load_manifest
from .runner.searched import Searched, SearchError, every_order_of
from .runner.workplace import Workplace

RULE: Final = "elect"
DEFAULT_EVENTS: Final = "produce a, fetch 1, lag, kill 0, start 0, kill 1"
RECORDING: Final = "wrong_order.jsonl"

OUT = click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"Write the recording there (default: {RECORDING}, next to the learner's file).",
)
PLAIN = click.option(
    "--plain", is_flag=True, help="Only say what was found; do not open the dashboard."
)


@click.command()
@click.argument("exercise", type=ExerciseId())
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@DIRECTORY
@OUT
@PLAIN
def replay(
    exercise: Exercise, file: Path | None, directory: Path | None, out: Path | None, plain: bool
) -> None:
    """Try your EXERCISE, or a FILE, in every order of events of a small world.

    The dashboard shows the shortest order in which your code goes wrong.

    The exit code is 0 if no order goes wrong, 1 if one does.
    """
    if not exercise.orders:
        able = ", ".join(one.id for one in load_manifest().values() if one.orders)
        raise click.ClickException(
            f"{exercise.id} has no orders to try: no other thread or broker takes part in it. You"
            f" can replay {able}"
        )
    work = Workplace(exercise, directory)
    tried = file if file is not None else work.file
    searched = _search(
        tried,
        exercise.wanted,
        lambda learner: every_order_of(exercise).search(learner, tried.name),
        f"begin with `{command_line(f'lab start {exercise.id}')}`",
    )
    screen = "purgatory" if exercise.chapter.startswith("03") else "timeline"
    _show(searched, out or tried.with_name(RECORDING), screen, plain)


@click.command("explore")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--brokers", default=2, show_default=True, help="1 to 3.")
@click.option(
    "--events",
    "text",
    default=DEFAULT_EVENTS,
    show_default=True,
    help="What happens, each once, at most 8: produce VALUE, fetch N, lag, kill N, start N.",
)
@OUT
@PLAIN
def explore_rule(file: Path, brokers: int, text: str, out: Path | None, plain: bool) -> None:
    """Try a rule that elects leaders, in every order of a small cluster's events.

    FILE defines elect(replicas, isr, live). It returns the broker that leads from now on, or None.
    An order goes wrong if an acknowledged record is lost, or if no broker leads although one could.
    The dashboard shows the shortest wrong order. The exit code is 0 if no order goes wrong, 1 if
    one does.
    """
    try:
        events = parse_events(text, brokers)
    except ValueError as error:
        raise click.UsageError(f"--events: {error}") from error

    def search(learner: Learner) -> Searched:
        space = ElectionSpace(brokers, events, learner.run)
        found = explore(space, space.begin(), limits=LIMITS)
        states = f"{plural(found.states, 'state')} of {plural(brokers, 'broker')}"
        if found.shortest is None:
            right = (
                f"{found.orders:,} orders of {plural(len(events), 'event')} are right ({states})"
            )
            return Searched((right, *filter(None, [found.left_out])))
        order, fault = found.shortest
        lines = [f"{number:>2}  {event}" for number, event in enumerate(order, 1)]
        return Searched(
            (f"an order goes wrong, and no shorter one does ({states} were looked at)",),
            (*lines, f"    ✗ {fault}"),
            OrderRecording(space, file.name).play(order, fault),
        )

    begin = f"write one with a function {RULE}(replicas, isr, live), as docs/labs.md does"
    searched = _search(file, RULE, search, begin)
    _show(searched, out or file.with_name(RECORDING), "timeline", plain)


def _search(file: Path, wanted: str, search: Callable[[Learner], Searched], begin: str) -> Searched:
    """Load a learner's file, and search all orders. Return what was found.

    Raises click's exception if the file is missing or wrong. The message contains `begin`, which
    says how to get a file to begin with.
    """
    if not file.is_file():
        raise click.ClickException(f"there is no {file}: {begin}")
    learner = Learner(file, wanted, prints=True)
    try:
        with Console(stderr=True).status("trying every order"):
            return search(learner)
    except (LearnerFailure, SearchError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        learner.close()


def _show(searched: Searched, recording: Path, screen: str, plain: bool) -> None:
    """Print what was found. If an order goes wrong, play it in the dashboard and exit with 1."""
    for line in (*searched.tried, *searched.order):
        click.echo(line)
    if not searched.order:
        return
    try:
        recording.write_bytes(
            encode_header(SUPERVISOR, "every order") + b"".join(map(encode, searched.events))
        )
    except OSError as error:
        raise click.ClickException(f"{recording} cannot be written: {error.strerror}") from error
    words = ["dashboard", "--replay", str(recording), "--screen", screen]
    click.echo(f"The same as a recording: {command_line(' '.join(words))}")
    if not plain and sys.stdin.isatty() and sys.stdout.isatty():
        run_to_its_end(python_command("kafka_edu", *words), env=python_environment())
    raise click.exceptions.Exit(1)
