"""The common part of the `kafka-edu sim` commands: play a scenario, and show what happened."""

import platform
from collections.abc import Callable
from typing import Final

import click

from kafka_edu.cli.sim.learner_story import EVENTS as LEARNERS
from kafka_edu.cli.sim.learner_story import step_line
from kafka_edu.sim.planted_faults import PLANTED, planted
from kafka_edu.sim.scenario.explore import code_version
from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.scenario.scenario_run import ScenarioResult, ScenarioRun
from kafka_edu.sim.scenario.shrink import Shrinker, Shrunk
from kafka_edu.sim.sim_cluster import silent_brokers
from kafka_edu.sim.transcript import narrate
from kafka_edu.trace.event import Envelope, Level

MOST_STORY_LINES: Final = 20
"""The maximum number of lines about the run in a shrunk file."""


def check_plant(plant: str) -> None:
    if plant and plant not in PLANTED:
        raise click.UsageError(f"there is no fault {plant!r}; there are {', '.join(PLANTED)}")


class Story:
    """Collects the events of a run as lines of text with their times, as in transcripts."""

    def __init__(self, *, steps: bool = False) -> None:
        """With `steps`, each answer of a learner's code is a line too."""
        self.lines: list[str] = []
        self.learners: list[Envelope] = []
        """The facts about learners' parts."""
        self.run: ScenarioRun | None = None
        self._steps = steps

    def tell(self, envelope: Envelope) -> None:
        if isinstance(envelope.event, LEARNERS):
            self.learners.append(envelope)
        line = narrate(envelope)
        if line is None and self._steps:
            line = step_line(envelope)
        if line is not None and self.run is not None:
            self.lines.append(f"{self.run.now_ms() / 1_000:8.3f}s  {line}")


def play_story(scenario: Scenario, seed: int, plant: str, story: Story) -> ScenarioResult:
    """Play a run, and return its result. `story` collects what happened in it.

    If the run has a learner's part, the events of all levels are emitted, because the part's
    answers are events of the level `all`.
    """
    level = Level.ALL if scenario.learners else Level.STATE
    with silent_brokers(), planted(plant):
        story.run = ScenarioRun(scenario, seed, on_fact=story.tell, level=level)
        return story.run.play()


def play_and_tell(scenario: Scenario, seed: int, plant: str) -> tuple[ScenarioResult, list[str]]:
    """Play a run, and return its result and what happened in it."""
    story = Story()
    return play_story(scenario, seed, plant, story), story.lines


def shrunk_text(shrunk: Shrunk, rule: str, plant: str, lines: list[str]) -> str:
    """Return a failing run as the text of a file: the broken rule, the commands, and the events
    (`lines`).
    """
    scenario, result, _ = shrunk
    why = next(str(violation) for violation in result.violations if violation.rule == rule)
    about = (f"This run breaks the rule: {why}", *((f"Planted: {plant}",) if plant else ()))
    story = lines[-MOST_STORY_LINES:]
    left_out = len(lines) - len(story)
    return (
        scenario._replace(about=about).text()
        + f"> digest {python_version()} {result.digest}\n"
        + f"> code {code_version()}\n"
        + (f"  … {left_out} lines before\n" if left_out else "")
        + "".join(f"  {line}\n" for line in story)
    )


def python_version() -> str:
    """Return Python's minor version, such as 3.11. A digest names the version with which it was
    made.
    """
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
