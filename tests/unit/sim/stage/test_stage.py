"""A run that is paused, stepped, rewound and forked, without sockets and without real time."""

import gc
from pathlib import Path

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.sim.learner_parts import InstalledPart
from kafka_edu.sim.scenario.language import Scenario, parse
from kafka_edu.sim.scenario.scenario_run import FactDigest, ScenarioRun, play
from kafka_edu.sim.stage.stage import Opening
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Level
from kafka_edu.trace.events.learner import LearnerAnswered
from kafka_edu.trace.events.server import TopicCreated
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessPaused
from kafka_edu.trace.events.zk import SessionExpired
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


def facts_of(scenario: Scenario) -> list[Envelope]:
    """Return the facts of a run with seed 3 that nobody looks at."""
    facts: list[Envelope] = []
    ScenarioRun(scenario, 3, on_fact=facts.append).play()
    return [fact for fact in facts if EVENT_TYPES[fact.name].kind is Kind.FACT]


def test_a_run_that_was_paused_and_stepped_has_the_facts_of_any_run_of_its_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hashed: list[Envelope] = []
    add = FactDigest.add
    monkeypatch.setattr(FactDigest, "add", lambda digest, e: (hashed.append(e), add(digest, e)))
    host = ScriptedHost(SHORT, 3)
    said = host.play(PAUSE, *[STEP] * 5, ("sim-faster", {}), ("sim-run", {}))
    assert [one.ok for one in said] == [True] * 9
    facts = [e for e in hashed if EVENT_TYPES[e.name].kind is Kind.FACT]
    assert len(facts) == host.stage.facts, "each fact is hashed once"
    stepped = [one.facts for one in said[2:6]]
    assert stepped == sorted(set(stepped)), "each step goes on by a fact or more"
    result = play(SHORT, 3)
    assert host.stage.digest == result.digest
    assert len(host.facts()) == result.facts
    assert "every rule holds" in host.stage.sampled().note


def test_a_run_that_is_left_before_its_end_leaves_no_coroutine_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a coroutine were left, Python would end it at its own end, and print the errors that
    follow.
    """
    said = list[object]()
    monkeypatch.setattr("sys.unraisablehook", said.append)
    run = ScenarioRun(SHORT, 3)
    turns = run.turns()
    while not run.has_begun or run.now_ms() < 200:
        next(turns)
    turns.close()
    assert run.result is None
    del run, turns
    gc.collect()
    assert said == []


def test_a_run_hurries_to_a_time_and_stands_there() -> None:
    host = ScriptedHost(SHORT, 3)
    reach = [("sim-reach", {"at_us": at_us}) for at_us in (2_345_678, 2_345_677)]
    *_, there, refused, _, late, _ = host.play(
        PAUSE, *reach, ("sim-run", {}), ("sim-reach", {"at_us": 9_000_000})
    )
    assert (there.ok, there.at_us) == (True, 2_345_678)
    assert there.text == "the run stands at 2.345678 s"
    assert not refused.ok
    assert "go back in time" in refused.text
    assert not late.ok
    assert "the run has ended" in late.text
    assert host.stage.digest == play(SHORT, 3).digest

    host = ScriptedHost(SHORT, 3)
    said = host.play(PAUSE, ("sim-reach", {"at_us": 900_000_000}))
    assert not said[1].ok
    assert "every rule holds" in said[1].text, "the run has ended before"


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


def test_a_stage_opens_at_a_moment_of_a_run_with_the_acts_before_it() -> None:
    first = ScriptedHost(SHORT, 3)
    steps = [*[("sim-unit", {})] * 3, *[STEP] * 4]  # of a millisecond each
    last = first.play(PAUSE, ("kill", {"broker": 2}), *steps, PAUSE)[-2]
    there_us = last.at_us
    acts = first.stage.acts_until(there_us)
    assert [act.verb for act in acts] == ["kill"]
    assert first.stage.acts_until(0) == []

    opened = ScriptedHost(SHORT, 3, opening=Opening(there_us, tuple(acts), shown_us=1_000_000))
    said = opened.play(("sim-unit", {}))
    assert said[0].at_us == there_us
    assert opened.stage.digest == first.stage.digest
    assert opened.turned_at == [there_us - 1_000_000]
    assert "executed from the start: " in opened.noted[0]
    assert min(e.mono_us for e in opened.facts()) > there_us - 1_000_000
    assert opened.stage.acts_until(there_us) == acts

    back = ("sim-back", {"at_us": 0, "forgets": True})
    opened = ScriptedHost(SHORT, 3, opening=Opening(there_us, tuple(acts)))
    opened.play(PAUSE, back, ("sim-run", {}))
    assert opened.stage.digest == play(SHORT, 3).digest, "without the act of the link"


def test_a_stage_opened_beyond_the_end_stands_at_the_end() -> None:
    opened = ScriptedHost(SHORT, 3, opening=Opening(3_600_000_000))
    said = opened.play(("sim-step", {}))
    assert "the run has ended" in said[0].text
    assert opened.stage.digest == play(SHORT, 3).digest


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


def test_acts_of_a_run_that_was_left_belong_to_its_future_and_not_to_another_one() -> None:
    first = ScriptedHost(SHORT, 3)
    first.play(PAUSE, ("sim-run", {}), ("kill", {"broker": 2, "at_us": 3_500_000}))
    left = parse(first.kept[2], "left").acts
    host = ScriptedHost(SHORT, 3, by_hand=left)
    said = host.play(PAUSE, ("sim-run", {}), ("kill", {"broker": 1, "at_us": 3_000_000}))
    assert said[-2].ok, said[-2].text
    assert [str(act).split(" ", 2)[2] for act in parse(host.kept[2], "future").acts] == ["kill 1"]
    assert [act.verb for act in parse(host.kept[1], "future").acts] == ["kill"], "it is kept"


def test_the_acts_of_a_link_to_an_early_moment_have_their_times() -> None:
    acts = parse(SHORT.text() + "> at 500ms kill 1\n> at 1500ms kill 2\n", "link").acts
    host = ScriptedHost(SHORT, 3, opening=Opening(4_000_000, acts, shown_us=5_000_000))
    host.play(PAUSE)
    begun_us = host.stage._begun_us
    assert host.stage.acts_until(begun_us + 499_000) == []
    assert host.stage.acts_until(begun_us + 600_000) == [acts[0]]
    assert host.stage.acts_until(4_000_000) == list(acts)


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
        ("capture", {"clients": "*"}),
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
            "Broker 1 is not paused.",
            "there is no broker 7: they are 1 to 3",
            "the same broker",
            "'capture' is no act on a simulated cluster",
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
    times = [fact.mono_us for fact in facts_of(SHORT)]
    assert int(said[3].text) == max(time for time in times if time < 3_000_000)
    assert not said[4].ok
    assert "no event is recorded before" in said[4].text
    assert said[8].text == "2999000"
    assert said[10].at_us - said[9].at_us == 1_000, "a step of a millisecond"


def test_a_run_that_follows_another_one_stands_at_the_same_points() -> None:
    present = ScriptedHost(SHORT, 3, Level.ALL)
    points: list[str] = []
    here: list[str] = []

    def note(host: ScriptedHost) -> None:
        points.append(host.stage.sampled().point)
        here.append(host.stage.digest)

    said = present.play(PAUSE, *[STEP] * 6, each=note)
    assert all(one.ok for one in said)
    del points[0], here[0]  # the run was about to be paused there
    assert len(set(points)) == len(points), "each step ends at a point of its own"

    stored = ScriptedHost(SHORT, 3, Level.ALL, follows=True)
    follow = ("sim-follow", {"points": " ".join(points)})
    back = ("sim-follow", {"points": " ".join(points[2:4])})
    said = stored.play(follow, back, ("kill", {"broker": 1}), ("sim-follow", {"points": "1:x"}))
    assert stored.sampled == [
        *zip(points, here, strict=True),
        *zip(points[2:4], here[2:4], strict=True),
    ]
    assert len(stored.turned_at) == 1, "it went back to an earlier point"
    assert [one.text for one in said if not one.ok] == [
        "this future is only shown: act in the other one (key f)",
        "'1:x' is no point of a run: µs:ns:callbacks",
    ]


def test_a_future_is_played_beyond_the_fork_to_the_times_of_the_other_one() -> None:
    host = ScriptedHost(SHORT, 3)
    kill = ("kill", {"broker": 2, "at_us": 3_500_000})
    host.play(PAUSE, ("sim-run", {}), kill)
    present = parse(host.kept[2], "future-2")
    points = [f"{us}:{1_000 * us}:0" for us in (3_000_000, 3_600_000, 4_000_000)]
    seen = []
    for scenario in (SHORT, present):
        stored = ScriptedHost(scenario, 3, follows=True)
        stored.play(("sim-follow", {"points": " ".join(points)}))
        assert [point for point, _ in stored.sampled] == points
        seen.append([digest for _, digest in stored.sampled])
    assert seen[0][0] == seen[1][0], "before the fork"
    assert seen[0][1] != seen[1][1], "after it"


def test_an_act_that_is_not_possible_says_why_and_what_to_do() -> None:
    faults = parse(SHORT.text().replace("> run 2s", "> at 0.5s kill-all for 1s\n> run 2s"), "all")
    host = ScriptedHost(faults, 3)
    said = host.play(
        PAUSE,
        ("start", {"broker": 2}),
        ("kill", {"broker": 1}),
        ("pause", {"broker": 1}),
        *[("sim-unit", {})] * 3,
        *[STEP] * 600,
        ("start", {"broker": 2}),
    )
    refused = [one.text.partition("nothing was done. ")[2] for one in said if not one.ok]
    assert refused == [
        "Broker 2 runs.",
        "Broker 1 is down. Start it first.",
        "`at 500ms kill-all for 1s` has killed all brokers, and starts them at 1.5s. Let the run"
        " go on until then",
    ]


def test_a_topic_is_created_by_hand_and_the_file_of_the_future_has_it() -> None:
    host = ScriptedHost(SHORT, 3)
    web = ("create-topic", {"topic": "web", "partitions": "2"})
    back = ("sim-back", {"at_us": 4_000_000})
    said = host.play(PAUSE, web, web, ("sim-run", {}), back, ("sim-run", {}))
    assert said[1].ok, said[1].text
    assert not said[2].ok
    assert "already exists" in said[2].text
    made = [e.event.topic for e in host.facts() if isinstance(e.event, TopicCreated)]
    assert made.count("web") == 1
    acts = [str(act) for act in parse(host.kept[1], "future-1").acts]
    made = "create-topic topic=web partitions=2"
    assert [act.split(maxsplit=2)[2] for act in acts] == [made, made], "a refused act has facts too"
    assert [note[:14] for note in host.noted] == ["executed again"]
    assert "every rule holds" in host.stage.sampled().note


def test_the_same_act_at_the_same_moment_again_is_another_future() -> None:
    host = ScriptedHost(SHORT, 3)
    kill = ("kill", {"broker": 2, "at_us": 3_500_000})
    said = host.play(PAUSE, ("sim-run", {}), kill, kill, ("sim-run", {}))
    assert [one.ok for one in said[2:4]] == [True, True]
    acts = [str(act) for act in parse(host.kept[max(host.kept)], "future").acts]
    assert [act.split(maxsplit=2)[2] for act in acts] == ["kill 2"]


def test_an_act_that_the_cluster_cannot_answer_is_refused() -> None:
    host = ScriptedHost(SHORT, 3)
    script = [("kill", {"broker": broker}) for broker in (1, 2, 3)]
    said = host.play(PAUSE, *script, ("create-topic", {"topic": "web"}), ("sim-run", {}))
    assert not said[4].ok
    assert "no broker runs" in said[4].text


def test_at_a_breakpoint_the_run_stops_in_the_callback_of_the_event() -> None:
    host = ScriptedHost(SHORT, 3)
    host.stage.stops_at = lambda fact: isinstance(fact.event, SessionExpired)
    stood: list[tuple[int, Envelope]] = []
    script = (PAUSE, ("kill", {"broker": 2}), ("sim-run", {}), ("sim-unit", {}), ("sim-run", {}))
    host.play(*script, each=lambda one: stood.append((one.stage.at_us, one.shown[-1])))
    at_us, _ = stood[3]
    there = [e for e in host.facts() if e.mono_us <= at_us]
    expired = next(e for e in host.facts() if isinstance(e.event, SessionExpired))
    assert at_us == expired.mono_us
    assert stood[3][1] is there[-1], "nothing of a later callback has happened"
    assert host.stage.sampled().state == "ended", "it goes on from there"


def test_a_far_moment_is_shown_with_the_events_before_it() -> None:
    host = ScriptedHost(SHORT, 3)
    back = ("sim-back", {"at_us": 3_000_000, "shown_us": 1_000_000})
    stood: list[int] = []
    host.play(
        PAUSE, ("sim-run", {}), back, ("sim-unit", {}),
        each=lambda one: stood.append(one.stage.at_us),
    )  # fmt: skip
    assert host.turned_at == [2_000_000]
    assert stood[3] == 3_000_000
    again = [e for e in host.facts() if 2_000_000 < e.mono_us <= 3_000_000]
    assert again == [e for e in facts_of(SHORT) if 2_000_000 < e.mono_us <= 3_000_000]


def test_progress_is_shown_while_a_run_is_executed_again_for_longer_than_a_second() -> None:
    class SlowHost(ScriptedHost):
        """Each look at the clock takes 0.2 s."""

        def __init__(self) -> None:
            super().__init__(SHORT, 3)
            self.notes: list[str] = []

        def now_s(self) -> float:
            self._clock_s += 0.2
            return self._clock_s

        def serve(self, at_most_s: float) -> None:
            sampled = self.stage.sampled()
            if sampled.state == "replaying" and sampled.note not in self.notes:
                self.notes.append(sampled.note)
            super().serve(at_most_s)

    host = SlowHost()
    host.play(PAUSE, ("sim-run", {}), ("sim-back", {"at_us": 3_000_000}))
    shown = [int(note.split()[-2]) for note in host.notes if note.endswith(" %")]
    assert len(shown) > 3
    assert shown == sorted(shown)
    assert 0 <= shown[0] < shown[-1] <= 100


WHEEL = """\
import time


class TimingWheel:
    def __init__(self, tick_ms, slots, start_ms, level=1):
        self.now_ms = start_ms

    def advance_clock(self, time_ms):
        self.now_ms = time_ms

    def add(self, expiration_ms):
        print(time.time_ns())
        raise ValueError
"""


def stage_with(file: Path) -> ScriptedHost:
    part = InstalledPart("02-1", file, (1,))
    return ScriptedHost(SHORT._replace(learners=(part,), run_ms=500), 3, Level.ALL)


def test_a_step_goes_to_the_next_answer_of_a_learners_code() -> None:
    host = stage_with(find_exercise("02-1").solution)
    said = host.play(PAUSE, *[("sim-unit", {})] * 3, STEP, ("sim-unit", {}))
    assert said[3].text == "a step goes to the next learner"
    assert said[5].text == "a step goes to the next ms"
    answers = [e.mono_us for e in host.facts() if isinstance(e.event, LearnerAnswered)]
    assert answers[-1] == host.facts()[-1].mono_us, "the callback with the answer was the last one"


def test_a_learners_part_that_is_not_the_same_again_is_named_when_the_run_goes_back(
    tmp_path: Path,
) -> None:
    file = tmp_path / "wheel.py"
    file.write_text(WHEEL, encoding="utf-8")
    host = stage_with(file)
    host.play(PAUSE, ("sim-run", {}), ("sim-back", {"at_us": 1_900_000}), STEP)
    assert host.turned_at == [1_900_000]
    assert host.noted[-1].startswith("the run has parted from the recorded one at ")
    assert (
        ". The part 02-1 is not deterministic, or its file has changed: now it prints "
        in (host.noted[-1])
    )
