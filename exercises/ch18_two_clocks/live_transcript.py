"""The live part of 18-5: the learner's five rules serve in all brokers of simulated clusters.

With the starter's rules, each schedule of this live part loses acknowledged records. The facts of
the learner's runs must be those of runs with the broker's own rules.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka_edu.learner.learner import Learner
from kafka_edu.sim.scenario.language import Scenario, parse
from kafka_edu.sim.scenario.scenario_run import ScenarioResult, ScenarioRun
from kafka_edu.sim.sim_cluster import silent_brokers

from ..runner.manifest import Exercise
from ..runner.verdict import Step
from .broker_rules import LearnersRules
from .ex05_transcript.material import found, play

SEARCHED: Final = """\
> cluster brokers=3 min.insync.replicas=2
> topic t partitions=2 rf=3
> producer p topic=t rate=40
> faults kill pause slow-link slow-link cut every=200ms..1s
> run 4s
> settle 4s
"""
"""The scenario of the search that has found the schedule of the transcript."""
SEEDS: Final = (3, 15, 17)
"""Seeds of it in which the starter's rules lose records."""


def searched(seed: int) -> Scenario:
    """Return the run of one seed of the search."""
    scenario = parse(SEARCHED, "search")
    return scenario.with_acts(seed, ScenarioRun(scenario, seed).acts)


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Play the schedules with the learner's rules, and with the broker's own rules."""
    assert file is not None  # no step of this part can be late
    learner = Learner(file, exercise.wanted)
    try:
        rules = LearnersRules(learner)
        others = [searched(seed) for seed in SEEDS]
        say("the schedule of the transcript, with your rules in all brokers")
        results = [play(found(), rules).result]
        yield _holds("with your rules, this schedule loses no record", rules, results)
        say(f"{len(others)} other schedules, which lose records with the rules of the starter")
        results += [play(scenario, rules).result for scenario in others]
        yield _holds("other schedules lose no record", rules, results[1:])
    finally:
        learner.close()
    say("the same schedules, with the broker's own rules")
    yield _same(rules, results, [_ours(scenario) for scenario in (found(), *others)])


def _ours(scenario: Scenario) -> ScenarioResult:
    assert scenario.seed is not None
    with silent_brokers():
        return ScenarioRun(scenario, scenario.seed).play()


def _holds(says: str, rules: LearnersRules, results: list[ScenarioResult]) -> Step:
    """Check that the learner's code has not failed, and that no rule of the checker is broken."""
    broken = [violation for result in results for violation in result.violations]
    if rules.failure or broken:
        return Step(says, False, rules.failure or str(broken[0]))
    acked = sum(result.acked for result in results)
    return Step(says, True, f"{acked:,} records are acknowledged, and all are there")


def _same(rules: LearnersRules, came: list[ScenarioResult], ours: list[ScenarioResult]) -> Step:
    """Compare the digest of each run's facts with ours. If all digests are equal, the learner's
    rules are right and deterministic.
    """
    says = "all facts are those of brokers with their own rules"
    for learners, right in zip(came, ours, strict=True):
        if learners.digest != right.digest:
            seen = (
                f"seed {right.seed}: {learners.facts:,} facts and {learners.acked:,} acknowledged"
                f" records; ours {right.facts:,} and {right.acked:,}"
            )
            return Step(says, False, seen)
    facts = sum(result.facts for result in ours)
    return Step(says, True, f"{facts:,} facts; your rules were asked {rules.calls:,} times")
