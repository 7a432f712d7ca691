"""The transcript of exercise 18-5: the starter's rules lose acknowledged records.

`found.sim` is a schedule that a search has found with the starter's rules, and that shrinking has
made short. Each learner gets a different run of it: with a different seed, other times, and other
brokers in its roles. It is played when the learner starts the exercise.
"""

from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from kafka_edu.sim.scenario.acts import Act
from kafka_edu.sim.scenario.language import Scenario, parse
from kafka_edu.sim.scenario.scenario_run import ScenarioResult, ScenarioRun
from kafka_edu.sim.sim_cluster import silent_brokers
from kafka_edu.sim.transcript import narrate
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import LeaderElected
from kafka_edu.trace.events.replication import (
    BecameLeader,
    IsrExpanded,
    IsrShrunk,
    LogTruncatedByEpoch,
)

from ..broker_rules import Rules, serve
from .starter import Rules as Starter

RULE: Final = "acked records are there"
"""The rule of the checker that the run breaks."""
WRONG: Final = "high_watermark"
"""The rule of the starter that is wrong."""
MOST_LINES: Final = 40
MOST_SHIFT_MS: Final = 600
SEEDS: Final = 100_000


class Run(NamedTuple):
    """A run with its transcript, and what the learner has to find in it."""

    scenario: Scenario
    lines: tuple[str, ...]
    victim: int
    """The leader that was killed."""
    leader: int
    """The broker that became the leader without all acknowledged records."""
    lost_from: int
    """The offset of the first record that it did not have."""


class Played(NamedTuple):
    """A run, as it was played."""

    result: ScenarioResult
    lines: list[str]
    facts: list[Envelope]
    """The facts since the run began."""


def found() -> Scenario:
    """Return the schedule that the search has found."""
    return parse(Path(__file__).with_name("found.sim").read_text(encoding="utf-8"), "18-5")


def play(scenario: Scenario, rules: Rules) -> Played:
    """Play a scenario that names its seed. All brokers use these rules."""
    assert scenario.seed is not None
    lines, facts = list[str](), list[Envelope]()

    def tell(envelope: Envelope) -> None:
        at = "start"
        if playing.has_begun:
            facts.append(envelope)
            at = f"{playing.now_ms() / 1_000:.3f}s"
        if line := narrate(envelope):
            lines.append(f"{at:>9}  {line}")

    with silent_brokers(), serve(rules):
        playing = ScenarioRun(scenario, scenario.seed, on_fact=tell)
        return Played(playing.play(), lines, facts)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file transcript.sim, as a dict from its name to its text."""
    return {"transcript.sim": "\n".join((*run(seed).lines, ""))}


@cache
def run(seed: int) -> Run:
    """Return the first run for this seed that loses records, for one reason only."""
    for number in count():
        random = Random(f"transcript/{seed}/{number}")
        made = judged(other_run(random.randrange(SEEDS), random.randrange(0, MOST_SHIFT_MS, 10)))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def replicas_of(scenario: Scenario) -> tuple[int, ...]:
    """Return the replicas of the scenario's partition in their order, the leader first."""
    short = play(scenario._replace(acts=(), run_ms=1, settle_ms=1), Starter())
    [line] = [line for line in short.lines if "leader of t-0" in line]
    return tuple(map(int, line.partition("replicas ")[2].split(" ")[0].split(",")))


@cache
def roles() -> tuple[int, ...]:
    """Return the replicas of the partition in `found.sim`."""
    return replicas_of(found())


def other_run(seed: int, later_ms: int) -> Scenario:
    """Return the schedule in `found.sim` with this seed, `later_ms` later, on other brokers."""
    scenario = found()._replace(seed=seed, digests=())
    brokers = dict(zip(roles(), replicas_of(scenario), strict=True))

    def other(act: Act) -> Act:
        who = tuple(brokers[one] for one in act.who)
        return act._replace(at_ms=act.at_ms + later_ms, who=who)

    acts = tuple(map(other, scenario.acts))
    return scenario._replace(acts=acts, run_ms=scenario.run_ms + later_ms)


def judged(scenario: Scenario) -> Run | None:
    """Play a run with the starter's rules. Return None unless it fits the exercise."""
    played = play(scenario, Starter())
    broken = [one for one in played.result.violations if one.rule == RULE]
    elected = [one for one in played.facts if isinstance(one.event, LeaderElected)]
    begun = [one.event for one in played.facts if isinstance(one.event, BecameLeader)]
    if len(broken) != 1 or not elected or not begun:
        return None
    election = elected[0].event
    assert isinstance(election, LeaderElected)
    lost_from = begun[0].start_offset
    before = played.facts[: played.facts.index(elected[0])]
    about = f"This run breaks the rule: {broken[0]}"
    text = scenario._replace(about=(about,)).text() + "".join(f"  {one}\n" for one in played.lines)
    lines = tuple(text.splitlines())
    if (
        any(isinstance(one.event, IsrShrunk | IsrExpanded | LogTruncatedByEpoch) for one in before)
        or f"(offset {lost_from}," not in broken[0].text
        or len(lines) > MOST_LINES
    ):
        return None
    return Run(
        scenario=scenario,
        lines=lines,
        victim=next(act.who[0] for act in scenario.acts if act.verb == "kill"),
        leader=election.new_leader,
        lost_from=lost_from,
    )
