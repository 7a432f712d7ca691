"""Where two futures of one run part."""

from kafka_edu.sim.scenario.acts import Act
from kafka_edu.sim.scenario.compare import Difference, first_difference, play_whole
from kafka_edu.sim.scenario.language import parse
from kafka_edu.trace.events.supervisor import ActionAsked

SMALL = parse(
    """\
> cluster brokers=2
> topic t partitions=1 rf=2
> producer p topic=t rate=10
> run 1s
> settle 5s
""",
    "small",
)


def test_futures_are_the_same_up_to_the_act_that_one_of_them_has() -> None:
    plain = play_whole(SMALL.with_acts(5, ()), 5)
    again = play_whole(SMALL.with_acts(5, ()), 5)
    assert first_difference(plain.facts, again.facts) is None
    killed = play_whole(SMALL.with_acts(5, [Act(400, "kill", (2,), 300)]), 5)
    found = first_difference(plain.facts, killed.facts)
    assert found is not None
    assert plain.facts[: found.same] == killed.facts[: found.same]
    assert found.second is not None
    assert isinstance(found.second.event, ActionAsked)
    assert found.second.mono_us // 1_000 == killed.begun_us // 1_000 + 400
    assert killed.result.holds


def test_a_future_that_ends_before_the_other_differs_there() -> None:
    facts = play_whole(SMALL.with_acts(5, ()), 5).facts
    assert first_difference(facts, facts[:-1]) == Difference(len(facts) - 1, facts[-1], None)
