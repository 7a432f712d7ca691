"""Find scenarios by the name or the file that a user gives, and choose the seed."""

from importlib import resources
from pathlib import Path
from typing import Final

import click

from kafka_edu.sim.scenario.language import Scenario, ScenarioError, parse, read

SHIPPED: Final = ("replication", "controller", "groups", "transactions", "cleaner")
seed_option: Final = click.option(
    "--seed", type=click.IntRange(0), help="The seed. Without it, the file's own, or 1."
)


def path_of(name: str) -> Path:
    """Return the file of a scenario that comes with kafka-edu, or `name` itself."""
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
