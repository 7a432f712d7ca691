"""Acts in a simulated cluster: they take virtual time, and may be refused."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from kafka_edu.sim.scenario import acts, scenario_run
from kafka_edu.sim.scenario.acts import Asks, parse_act
from kafka_edu.sim.scenario.language import parse
from kafka_edu.sim.scenario.scenario_run import ScenarioRun
from kafka_edu.sim.sim_cluster import SimCluster, silent_brokers
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import ControllerElected, LeaderElected
from kafka_edu.trace.events.supervisor import ActionDone

STORY = """\
> cluster brokers=3 sim.cluster=real
> at 100ms create-topic topic=web partitions=1:2,2:0
> at 600ms add-partitions topic=web partitions=3
> at 1100ms reassign partition=web-0 replicas=2,1
> at 2s elect-preferred partition=web-0
> at 2500ms delete-topic topic=none
> at 3s create-topic topic=other partitions=many
> at 3500ms delete-topic topic=web
> at 5s delete-controller
> at 6s write-controller 1
> run 8s
> settle 1s
"""


def test_each_act_has_its_result() -> None:
    facts: list[Envelope] = []
    scenario = parse(STORY, "acts")
    with silent_brokers():
        run = ScenarioRun(scenario, 1)
        run.cluster.sink.listeners.append(facts.append)
        result = run.play()
    assert result.holds, result.violations
    done = [e.event for e in facts if isinstance(e.event, ActionDone)]
    assert [(one.action, one.ok) for one in done] == [
        ("create-topic", True),
        ("add-partitions", True),
        ("reassign", True),
        ("elect-preferred", True),
        ("delete-topic", False),
        ("create-topic", False),
        ("delete-topic", True),
        ("delete-controller", True),
        ("write-controller", True),
    ]
    said = [one.message for one in done]
    assert said[0] == "topic web is created, with 2 partitions"
    assert said[1] == "topic web has 3 partitions now"
    assert said[2] == "web-0 moves to brokers 2, 1"
    assert "UNKNOWN_TOPIC_OR_PARTITION" in said[4]
    assert "'many' is neither a number of partitions nor the brokers of each" in said[5]
    assert said[7].startswith("/controller is deleted; it held ")
    assert said[8] == "/controller names broker 1 now"
    led = [e.event for e in facts if isinstance(e.event, LeaderElected)]
    assert [one.new_leader for one in led if one.partition == 0][-1] == 2
    elected = [e.event.epoch for e in facts if isinstance(e.event, ControllerElected)]
    assert elected == [1, 2, 3]


def test_such_an_act_is_a_line_of_a_scenario() -> None:
    for line in STORY.splitlines()[1:-2]:
        act = parse_act(line.removeprefix("> ").split())
        assert parse_act(str(act).split()) == act
    assert parse(parse(STORY, "acts").text(), "acts") == parse(STORY, "acts")


ONE_ACT = """\
> cluster brokers=1 sim.cluster=real
> at 100ms create-topic topic=web partitions=1
> run 300ms
> settle 100ms
"""


def played_with(asks: Asks, monkeypatch: pytest.MonkeyPatch) -> tuple[tuple[str, ...], ActionDone]:
    """Play a run whose act is carried out by `asks`. Return the broken rules and the answer."""
    verb = acts.ACTS["create-topic"]._replace(asks=asks)
    monkeypatch.setattr(scenario_run, "ACTS", {**acts.ACTS, "create-topic": verb})
    facts: list[Envelope] = []
    with silent_brokers():
        run = ScenarioRun(parse(ONE_ACT, "acts"), 1)
        run.cluster.sink.listeners.append(facts.append)
        result = run.play()
    [done] = [e.event for e in facts if isinstance(e.event, ActionDone)]
    return tuple(f"{one.rule}: {one.text}" for one in result.violations), done


def test_a_bug_in_an_act_breaks_a_rule_and_is_still_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fails(_: SimCluster, __: str, ___: Sequence[int], ____: Mapping[str, str]) -> str:
        raise ZeroDivisionError("a bug of ours")

    broken, done = played_with(fails, monkeypatch)
    assert broken == (
        "acts end: at 100ms create-topic topic=web partitions=1:"
        " ZeroDivisionError('a bug of ours')",
    )
    assert (done.ok, done.message) == (False, "ZeroDivisionError('a bug of ours')")


def test_an_act_without_an_answer_is_answered_at_the_end_of_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def waits(_: SimCluster, __: str, ___: Sequence[int], ____: Mapping[str, str]) -> str:
        await asyncio.sleep(3_600)
        return "too late"

    broken, done = played_with(waits, monkeypatch)
    assert broken == ()
    assert done.message == "the run has ended before the cluster answered"
    assert not done.ok
