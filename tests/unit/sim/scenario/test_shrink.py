"""The shrinker, with runs that are only computed."""

import pytest

from kafka_edu.sim.scenario.acts import Act
from kafka_edu.sim.scenario.checker import Violation
from kafka_edu.sim.scenario.language import Scenario, parse
from kafka_edu.sim.scenario.scenario_run import ScenarioResult
from kafka_edu.sim.scenario.shrink import Shrinker

SCENARIO = parse(
    """\
> cluster brokers=3
> topic t partitions=8 rf=3
> topic u partitions=2 rf=3
> producer p topic=t
> producer q topic=u
> group g topic=t members=3
> run 10s
> settle 8s
""",
    "test",
)
ACTS = tuple(Act(500 * number, "kill", (number % 3 + 1,), 1_234) for number in range(1, 17))


def result(scenario: Scenario, seed: int, *broken: str) -> ScenarioResult:
    violations = tuple(Violation(rule, "x") for rule in broken)
    return ScenarioResult(seed, scenario.acts, violations, "", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def fails_if(*needed: Act) -> Shrinker:
    """Return a shrinker for runs that break the rule if they have all these acts and client p."""

    def play(scenario: Scenario, seed: int) -> ScenarioResult:
        brokers = {(act.who, act.verb, round(act.at_ms, -2)) for act in scenario.acts}
        wanted = {(act.who, act.verb, round(act.at_ms, -2)) for act in needed}
        has_p = any(client.name == "p" for client in scenario.clients)
        return result(scenario, seed, *(["rule"] if wanted <= brokers and has_p else ["other"]))

    return Shrinker("rule", play)


@pytest.mark.parametrize("needed", [(), ACTS[3:4], (ACTS[0], ACTS[15]), ACTS[5:9]])
def test_only_the_acts_that_matter_are_left(needed: tuple[Act, ...]) -> None:
    shrunk = fails_if(*needed).shrink(SCENARIO, 7, ACTS)
    assert [act.who for act in shrunk.scenario.acts] == [act.who for act in needed]
    assert shrunk.scenario.seed == 7
    assert shrunk.result.violations[0].rule == "rule"


def test_clients_topics_partitions_and_time_that_do_not_matter_go() -> None:
    shrunk = fails_if(ACTS[0]).shrink(SCENARIO, 7, ACTS)
    assert [client.name for client in shrunk.scenario.clients] == ["p"]
    assert [(topic.name, topic.partitions) for topic in shrunk.scenario.topics] == [("t", 1)]
    assert shrunk.scenario.run_ms == 800, "the last act, and a little more"
    assert shrunk.scenario.acts[0].for_ms == 1_200, "a round number"


def test_it_ends_after_a_number_of_runs_with_the_best_so_far() -> None:
    shrinker = fails_if(ACTS[0], ACTS[15])
    shrinker._most = 3
    shrunk = shrinker.shrink(SCENARIO, 7, ACTS)
    assert shrunk.runs == 3
    assert {ACTS[0], ACTS[15]} <= set(shrunk.scenario.acts)


def test_a_run_that_does_not_fail_cannot_be_shrunk() -> None:
    with pytest.raises(ValueError, match="does not break the rule"):
        fails_if(Act(1, "pause", (1,), 1)).shrink(SCENARIO, 7, ACTS)


def test_another_rule_that_breaks_on_the_way_does_not_count() -> None:
    def play(scenario: Scenario, seed: int) -> ScenarioResult:
        return result(scenario, seed, "rule" if len(scenario.acts) > 2 else "other")

    shrunk = Shrinker("rule", play).shrink(SCENARIO, 7, ACTS)
    assert len(shrunk.scenario.acts) == 3


def test_acts_of_a_client_that_is_gone_go_with_it() -> None:
    """If these acts stayed, the file could not be read back, because it would name a client that
    does not exist.
    """
    acts = (Act(1_000, "kill", (2,), 500), Act(2_000, "pause-client", (5,), 500))

    def play(scenario: Scenario, seed: int) -> ScenarioResult:
        # It fails for as long as the fifth client is paused, or is not there.
        paused = any(act.verb == "pause-client" for act in scenario.acts)
        return result(scenario, seed, "rule" if paused or scenario.processes < 5 else "other")

    shrunk = Shrinker("rule", play).shrink(SCENARIO, 7, acts)
    assert shrunk.scenario.processes < 5
    assert parse(shrunk.scenario.text(), "test").acts == shrunk.scenario.acts
