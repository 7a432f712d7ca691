"""Find a bug that Kafka had before KIP-101, make its schedule short, and play it with and without
the bug.

A follower cut its log back to its own high watermark. That mark is older than the leader's. So a
follower could cut off a record that was acknowledged, and become the leader before it had fetched
that record again.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.sim.no_log import no_log
from kafka_edu.sim.planted_faults import planted
from kafka_edu.sim.scenario.acts import Act
from kafka_edu.sim.scenario.explore import Tried, try_seed
from kafka_edu.sim.scenario.language import Scenario, parse
from kafka_edu.sim.scenario.scenario_run import ScenarioResult, ScenarioRun, play
from kafka_edu.sim.scenario.shrink import Shrinker, Shrunk
from kafka_edu.sim.transcript import narrate
from kafka_edu.trace.events.replication import LogTruncatedByEpoch
from kafka_edu.trace.events.simulation import (
    SeedsExplored,
    SimulatedFact,
    SimulationPlayed,
    SimulationShrunk,
)

from .fact_trail import DIGEST_LENGTH, FactTrail

FOLDER: Final = Path(__file__).parent
PLANT: Final = "truncate-to-high-watermark"
RULE: Final = "acked records are there"
FAILOVER: Final = "failover"
"""The scenario with a schedule that each seed draws."""
SHORT: Final = "kip101"
"""One schedule of that scenario, after shrinking."""
FIRST_SEED: Final = 101
"""The job begins its search here, because the seeds before find nothing, and the class waits."""
MOST_SEEDS: Final = 300
MOST_RUNS: Final = 40
"""How many runs the job spends on shrinking. `sim shrink` spends up to 200."""
LOST_IN: Final = "t-1"
"""The partition that loses records in the short schedule."""


def read_scenario(name: str) -> Scenario:
    """Return a scenario of this chapter."""
    return parse((FOLDER / f"{name}.sim").read_text(encoding="utf-8"), name)


def schedule_of(scenario: Scenario, seed: int) -> tuple[Act, ...]:
    """Return the acts of a run: those in the scenario file, and those that the seed draws."""
    return ScenarioRun(scenario, seed).acts


def plays(scenario: Scenario) -> ScenarioResult:
    """Play a scenario that names its seed, with the bug."""
    assert scenario.seed is not None
    with no_log(), planted(PLANT):
        return play(scenario, scenario.seed)


class Search(NamedTuple):
    """The result of a search."""

    seeds: int
    """How many seeds were played."""
    tried: Tried | None
    """The last one of them. None if there was no time for any."""

    @property
    def rule(self) -> str:
        """The rule that the last seed breaks. Empty if it breaks none."""
        return (
            self.tried.violations[0][0] if self.tried is not None and not self.tried.holds else ""
        )

    @property
    def seed(self) -> int:
        """The seed that breaks a rule, or -1."""
        return self.tried.seed if self.tried is not None and self.rule else -1

    def event(self) -> SeedsExplored:
        """Return what was found as an event."""
        acts = schedule_of(read_scenario(FAILOVER), self.seed) if self.rule else ()
        return SeedsExplored(
            scenario=FAILOVER, seeds=self.seeds, seed=self.seed, acts=len(acts), rule=self.rule
        )


def explore(
    another_waits: Callable[[], bool], first: int = FIRST_SEED, most: int = MOST_SEEDS
) -> Search:
    """Play one seed after the other with the bug, until one breaks a rule."""
    scenario, search = read_scenario(FAILOVER), Search(0, None)
    while not search.rule and search.seeds < most and not another_waits():
        search = Search(search.seeds + 1, try_seed(scenario, first + search.seeds, PLANT))
    return search


def shrink(
    scenario: Scenario, seed: int, acts: Sequence[Act], rule: str, most_runs: int = MOST_RUNS
) -> tuple[SimulationShrunk, Shrunk]:
    """Leave out acts that the seed's run does not need to break the rule."""
    with no_log(), planted(PLANT):
        shrunk = Shrinker(rule, most_runs=most_runs).shrink(scenario, seed, acts)
    event = SimulationShrunk(
        scenario=scenario.name,
        seed=seed,
        acts_before=len(acts),
        acts_after=len(shrunk.scenario.acts),
        runs=shrunk.runs,
        schedule="; ".join(map(str, shrunk.scenario.acts)),
    )
    return event, shrunk


class Future(NamedTuple):
    """One run of the short schedule."""

    name: str
    result: ScenarioResult
    trail: FactTrail
    took_ms: int

    def lost(self) -> int:
        """Return how many acknowledged records the checker does not find."""
        texts = [one.text for one in self.result.violations if one.rule == RULE]
        return sum(int(text.partition(" ")[0]) for text in texts)

    def played(self) -> SimulationPlayed:
        """Return the run as an event."""
        result = self.result
        return SimulationPlayed(
            run=self.name,
            seed=result.seed,
            facts=result.facts,
            digest=result.digest[:DIGEST_LENGTH],
            virtual_ms=result.virtual_ms,
            took_ms=self.took_ms,
            broken=result.violations[0].rule if result.violations else "",
        )

    def story(self, since_ms: int = 0) -> Iterator[SimulatedFact]:
        """Yield what happens to the partition, in the words of transcripts."""
        for fact, envelope in zip(self.trail.facts, self.trail.envelopes, strict=True):
            line = narrate(envelope)
            if fact.at_ms >= since_ms and line is not None and f" {LOST_IN} " in f"{line} ":
                yield SimulatedFact(run=self.name, fact=envelope.name, text=line, at_ms=fact.at_ms)

    def cut(self) -> LogTruncatedByEpoch | None:
        """Return the first truncation that has cut something off the partition."""
        for envelope in self.trail.envelopes:
            event = envelope.event
            if (
                isinstance(event, LogTruncatedByEpoch)
                and f"{event.topic}-{event.partition}" == LOST_IN
                and event.after < event.before
            ):
                return event
        return None


WITH: Final = "with the bug"
WITHOUT: Final = "without the bug"


@cache
def play_short(name: str) -> Future:
    """Play the short schedule with or without the bug."""
    scenario = read_scenario(SHORT)
    assert scenario.seed is not None
    trail = FactTrail()
    with no_log(), planted(PLANT if name == WITH else ""):
        began = time.monotonic()
        run = ScenarioRun(scenario, scenario.seed, on_fact=trail.add)
        trail.clock = run
        result = run.play()
    return Future(name, result, trail, round((time.monotonic() - began) * 1_000))
