"""Chapter 18's pictures and jobs agree with the chapter's page. Runs of the simulator compute
them.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from chapters.ch18_two_clocks import kip101
from chapters.ch18_two_clocks.broken_runs import (
    ORDER,
    RUNS,
    SEED,
    WORDS,
    look,
    play_once,
    with_hash_seed,
)
from chapters.ch18_two_clocks.fact_trail import FactTrail, TrailFact, compared
from chapters.ch18_two_clocks.jobs import JOBS, SimulatorJobs
from chapters.ch18_two_clocks.pictures import (
    DRAWINGS,
    PARTS,
    core_scan,
    drawn_numbers,
    figures,
    handed_in,
    loop_order,
    wait_for_turns,
)
from chapters.ch18_two_clocks.two_latencies import measure_in_virtual_time
from chapters.ch18_two_clocks.virtual_kill import CHAIN, play_kill
from chapters.chapter import Chapter, JobPlace
from kafka_edu.sim.scenario.explore import Tried
from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.seeded_random import SeededRandom
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.client import ProducerMeasured
from kafka_edu.trace.events.simulation import (
    SeedsExplored,
    SimulatedFact,
    SimulationPlayed,
    SimulationsCompared,
    SimulationShrunk,
)
from kafka_edu.trace.events.spark import JobStarted
from tui.presenter.run import screen_names

SAID = {
    "shells": {"parts": "7", "clock_imports": "0"},
    "loop": {"loop_order": "CEBFDA", "after_b": "F", "jump_ms": "10"},
    "numbers": {"same_numbers": "0", "drawn": "6", "ours_first": "13"},
    "schedule": {
        "lost": "7",
        "lost_without": "0",
        "cut_from": "51",
        "cut_to": "44",
        "acts_left": "3",
    },
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    assert DRAWINGS[name]().names == SAID[name]


def test_every_part_of_the_picture_is_handed_in_and_the_core_has_no_clock() -> None:
    assert sorted(handed_in()) == sorted(part.parameter for part in PARTS)
    scan = core_scan()
    assert scan.modules > 100
    assert scan.clocks == 0


def test_what_is_ready_runs_before_a_timer_that_is_due() -> None:
    assert [(one.name, one.at_ms) for one in loop_order()] == [
        *(("C", 0), ("E", 0)),
        *(("B", 10), ("F", 10), ("D", 10)),
        ("A", 30),
    ]


def test_wait_for_takes_some_turns_of_the_loop_on_every_python() -> None:
    assert 1 <= wait_for_turns() <= 20


def test_our_numbers_are_those_of_the_generator() -> None:
    ours = SeededRandom("18")
    assert list(drawn_numbers().values())[-1] == tuple(ours.choice(range(1, 100)) for _ in range(6))


def test_figures_are_not_empty() -> None:
    assert all(len(figure.source) > 300 for figure in figures().values())


def test_the_script_runs_each_job() -> None:
    steps = Chapter("18", "ch18_two_clocks").script(screen_names()).steps
    assert sorted(step.job for step in steps if step.job) == sorted(JOBS)


def trail_facts(*lines: str) -> list[TrailFact]:
    return [TrailFact(10 * place, line, line.encode()) for place, line in enumerate(lines)]


def test_two_runs_are_compared_up_to_the_first_fact_that_differs() -> None:
    found = compared("x", trail_facts("a", "b", "c"), trail_facts("a", "z", "c"))
    assert found == SimulationsCompared(what="x", same=False, facts=1, at_ms=10, first="b")
    found = compared("x", trail_facts("a", "b"), trail_facts("a", "b"))
    assert found == SimulationsCompared(what="x", same=True, facts=2, at_ms=10, first="")


def test_a_run_that_ends_earlier_is_not_the_same() -> None:
    found = compared("x", trail_facts("a", "b"), trail_facts("a"))
    assert (found.same, found.facts, found.first) == (False, 1, "b")
    found = compared("x", trail_facts("a"), trail_facts("a", "b"))
    assert (found.same, found.facts, found.first) == (False, 1, "a")


def test_a_trail_without_facts_has_the_digest_of_nothing() -> None:
    assert FactTrail().digest() == "e3b0c44298fc"


class Played:
    """Runs jobs without a cluster, and keeps their events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def run(self, name: str) -> list[Event]:
        place = JobPlace("", Path(), self.events.append, lambda: False, "none", lambda _: None)
        SimulatorJobs(place).run(name)
        return self.events


def test_a_seed_decides_every_byte_and_looking_changes_none() -> None:
    found = [one for one in Played().run("same") if isinstance(one, SimulationsCompared)]
    assert [(one.what, one.same) for one in found] == [
        ("the same seed again", True),
        ("the same seed, and somebody looks", True),
        ("another seed", False),
    ]


def test_somebody_who_looks_sees_something() -> None:
    cluster = SimCluster(SEED, (1,), make_random=SeededRandom)
    cluster.start_all()
    assert look(cluster) > 0
    cluster.close()


def after(ms: float) -> Callable[[SimCluster], Awaitable[None]]:
    """Return a function that waits `ms` of virtual time. It stands for a wait whose length comes
    from outside of the simulation.
    """

    async def wait(cluster: SimCluster) -> None:
        await cluster.time.sleep(ms)

    return wait


def test_a_wait_that_comes_from_outside_changes_the_facts() -> None:
    """Values from the wall clock, from a thread or from `random` are different in each run, and
    change the facts in this way.
    """
    one = play_once("sound", waits=after(3)).facts
    same = play_once("sound", waits=after(3)).facts
    other = play_once("sound", waits=after(3.01)).facts
    assert compared("", one, same).same
    assert not compared("", one, other).same


@pytest.mark.parametrize("name", [name for name in RUNS if name != ORDER])
def test_each_client_creates_its_topics_at_last(name: str) -> None:
    texts = [fact.text for fact in play_once(name).facts if "creates topic" in fact.text]
    assert [text.split()[2] for text in texts] == ["black", "blue", "green", "red", "white"]


def test_the_order_of_a_set_depends_on_the_hash_seed() -> None:
    one, other = with_hash_seed(ORDER, 1), with_hash_seed(ORDER, 2)
    assert not compared(WORDS[ORDER], one, other).same
    assert compared(WORDS["sound"], with_hash_seed("sound", 1), play_once("sound").facts).same


def test_a_kill_has_the_same_chain_of_facts_in_virtual_time() -> None:
    *facts, played = play_kill()
    chain = [fact for fact in facts if isinstance(fact, SimulatedFact)]
    assert [fact.fact for fact in chain] == [kind.__name__ for kind in CHAIN]
    killed, expired, elected, leads = (fact.at_ms for fact in chain)
    assert killed == 0
    assert 3_500 <= expired <= elected <= leads <= 9_000
    assert isinstance(played, SimulationPlayed)
    assert played.virtual_ms > 20_000


def test_the_short_schedule_loses_records_with_the_bug_only() -> None:
    with_bug, without = kip101.play_short(kip101.WITH), kip101.play_short(kip101.WITHOUT)
    assert {violation.rule for violation in with_bug.result.violations} == {kip101.RULE}
    assert without.result.violations == ()
    assert (with_bug.lost(), without.lost()) == (7, 0)
    cut = with_bug.cut()
    assert cut is not None
    assert cut.after == cut.high_watermark < cut.before <= cut.leader_end_offset


def test_no_act_of_the_short_schedule_can_be_left_out() -> None:
    scenario = kip101.read_scenario(kip101.SHORT)
    for left_out in scenario.acts:
        rest = tuple(act for act in scenario.acts if act is not left_out)
        assert not kip101.plays(scenario._replace(acts=rest)).violations, left_out


def test_the_short_schedule_is_one_that_the_scenario_may_draw() -> None:
    short, general = (kip101.read_scenario(name) for name in (kip101.SHORT, kip101.FAILOVER))
    assert {act.verb for act in short.acts} <= set(general.faults.verbs)
    assert short.run_ms < general.run_ms
    same = ("brokers", "properties", "topics", "clients", "settle_ms", "variations")
    both = [one._asdict() for one in (short, general)]
    assert [both[0][name] for name in same] == [both[1][name] for name in same]


def test_a_fork_is_the_same_until_a_follower_cuts_its_log() -> None:
    events = Played().run("fork")
    again, parted = (one for one in events if isinstance(one, SimulationsCompared))
    assert again.same
    assert not parted.same
    assert parted.first.startswith("cuts the log of ")
    lines = [one for one in events if isinstance(one, SimulatedFact)]
    assert {one.run for one in lines} == {kip101.WITH, kip101.WITHOUT}
    assert all(one.at_ms >= parted.at_ms and kip101.LOST_IN in one.text for one in lines)
    first, last = (one for one in events if isinstance(one, SimulationPlayed))
    assert (first.broken, last.broken) == (kip101.RULE, "")


def test_a_search_stops_at_the_first_seed_that_breaks_a_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def try_seed(scenario: Scenario, seed: int, plant: str) -> Tried:
        assert plant == kip101.PLANT
        violations = ((kip101.RULE, "2 acked records"),) if seed == 18 else ()
        return Tried(
            scenario=scenario.name,
            what="",
            seed=seed,
            digest="",
            virtual_ms=0,
            cpu_s=0.0,
            violations=violations,
            code="",
        )

    monkeypatch.setattr(kip101, "try_seed", try_seed)
    search = kip101.explore(lambda: False, first=16)
    assert (search.seeds, search.seed, search.rule) == (3, 18, kip101.RULE)
    acts = kip101.schedule_of(kip101.read_scenario(kip101.FAILOVER), 18)
    assert len(acts) > 1
    assert search.event() == SeedsExplored(
        scenario="failover", seeds=3, seed=18, acts=len(acts), rule=kip101.RULE
    )
    nothing = kip101.explore(lambda: False, first=1, most=5).event()
    assert nothing == SeedsExplored(scenario="failover", seeds=5, seed=-1, acts=0, rule="")
    stopped = kip101.explore(lambda: True)
    assert (stopped.seeds, stopped.seed) == (0, -1)


def test_a_schedule_that_is_short_already_stays_as_it_is() -> None:
    scenario = kip101.read_scenario(kip101.SHORT)
    assert scenario.seed is not None
    event, shrunk = kip101.shrink(scenario, scenario.seed, scenario.acts, kip101.RULE, most_runs=4)
    assert event == SimulationShrunk(
        scenario="kip101",
        seed=scenario.seed,
        acts_before=len(scenario.acts),
        acts_after=len(scenario.acts),
        runs=shrunk.runs,
        schedule="; ".join(map(str, scenario.acts)),
    )
    assert shrunk.runs == 4


def test_in_virtual_time_a_large_record_takes_as_long_as_a_small_one() -> None:
    measured: list[ProducerMeasured] = []
    measure_in_virtual_time(measured.append)
    small, large = measured
    assert (small.client, large.client) == ("virtual-small", "virtual-large")
    assert large.bytes > 1_000 * small.bytes
    assert small.median_ms == large.median_ms


def test_the_jobs_say_when_they_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    from chapters.ch18_two_clocks import jobs

    events: list[Event] = []
    monkeypatch.setattr(SimulatorJobs, "run", lambda self, name: None)
    place = JobPlace("", Path(), events.append, lambda: False, "none", lambda _: None)
    with jobs.open_jobs(place) as run:
        run("same")
    assert events == [JobStarted(job="same")]
