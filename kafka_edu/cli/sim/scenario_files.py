"""Find scenarios by the name or the file that a user gives, and choose the seed."""

import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

import click

from kafka_edu.learner.seams import LearnerError
from kafka_edu.sim.learner_parts import check_parts
from kafka_edu.sim.scenario.language import Scenario, ScenarioError, learner_part, parse, read

SHIPPED: Final = ("replication", "controller", "groups", "transactions", "cleaner")
seed_option: Final = click.option(
    "--seed", type=click.IntRange(0), help="The seed. Without it, the file's own, or 1."
)
learner_option: Final = click.option(
    "--learner",
    "learners",
    multiple=True,
    metavar="EXERCISE=FILE",
    help=(
        "Let a learner's part serve in all brokers, such as 02-1=wheel.py; with 2:02-1=wheel.py, in"
        " broker 2 only. May be given several times."
    ),
)
_LEARNER: Final = re.compile(r"(?:(\d+):)?([^=]+)=(.+)")


def path_of(name: str) -> Path:
    """Return the file of the scenario `name` if it comes with kafka-edu, and no file has this name.
    Otherwise `name` is the path of a file, and this path is returned.
    """
    if name in SHIPPED and not Path(name).exists():
        return Path(str(resources.files("kafka_edu.sim") / "scenarios" / f"{name}.sim"))
    return Path(name)


def load(name: str) -> Scenario:
    """Return the scenario in a file, or a scenario of kafka-edu by its name. Raises
    ClickException.
    """
    path = path_of(name)
    if not path.exists():
        raise click.ClickException(
            f"cannot read {name}: there is no such file, and no scenario of kafka-edu with this"
            f" name: these are {', '.join(SHIPPED)}"
        )
    try:
        return read(path) if path == Path(name) else parse(path.read_text(encoding="utf-8"), name)
    except ScenarioError as error:
        raise click.ClickException(str(error)) from error


def seed_of(scenario: Scenario, given: int | None) -> int:
    """Return the seed to play: the given seed, or the file's own seed, or 1."""
    chosen = scenario.seed if given is None else given
    return 1 if chosen is None else chosen


def with_learners(scenario: Scenario, given: Sequence[str]) -> Scenario:
    """Return the scenario with learners' parts added. `given` has the values of the option
    `--learner`.

    Each file is loaded once. Raises ClickException if a part is not possible.
    """
    parts = list(scenario.learners)
    for words in given:
        if (found := _LEARNER.fullmatch(words)) is None:
            raise click.ClickException(f"'{words}' is not EXERCISE=FILE, such as 02-1=wheel.py")
        broker, exercise, file = found.groups()
        ids = scenario.broker_ids
        if broker is not None and int(broker) not in ids:
            raise click.ClickException(
                f"{words}: there is no broker {broker}; they are {ids[0]} to {ids[-1]}"
            )
        try:
            parts.append(learner_part(exercise, file, [int(broker)] if broker else ()))
        except ValueError as error:
            raise click.ClickException(f"{words}: {error}") from error
    try:
        check_parts(parts)
    except LearnerError as error:
        raise click.ClickException(str(error)) from error
    return scenario._replace(learners=tuple(parts))
