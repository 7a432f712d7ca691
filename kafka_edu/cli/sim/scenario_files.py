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


def load(name: str) -> Scenario:
    """Return the scenario of a file, or one that comes with kafka-edu. Raises ClickException."""
    try:
        if name in SHIPPED and not Path(name).exists():
            file = resources.files("kafka_edu.sim") / "scenarios" / f"{name}.sim"
            return parse(file.read_text(encoding="utf-8"), name)
        return read(Path(name))
    except ScenarioError as error:
        raise click.ClickException(str(error)) from error


def seed_of(scenario: Scenario, given: int | None) -> int:
    """Return the seed to play: the given one, else the file's own, else 1."""
    chosen = scenario.seed if given is None else given
    return 1 if chosen is None else chosen
