"""What the commands of `kafka-edu sim` share: they load a scenario, play it, and tell its story."""

import logging
import platform
from collections.abc import Callable
from contextlib import ExitStack
from importlib import resources
from pathlib import Path
from typing import Final

import click

from kafka_edu.sim.planted_faults import PLANTED, planted
from kafka_edu.sim.scenario.language import Scenario, ScenarioError, parse, read
from kafka_edu.sim.scenario.scenario_run import ScenarioResult, ScenarioRun
from kafka_edu.sim.scenario.shrink import Shrinker, Shrunk
from kafka_edu.sim.transcript import narrate
from kafka_edu.trace.event import Envelope

SHIPPED: Final = ("replication", "controller", "groups", "transactions", "cleaner")
MOST_STORY_LINES: Final = 20
"""How many lines of what happened a shrunk file has at most."""


def path_of(name: str) -> Path:
    """Return the file of a scenario that comes with kafka-edu, or `name` itself."""
    if name in SHIPPED and not Path(name).exists():
        return Path(str(resources.files("kafka_edu.sim") / "scenarios" / f"{name}.sim"))
    return Path(name)


def load(name: str) -> Scenario:
    """Return the scenario of a file, or one that comes with kafka-edu. Raises ClickException."""
    try:
        path = path_of(name)
        return read(path) if path == Path(name) else parse(path.read_text(encoding="utf-8"), name)
    except ScenarioError as error:
        raise click.ClickException(str(error)) from error


def check_plant(plant: str) -> None:
    if plant and plant not in PLANTED:
        raise click.UsageError(f"there is no fault {plant!r}; there are {', '.join(PLANTED)}")


def seed_of(scenario: Scenario, given: int | None) -> int:
    """Return the seed to play: the given one, else the file's own, else 1."""
    chosen = scenario.seed if given is None else given
    return 1 if chosen is None else chosen


class Story:
    """Collects the events of a run as lines in the words of transcripts, with their times."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.run: ScenarioRun | None = None

    def tell(self, envelope: Envelope) -> None:
        line = narrate(envelope)
        if line is not None and self.run is not None:
            self.lines.append(f"{self.run.now_ms() / 1_000:8.3f}s  {line}")


def play_and_tell(scenario: Scenario, seed: int, plant: str) -> tuple[ScenarioResult, list[str]]:
    """Play a run, and return its result and what happened in it."""
    story = Story()
    with ExitStack() as stack:
        if plant:
            stack.enter_context(planted(plant))
        story.run = ScenarioRun(scenario, seed, on_fact=story.tell)
        logging.disable(logging.CRITICAL)  # brokers log what the faults do to them
        try:
            return story.run.play(), story.lines
        finally:
            logging.disable(logging.NOTSET)


def shrunk_text(shrunk: Shrunk, rule: str, plant: str, lines: list[str]) -> str:
    """Return a failing run as a file: what is wrong, the commands, and `lines`: what happened."""
    scenario, result, _ = shrunk
    why = next(str(violation) for violation in result.violations if violation.rule == rule)
    about = (f"This run breaks the rule: {why}", *((f"Planted: {plant}",) if plant else ()))
    story = lines[-MOST_STORY_LINES:]
    left_out = len(lines) - len(story)
    return (
        scenario._replace(about=about).text()
        + f"> digest {python_version()} {result.digest}\n"
        + (f"  … {left_out} lines before\n" if left_out else "")
        + "".join(f"  {line}\n" for line in story)
    )


def python_version() -> str:
    """Return the minor version, such as 3.11: a digest belongs to it."""
    major, minor, _ = platform.python_version_tuple()
    return f"{major}.{minor}"


def shrink_and_tell(
    scenario: Scenario,
    result: ScenarioResult,
    rule: str,
    plant: str,
    on_run: Callable[[int, int], None],
) -> tuple[Shrunk, str]:
    """Shrink a run that breaks `rule`. Return the shortest run, and its file.

    `on_run` is called before each run, with its number and the number of its acts.
    """
    stories: dict[Scenario, list[str]] = {}

    def play_run(candidate: Scenario, number: int) -> ScenarioResult:
        on_run(shrinker.runs, len(candidate.acts))
        played, stories[candidate] = play_and_tell(candidate, number, plant)
        return played

    shrinker = Shrinker(rule, play_run)
    shrunk = shrinker.shrink(scenario, result.seed, result.acts)
    return shrunk, shrunk_text(shrunk, rule, plant, stories[shrunk.scenario])
