"""A load on a simulated cluster: the clients of `kafka-edu load`, in virtual time."""

import pytest

from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.sim.scenario.acts import Act, parse_act
from kafka_edu.sim.scenario.language import parse
from kafka_edu.sim.scenario.scenario_run import ActName, ScenarioResult, ScenarioRun
from kafka_edu.sim.sim_load import load_spec
from kafka_edu.trace.event import Envelope, Source, SourceKind
from kafka_edu.trace.events.client import LoadStarted, LoadStopped
from kafka_edu.trace.events.controller import LeaderElected
from kafka_edu.trace.events.supervisor import (
    ActionAsked,
    ActionDone,
    LinkChanged,
    ProcessEnded,
    ProcessStarted,
)

IDLE = """\
> cluster brokers=2 sim.cluster=real
> at 200ms load topic=web rate=20 acks=all for 2s
> at 300ms delay-link 0 1 by 50ms for 500ms
> at 1s restart 1
> run 6s
> settle 1s
"""


NO_TOPIC = """\
> cluster brokers=1 sim.cluster=real
> at 100ms kill 0 for 2s
> at 200ms load topic=web for 1s
> run 5s
> settle 1s
"""


def play(run: ScenarioRun) -> tuple[ScenarioResult, list[Envelope]]:
    facts: list[Envelope] = []
    run.cluster.sink.listeners.append(facts.append)
    return run.play(), facts


def test_a_load_makes_its_topic_and_ends_with_all_answers() -> None:
    scenario = parse(IDLE, "idle")
    run = ScenarioRun(scenario, 1)
    result, facts = play(run)
    assert result.holds, result.violations
    client = Source(SourceKind.CLIENT, 1)
    [started] = [e for e in facts if isinstance(e.event, LoadStarted)]
    assert started.source == client
    [stopped] = [e.event for e in facts if isinstance(e.event, LoadStopped)]
    load = stopped.load
    assert (load.topic, load.acks, load.rate) == ("web", "all", 20)
    assert 30 <= load.sent <= 45, "2 s at 20 records a second"
    assert (load.acked, load.read, load.lost, load.refused) == (load.sent, load.sent, 0, 0)
    assert run.cluster.guests == {}
    assert ScenarioRun(scenario, 1).play().digest == result.digest


def test_a_load_that_is_stopped_before_it_has_a_topic_never_begins() -> None:
    """When the broker is back, nobody makes the topic, and no records are sent."""
    run = ScenarioRun(parse(NO_TOPIC, "no topic"), 1)
    result, facts = play(run)
    assert result.holds, result.violations
    assert [e for e in facts if isinstance(e.event, LoadStarted | LeaderElected)] == []
    assert run.cluster.guests == {}


def test_acts_are_facts_of_the_supervisor_if_they_have_names() -> None:
    def named(act: Act) -> ActName:
        return ActName(act.verb, f"{act.verb}!")

    result, facts = play(ScenarioRun(parse(IDLE, "idle"), 1, names_act=named))
    assert result.holds, result.violations
    asked = [e.event for e in facts if isinstance(e.event, ActionAsked)]
    assert [(one.action, one.title) for one in asked] == [
        ("load", "load!"),
        ("delay-link", "delay-link!"),
        ("restart", "restart!"),
    ]
    done = [e for e in facts if isinstance(e.event, ActionDone)]
    assert all(each.event.ok and each.cause for each in done)
    changed = [e.event for e in facts if isinstance(e.event, LinkChanged)]
    assert [(one.broker, one.other, one.delay_ms) for one in changed] == [(0, 1, 50), (0, 1, 0)]
    ended, *_ = [e for e in facts if isinstance(e.event, ProcessEnded)]
    assert ended.event.signal == ""
    started = [e for e in facts if isinstance(e.event, ProcessStarted) and e.mono_us > 0]
    assert started[-1].event.child == Source.of_broker(1)
    assert started[-1].mono_us >= ended.mono_us


def test_the_options_of_a_load_are_checked() -> None:
    with pytest.raises(ValueError, match="a b"):
        load_spec(["topic=a b"])
    spec = load_spec(["topic=web", "rate=7", "size=64"])
    assert (spec.topic, spec.rate, spec.size, spec.acks) == ("web", 7, 64, "all")
    with pytest.raises(ValueError, match="rate=fast is not a number"):
        parse_act(["at", "1s", "load", "topic=web", "rate=fast"])
    with pytest.raises(ValueError, match="acks=2 is not all, 1 or 0"):
        parse_act(["at", "1s", "load", "acks=2"])
    with pytest.raises(ValueError, match="load has no option 'colour=red'; it has topic, rate"):
        parse_act(["at", "1s", "load", "colour=red"])
    with pytest.raises(ValueError, match="kill has no option 'topic=web'"):
        parse_act(["at", "1s", "kill", "2", "topic=web"])
    act = parse_act(["at", "1s", "load", "topic=web", "rate=7", "for", "3s"])
    assert parse_act(str(act).split()) == act


def test_a_bug_that_ends_the_consumer_of_a_load_breaks_a_rule_of_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(self: Consumer, timeout_ms: float) -> list[ConsumerRecord]:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Consumer, "poll", broken)
    [violation] = ScenarioRun(parse(IDLE, "idle"), 1).play().violations
    assert violation.rule == "no uncaught error"
    assert "a bug" in violation.text
