"""Whole runs of scenarios: a seed gives the same facts again, and planted bugs are found."""

import asyncio
from pathlib import Path

import pytest

from kafka_edu.cli.sim.playing import python_version
from kafka_edu.server.broker_state import BrokerState
from kafka_edu.sim.planted_faults import PLANTED, planted
from kafka_edu.sim.scenario import scenario_run
from kafka_edu.sim.scenario.acts import Act
from kafka_edu.sim.scenario.checker import Evidence, Violation
from kafka_edu.sim.scenario.language import Scenario, parse, read
from kafka_edu.sim.scenario.scenario_run import ScenarioResult, ScenarioRun, play
from kafka_edu.sim.scenario.stored import ends_out_of_sync
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.server import BrokerStateChanged

pytestmark = pytest.mark.rotated

EVERY_FAULT = read(Path(__file__).with_name("every_fault.sim"))
SMALL = EVERY_FAULT._replace(acts=(), seed=None, digests=())
ACTS = EVERY_FAULT.acts


@pytest.fixture(scope="module")
def whole() -> ScenarioResult:
    return play(SMALL, 5, ACTS)


def test_faults_of_every_kind_lose_nothing(whole: ScenarioResult) -> None:
    assert whole.violations == ()
    assert whole.acked + whole.failed == whole.sent, "each record has its answer"
    assert whole.acked > 100
    assert whole.read > whole.acked, "by a reader, and by a group"
    assert whole.committed > 3


def test_the_facts_are_those_of_the_committed_digest(whole: ScenarioResult) -> None:
    """If the code was changed on purpose, `sim digests --write` writes new digests
    (docs/simulator.md).
    """
    assert EVERY_FAULT.seed == whole.seed
    assert EVERY_FAULT.digest_for(python_version()) == whole.digest


def test_the_same_seed_gives_the_same_facts_whether_somebody_looks_or_not(
    whole: ScenarioResult,
) -> None:
    looks = facts = 0

    def look(_: Envelope) -> None:
        """Now and then, take what a dashboard would ask for: snapshots and gauges."""
        nonlocal looks, facts
        facts += 1
        if facts % 50:
            return
        for broker in run.cluster.brokers.values():
            if broker.tracer is not None and broker.server is not None:
                looks += len(list(broker.tracer.snapshot())) + len(list(broker.tracer.gauges()))

    run = ScenarioRun(SMALL, 5, ACTS, look)
    again = run.play()
    assert looks > 1_000
    assert (again.digest, again.facts) == (whole.digest, whole.facts)


def test_another_seed_gives_other_facts(whole: ScenarioResult) -> None:
    assert play(SMALL, 6, ACTS[:2]).digest != whole.digest


def test_an_act_that_is_not_possible_does_nothing() -> None:
    """A broker that is down cannot be paused, stopped or killed again."""
    acts = (
        Act(500, "kill", (1,), 2_000),
        Act(700, "pause", (1,), 300),
        Act(800, "kill", (1,), 100),
        Act(900, "stop", (1,), 100),
        Act(950, "expire-session", (1,)),
        Act(960, "cut-zookeeper", (1,), 100),
        Act(970, "pause", (2,), 1_000),
        Act(980, "kill", (2,), 900),
    )
    assert play(SMALL, 5, acts).violations == ()


ALONE = parse("> cluster brokers=1\n> run 3s\n> settle 2s\n", "alone")


def test_a_broker_that_is_stopped_while_it_starts_gives_its_start_up() -> None:
    """A start of this broker takes more than 20 ms."""
    for late_ms in range(1, 20, 3):
        acts = (Act(500, "kill", (1,), 500), Act(1_000 + late_ms, "stop", (1,), 500))
        run = ScenarioRun(ALONE, 1, acts)
        states: list[BrokerState] = []

        def note(envelope: Envelope, states: list[BrokerState] = states) -> None:
            if isinstance(envelope.event, BrokerStateChanged):
                states.append(envelope.event.after)

        run.cluster.sink.listeners.append(note)
        assert run.play().violations == ()
        assert states.count(BrokerState.RUNNING) == 2, "the start that was stopped is not counted"
        assert BrokerState.PENDING_CONTROLLED_SHUTDOWN not in states


@pytest.mark.parametrize("verb", ["kill", "kill-in-write", "stop"])
def test_a_broker_that_an_act_has_ended_can_be_started_before_the_act_is_over(verb: str) -> None:
    acts = (Act(500, verb, (1,), 4_000), Act(2_000, "start", (1,)))
    run = ScenarioRun(SMALL, 5, acts)
    started: list[int] = []
    begin_start = run.cluster.begin_start

    def note(broker: int) -> asyncio.Task[None]:
        if run.has_begun:
            started.append(run.now_ms())
        return begin_start(broker)

    run.cluster.begin_start = note  # type: ignore[method-assign]  # to note when it is called
    assert run.play().violations == ()
    assert len(started) == 1, "once, and not again when the act is over"
    assert 2_000 <= started[0] < 2_500


def test_a_broker_that_dies_in_the_middle_of_a_write_starts_again_without_that_batch() -> None:
    run = ScenarioRun(SMALL, 5, (Act(1_000, "kill-in-write", (1,), 1_500),))
    disk = run.cluster.brokers[1].file_system
    torn: list[int] = []
    whole_kill = run.cluster.kill

    def kill(broker: int) -> None:
        torn.append(broker)
        assert disk.crashed
        whole_kill(broker)

    run.cluster.kill = kill  # type: ignore[method-assign]  # it is called in the write
    deaf: list[str] = []
    look = run._watch.look

    def note_deaf() -> None:
        deaf.extend(
            f"{wire.process.name} at {run.now_ms()}"
            for wire in run.cluster.network._wires
            if wire.other is not None and not wire.other.process.alive and run.now_ms() > 2_000
        )
        look()

    run._watch.look = note_deaf  # type: ignore[method-assign]  # every 50 ms
    assert run.play().violations == ()
    assert deaf == [], "the other end of each connection hears of the death"
    assert torn == [1]
    assert not disk.crashed


def test_a_compacted_topic_with_deletes_keeps_the_last_value_of_each_key() -> None:
    topic = "partitions=1 rf=2 cleanup.policy=compact segment.bytes=1000"
    scenario = parse(
        f"""\
> cluster brokers=2 log.cleaner.backoff.ms=100 sim.latency.ms=2
> topic t {topic} min.cleanable.dirty.ratio=0.01 delete.retention.ms=400
> producer p topic=t rate=100 keys=20 deletes=40
> run 3s
> settle 1s
""",
        "deletes",
    )
    run = ScenarioRun(scenario, 3)
    stored: set[str] = set()
    look = scenario_run.check

    def check(seen: Evidence) -> list[Violation]:
        stored.update(one.name for log in seen.leader_logs() for one in log.records)
        return look(seen)

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(scenario_run, "check", check)
        result = run.play()
    assert result.violations == ()
    sent = run.history.sent
    deleted = {one.key for one in sent.values() if one.is_tombstone}
    assert len(deleted) > 5
    assert len(stored) < len(sent) / 2, "it was compacted"
    gone = {name for name, one in sent.items() if one.is_tombstone} - stored
    assert len(gone) > 10


def test_instances_with_one_transactional_id_fence_each_other() -> None:
    scenario = parse(
        """\
> cluster brokers=2
> topic t partitions=1 rf=2
> transactions x topic=t rate=60 instances=2
> run 3s
> settle 4s
""",
        "fence",
    )
    result = play(scenario, 2)
    assert result.violations == ()
    assert result.new_sessions > 1
    assert result.committed > 5


def found_by(plant: str, scenario: Scenario, seed: int, *acts: Act) -> set[str]:
    with planted(plant):
        return {violation.rule for violation in play(scenario, seed, acts).violations}


def test_a_record_that_is_acked_too_early_is_found_when_its_leader_dies() -> None:
    cuts = [Act(1_000, "cut", link, 1_500) for link in ((1, 2), (1, 3), (2, 3))]
    found = [
        found_by("acked-too-early", SMALL, 5, *cuts, Act(1_500, "kill", (broker,), 4_000))
        for broker in (1, 2, 3)
    ]
    assert any("acked records are there" in rules for rules in found), found


def test_batches_that_nobody_checks_are_found() -> None:
    acts = (Act(1_000, "reset-clients", ()), Act(1_500, "kill", (1,), 1_000))
    found = found_by("no-sequence-check", SMALL, 5, *acts, Act(2_000, "reset-clients", ()))
    assert found & {"order of each producer", "no duplicates"}


def test_aborted_records_that_a_fetch_does_not_name_are_found() -> None:
    assert "transactions are whole" in found_by("aborted-unknown", SMALL, 5)


def test_a_planted_fault_goes_when_the_run_has_ended(whole: ScenarioResult) -> None:
    for name in PLANTED:
        with planted(name):
            pass
    assert play(SMALL, 5, ACTS).digest == whole.digest


def test_each_planted_fault_says_what_is_wrong_and_where_it_was() -> None:
    assert len(PLANTED) >= 15
    assert all(fault.about and fault.source for fault in PLANTED.values())


def test_the_times_of_clients_count_from_the_beginning_of_the_run() -> None:
    """An acknowledgement and the acts around it have times of the same clock, also in messages."""
    lines = ("cluster brokers=1", "topic t partitions=1 rf=1", "producer p topic=t rate=20")
    text = "".join(f"> {line}\n" for line in (*lines, "run 1s", "settle 1s"))
    run = ScenarioRun(parse(text, "x"), 1)
    run.play()
    times = sorted(acked.at_ms for acked in run.history.acked.values())
    assert len(times) == 20
    assert 0 < times[0] < 200
    assert 900 < times[-1] < 1_100


SLOW_REPLICA = parse(
    """\
> cluster brokers=2 sim.latency.ms=40 replica.fetch.max.bytes=1
> topic t partitions=1 rf=2
> producer p topic=t rate=40
> run 3s
> settle 200ms
""",
    "slow",
)
"""One batch in each fetch, and each fetch takes up to 80 ms."""


def broken_by_a_slow_replica(run: ScenarioRun) -> list[str]:
    return [violation.rule for violation in run.play().violations]


def test_a_replica_that_still_catches_up_is_waited_for() -> None:
    run = ScenarioRun(SLOW_REPLICA, 1, (Act(200, "kill", (2,), 2_700),))
    assert broken_by_a_slow_replica(run) == []
    assert ends_out_of_sync(run.cluster) == {}


def test_a_replica_that_fetches_no_more_is_not_waited_for() -> None:
    run = ScenarioRun(SLOW_REPLICA, 1, (Act(200, "kill", (2,), 2_700),))
    follower = run.cluster.brokers[2]
    look = run._watch.look

    def look_and_pause() -> None:
        look()
        if run.now_ms() >= 3_000 and not follower.process.paused:
            run.cluster.loop.pause(follower.process)

    run._watch.look = look_and_pause  # type: ignore[method-assign]  # at the end of the last act
    assert "everybody agrees" in broken_by_a_slow_replica(run)
