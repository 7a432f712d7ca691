"""A run that is paused, stepped, rewound and forked, without sockets and without real time."""

from kafka_edu.sim.scenario.language import parse
from kafka_edu.sim.scenario.scenario_run import ScenarioRun, play
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessPaused
from tests.unit.sim.stage.scripted_host import ScriptedHost

SHORT = parse(
    """\
> cluster brokers=3 min.insync.replicas=2
> topic t partitions=2 rf=3
> producer p topic=t rate=20
> consumer c topic=t
> run 2s
> settle 5s
""",
    "short",
)
PAUSE = ("sim-pause", {})
STEP = ("sim-step", {})


def test_a_run_that_was_paused_and_stepped_has_the_facts_of_any_run_of_its_seed() -> None:
    host = ScriptedHost(SHORT, 3)
    said = host.play(PAUSE, *[STEP] * 5, ("sim-faster", {}), ("sim-run", {}))
    assert [one.ok for one in said] == [True] * 9
    stepped = [one.facts for one in said[2:6]]
    assert stepped == sorted(set(stepped)), "each step goes on by a fact or more"
    result = play(SHORT, 3)
    assert host.stage.digest == result.digest
    assert len(host.facts()) == result.facts
    assert "every rule holds" in host.stage.sampled().note


def test_back_in_time_the_facts_are_the_same_again() -> None:
    host = ScriptedHost(SHORT, 3)
    there_us = 3_000_000
    said = host.play(
        PAUSE, ("sim-run", {}), ("sim-back", {"at_us": there_us}), STEP, ("sim-run", {})
    )
    assert all(one.ok for one in said)
    assert host.turned_at == [there_us]
    assert host.stage.digest == play(SHORT, 3).digest, "twice the same future"
    assert host.stage.sampled().future == 1, "it is no other future"
    assert [e.mono_us for e in host.facts()] == sorted(e.mono_us for e in host.facts())


def test_an_act_in_the_past_begins_another_future_and_its_file_plays_it_again() -> None:
    host = ScriptedHost(SHORT, 3)
    at_us = 3_500_000
    kill = ("kill", {"broker": 2, "at_us": at_us})
    said = host.play(PAUSE, ("sim-run", {}), kill, ("start", {"broker": 2}), ("sim-run", {}))
    kill_said, start_said = said[2], said[3]
    assert kill_said.ok, kill_said.text
    assert "kill 2 (future 2, future-2.sim)" in kill_said.text
    assert start_said.ok
    ended = [e for e in host.facts() if isinstance(e.event, ProcessEnded)]
    assert len(ended) == 1
    assert at_us < ended[0].mono_us <= at_us + 2_000, "at the next whole millisecond of the run"
    future = parse(host.kept[2], "future-2")
    assert [act.verb for act in future.acts] == ["kill", "start"]
    assert future.seed == 3
    again = play(future, 3)
    assert again.digest == host.stage.digest, "the file has the same facts, byte for byte"
    assert again.digest != play(SHORT, 3).digest


def test_an_act_one_moment_back_is_another_future_even_if_nothing_had_happened_since() -> None:
    host = ScriptedHost(SHORT, 3)
    said = host.play(PAUSE, *[("sim-unit", {})] * 3, STEP, STEP)
    here_us = said[-2].at_us
    host = ScriptedHost(SHORT, 3)
    back = ("kill", {"broker": 1, "at_us": here_us - 1_000})
    said = host.play(PAUSE, *[("sim-unit", {})] * 3, STEP, STEP, back)
    assert "future 2" in said[-2].text
    assert sorted(host.kept) == [1, 2]


def test_history_repeats_itself_with_the_acts_made_by_hand_or_without_them() -> None:
    pause, back = ("pause", {"broker": 1}), {"at_us": 100_000}
    host = ScriptedHost(SHORT, 3)
    said = host.play(PAUSE, pause, ("sim-back", back), ("sim-run", {}))
    assert said[1].ok, said[1].text
    assert len([e for e in host.facts() if isinstance(e.event, ProcessPaused)]) == 1
    assert host.stage.sampled().future == 1
    assert "every rule holds" in host.stage.sampled().note
    assert host.stage.digest == play(parse(host.kept[1], "future-1"), 3).digest

    host = ScriptedHost(SHORT, 3)
    host.play(PAUSE, pause, ("sim-back", {**back, "forgets": True}), ("sim-run", {}))
    assert not [e for e in host.facts() if isinstance(e.event, ProcessPaused)]
    assert host.stage.sampled().future == 2
    assert host.stage.digest == play(SHORT, 3).digest


def test_what_is_not_possible_is_refused_in_one_line() -> None:
    host = ScriptedHost(SHORT, 3)
    said = host.play(
        PAUSE,
        ("resume", {"broker": 1}),
        ("kill", {"broker": 7}),
        ("cut-link", {"broker": 1, "other": 1}),
        ("create-topic", {"topic": "t"}),
        ("sim-back", {"at_us": 900_000_000}),
        ("sim-run", {}),
        ("kill", {"broker": 1}),
        STEP,
    )
    refused = [one.text for one in said if not one.ok]
    assert len(refused) == 7
    for text, words in zip(
        refused,
        (
            "resume 1: not possible now",
            "there is no broker 7: they are 1 to 3",
            "the same broker",
            "'create-topic' is no act on a simulated cluster",
            "is beyond the end: the run has come to",
            "the run has ended at",
            "the run has ended at",
        ),
        strict=True,
    ):
        assert words in text
        assert "\n" not in text


def test_steps_back_are_found_by_unit() -> None:
    host = ScriptedHost(SHORT, 3)
    said = host.play(
        PAUSE,
        ("sim-run", {}),
        ("sim-back", {"at_us": 3_000_000}),
        ("sim-find", {"from_us": 3_000_000, "by": -1}),
        ("sim-find", {"from_us": 0, "by": -1}),
        ("sim-unit", {}),
        ("sim-unit", {}),
        ("sim-unit", {}),
        ("sim-find", {"from_us": 3_000_000, "by": -1}),
        STEP,
        STEP,
    )
    times: list[int] = []

    def note(envelope: Envelope) -> None:
        times.append(envelope.mono_us)

    ScenarioRun(SHORT, 3, on_fact=note).play()
    assert int(said[3].text) == max(time for time in times if time < 3_000_000)
    assert not said[4].ok
    assert "no event is recorded before" in said[4].text
    assert said[8].text == "2999000"
    assert said[10].at_us - said[9].at_us == 1_000, "a step of a millisecond"
