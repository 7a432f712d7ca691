"""The exercises in a live cluster: each reference solution works there, and a wrong answer is found
there too.
"""

import asyncio
import os
import re
import time
from contextlib import closing
from pathlib import Path

import pytest

from exercises import my_broker_proof
from exercises.ch02_timing_wheel.live import check_live
from exercises.ch03_delayed_operations.ex05_operate import trouble
from exercises.ch03_delayed_operations.ex05_operate.material import CLUSTER, FAR_MS, plan
from exercises.ch04_controller.ex06_operate import material as move
from exercises.ch04_controller.ex06_operate import trouble as stuck_move
from exercises.ch05_zookeeper_election.ex07_flapping import material as session
from exercises.ch05_zookeeper_election.ex07_flapping import trouble as flapping
from exercises.ch05_zookeeper_election.ex08_majority import material as majority
from exercises.ch05_zookeeper_election.ex08_majority import trouble as lost_majority
from exercises.ch06_graceful_shutdown.ex06_rolling_restart import material as rolling
from exercises.ch06_graceful_shutdown.ex06_rolling_restart import trouble as rolling_restart
from exercises.ch07_leader_election.ex06_three_dead import material as dead
from exercises.ch07_leader_election.ex06_three_dead import trouble as three_dead
from exercises.ch08_metadata_proxy.ex06_boots import material as doors
from exercises.ch08_metadata_proxy.ex06_boots import trouble as boots
from exercises.ch09_log_storage.ex06_will_not_shrink import material as shrink
from exercises.ch09_log_storage.ex06_will_not_shrink import trouble as will_not_shrink
from exercises.ch09_log_storage.ex08_full_disk import material as disk
from exercises.ch09_log_storage.ex08_full_disk import trouble as full_disk
from exercises.ch10_replication.ex05_three_causes import material as causes
from exercises.ch10_replication.ex05_three_causes import trouble as three_causes
from exercises.ch12_producer.ex07_full_buffer import material as buffer
from exercises.ch12_producer.ex07_full_buffer import trouble as full_buffer
from exercises.ch13_consumer_groups.ex08_lag import material as lag
from exercises.ch13_consumer_groups.ex08_lag import trouble as lag_grows
from exercises.ch14_offsets.ex06_reset_group import material as day
from exercises.ch14_offsets.ex06_reset_group import trouble as reset_group
from exercises.ch15_exactly_once.ex06_end_it import material as open_transaction
from exercises.ch15_exactly_once.ex06_end_it import trouble as hanging
from exercises.lab_facts import listed
from exercises.my_broker import reference_parts
from exercises.runner.check import live_part
from exercises.runner.live import REFERENCES_PATIENCE_S as PATIENCE_S
from exercises.runner.manifest import ROOT, Exercise, find_exercise, load_manifest
from kafka_edu.supervisor.cluster import ClusterError, attach
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.server import LinkFaultChanged
from kafka_edu.trace.events.supervisor import ActionAsked, LinkChanged, LinkSnapshot, ProcessStalled
from kafka_edu.trace.events.trace import RingEnds, SnapshotEnds
from kafka_edu.trace.trace_client import EventsAddress, subscribe
from kafka_edu.zk.apache import ApacheZooKeeperError, check_installed
from tests.drawn import drawn

EXERCISE = find_exercise("02-1")
NO_PATIENCE_S = 30.0
"""For what never comes. What does come, comes within it on a busy machine too."""
pytestmark = pytest.mark.cluster


@pytest.mark.parametrize(
    "exercise",
    [one for one in load_manifest().values() if one.live == EXERCISE.live],
    ids=lambda one: one.id,
)
def test_the_reference_times_the_operations_of_broker_2(exercise: Exercise) -> None:
    steps = list(check_live(exercise, exercise.solution, lambda _: None, PATIENCE_S))
    assert [step for step in steps if not step.passed] == []
    assert len(steps) == 4
    assert "asked" in steps[-1].seen


def test_the_reference_answers_the_produces_of_broker_2(tmp_path: Path) -> None:
    exercise = find_exercise("03-2")
    part = live_part(exercise)
    steps = list(part.check_live(exercise, exercise.solution, lambda _: None, PATIENCE_S))
    assert [step for step in steps if not step.passed] == []
    assert "asked" in steps[-1].seen
    early = tmp_path / "delayed_produce.py"
    right = exercise.solution.read_text(encoding="utf-8")
    early.write_text(right.replace('state["hw"] < required_offset', "False"), encoding="utf-8")
    steps = list(part.check_live(exercise, early, lambda _: None, PATIENCE_S))
    assert [step.says for step in steps if not step.passed] == [
        "no record is acked that a replica of the ISR lacks"
    ]


#: exercise, a place of its reference, what stands there in a wrong answer, and the step that fails
SERVING = [
    (
        "03-3",
        "if available >= self.min_bytes:",
        "if True:",
        "a reader that wants 10,000 bytes gets no answer with less",
    ),
    (
        "04-1",
        '"DeletionSuccessful": frozenset({"DeletionStarted"})',
        '"DeletionSuccessful": frozenset({"Offline"})',
        "the topic is deleted to its end",
    ),
    (
        "04-2",
        "if broker in self.stops:",
        "if False:",
        "the topic is deleted to its end",
    ),
    (
        "04-3",
        "        if missing:",
        "        if False:",
        "no old replica was stopped before all of the target were in sync",
    ),
    (
        "05-1",
        "self.tried = epoch + 1",
        "self.tried = epoch",
        "/controller is deleted: one of them takes it",
    ),
    (
        "05-2",
        "if bucket > self.bucket_of[session]:",
        "if False:",
        "no session ends while its client is heard",
    ),
    (
        "06-1",
        'return ("wait", self.backoff_ms) if self.left else ("stop", False)',
        'return "stop", False',
        "the controller does not answer: broker 2 asks on",
    ),
    (
        "06-2",
        "(to_move if leader == broker else to_stop).append(name)",
        "to_move.extend([name] * (leader == broker))",
        "the controller moves one, stops one, and none remains",
    ),
    (
        "06-3",
        "if clean or not bases:",
        "if not bases:",
        "after a clean end the start reads nothing",
    ),
    (
        "07-1",
        "return able[0], [one for one in isr if one in live]",
        "return able[0], list(isr)",
        "each leader is the one that the sets of that moment require",
    ),
    (
        "07-2",
        "return leo >= hw and leo >= epoch_start",
        "return True",
        "the follower joins when it has all that is committed",
    ),
    (
        "07-3",
        "return min(end, leader_end, leo), True",
        "return leo, True",
        "broker 2 cuts its log exactly where the two part",
    ),
    (
        "08-1",
        "if version == 0:",
        "if version < 0:",
        "the answers are those of a broker, and broker 1 is dead",
    ),
    (
        "08-2",
        "max(living",
        "min(living",
        "each client goes where it belongs when both clusters serve",
    ),
    (
        "08-3",
        '"Down": down_after',
        '"Down": 1',
        "Down after 4 failures in a row, Up after 3 answers",
    ),
    (
        "08-4",
        "return leader if leader in brokers else -1",
        "self.known = getattr(self, 'known', {}); return self.known.setdefault(group, leader)",
        "your code did it, without an error",
    ),
    (
        "08-5",
        '("is_internal", 1)',
        '("is_internal", 4)',
        "a client of version 2 reads the answer",
    ),
    (
        "09-1",
        "elif batch[1] >= self.offset",
        "elif batch[0] >= self.offset",
        "each record that a consumer asks for is the first that comes",
    ),
    (
        "09-2",
        'if segment["size"] + batch["size"] > limits["segment_bytes"]:',
        'if segment["size"] > limits["segment_bytes"]:',
        "each segment takes as many batches as fit into 20,000 bytes",
    ),
    (
        "09-5",
        "offset < self.last.get(key, 0)",
        "offset < self.last.get(key, 1 << 60)",
        "a reader that reads from the beginning has the right table",
    ),
    (
        "10-1",
        "return max(hw, least)",
        "return leo",
        "what the paused follower lacks is neither acked nor shown",
    ),
    (
        "10-2",
        "max(near)",
        "min(near)",
        "in rack east a consumer reads from the follower that has all",
    ),
    (
        "10-6",
        "if now_ms < until_ms:",
        "if False:",
        "lab-106-moved alone waited, and each time for the back-off",
    ),
    (
        "12-1",
        "self.last[broker] = taken[-1]",
        "self.last[broker] = -1",
        "each of the six partitions gets its turn",
    ),
    (
        "12-2",
        "h = (h ^ h >> 13) * M & BITS",
        "h = (h ^ h >> 12) * M & BITS",
        "500 keys are in the partitions that another client chose",
    ),
    (
        "12-3",
        'return "again" if retriable else "failed"',
        'return "failed"',
        "one request in flight: batches that were refused are stored in their order",
    ),
    (
        "12-4",
        "(place - first, record)",
        "(place, record)",
        "a batch that is divided again and again: each callback comes once",
    ),
    (
        "13-1",
        "share + (place < more)",
        "share + (place >= len(takers) - more)",
        "four members have the blocks of the rule",
    ),
    (
        "13-2",
        "if generation == newest]",
        "if generation > newest]",
        "only the share of the newcomer moves",
    ),
    (
        "13-3",
        "if self.empty or not complete:",
        "if not complete:",
        "the first generation waits for the delay, and has both",
    ),
    (
        "13-4",
        'return what == "heartbeat" or self.state',
        "return self.state in ('Revoking', 'Assigning') and self.state",
        "both stay members, and commit",
    ),
    (
        "14-1",
        "min(self.waiting[partition], default=self.behind[partition])",
        "self.behind[partition]",
        "what is committed is the first record that is not done",
    ),
    (
        "14-2",
        "return self.go(partition, end)",
        "return self.by_policy(partition)",
        "after a truncation, earliest and latest read what was never read, and none fails",
    ),
    (
        "15-1",
        "if (begin, end) == (first, (first + count - 1) % NUMBERS):",
        "if begin > first:",
        "duplicates and gaps: the leader answers each batch rightly",
    ),
    (
        "15-2",
        "return min([*unstable, high_watermark])",
        "return high_watermark",
        "while the older transaction is open, a reader of committed records sees nothing",
    ),
    (
        "15-3",
        '    ("CompleteAbort", "abort"): "CompleteAbort",\n',
        '    ("CompleteAbort", "abort"): "CompleteAbort",\n    ("CompleteCommit", "abort"): '
        '"CompleteCommit",\n',
        "requests that come again or too late get the right answers",
    ),
]
SOME = drawn(SERVING, 5)
"""Those that are tried: each takes a cluster twice."""


@pytest.mark.parametrize(
    ("exercise_id", "right", "wrong", "failed"), SOME, ids=[one[0] for one in SOME]
)
def test_the_reference_serves_and_a_wrong_answer_shows(
    exercise_id: str, right: str, wrong: str, failed: str, tmp_path: Path
) -> None:
    exercise = find_exercise(exercise_id)
    part = live_part(exercise)
    steps = list(part.check_live(exercise, exercise.solution, lambda _: None, PATIENCE_S))
    assert [step for step in steps if not step.passed] == []
    assert "asked" in steps[-1].seen
    file = tmp_path / exercise.file
    text = exercise.solution.read_text(encoding="utf-8")
    assert text.count(right) == 1
    file.write_text(text.replace(right, wrong), encoding="utf-8")
    tried = part.check_live(exercise, file, lambda _: None, NO_PATIENCE_S)
    assert failed in [step.says for step in tried if not step.passed]


@pytest.mark.parametrize(
    ("exercise_id", "last"),
    [
        ("01-2", "104 records, with the offsets 0 to 103"),
        ("01-5", "asked with version 7, then 3; picked Fetch 11 and Metadata 8, and the broker"),
        ("01-6", "2,584 bytes; the broker opened session "),
        ("16-8", r"[4-9], the longest "),  # a member alone may join again
    ],
)
def test_the_reference_holds_in_a_live_cluster(exercise_id: str, last: str) -> None:
    exercise = find_exercise(exercise_id)
    part = live_part(exercise)
    steps = list(part.check_live(exercise, exercise.solution, lambda _: None, PATIENCE_S))
    assert [step for step in steps if not step.passed] == []
    assert re.match(last, steps[-1].seen), steps[-1].seen


def test_all_parts_serve_in_all_brokers_while_the_controller_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Run `lab my-broker --prove --solutions` with fewer records. The speed is not judged."""
    monkeypatch.setattr(my_broker_proof, "REPEATS", 1)
    monkeypatch.setattr(my_broker_proof, "MANY", 500)
    monkeypatch.setattr(my_broker_proof, "ONE_BY_ONE", 10)
    parts = reference_parts(load_manifest().values())
    report = my_broker_proof.prove(parts, lambda _: None)
    assert [target for target in report.targets if not target.holds] == []
    asked = [target.name for target in report.targets if target.name.endswith("was asked")]
    assert asked == [f"{part.exercise.id} was asked" for part in parts if part.mine]


def test_the_shipped_code_stands_in_for_the_reference() -> None:
    """In a copy of the course without solutions, the shipped code runs first, to find out whether
    the machine is too busy.
    """
    steps = list(check_live(EXERCISE, None, lambda _: None, PATIENCE_S))
    assert [step for step in steps if not step.passed] == []
    assert len(steps) == 3


def test_a_wheel_that_never_stores_lets_operations_run_early(tmp_path: Path) -> None:
    source = (ROOT / "solutions" / "ch02_timing_wheel" / "ex01_timing_wheel_add.py").read_text(
        encoding="utf-8"
    )
    wrong = tmp_path / "timing_wheel.py"
    head, add, _ = source.partition(
        "        if expiration_ms < self.current_time_ms + self.tick_ms:"
    )
    wrong.write_text(head + "        return None\n", encoding="utf-8")
    assert add
    tried = check_live(EXERCISE, wrong, lambda _: None, PATIENCE_S)
    steps = {step.says: step for step in tried}
    fetches = steps["fetches time out when they should"]
    assert not fetches.passed
    assert "ran too early" in fetches.seen


def test_a_broker_does_not_start_with_a_file_that_imports_our_modules(tmp_path: Path) -> None:
    """The learner's process cannot import the course's modules, in a live broker too."""
    file = tmp_path / "timing_wheel.py"
    swap = (
        f"import sys; sys.path.insert(0, {str(ROOT.parent)!r})\n"
        "import kafka_edu.learner.learner_timing_wheel as adapter\n"
    )
    file.write_text(swap, encoding="utf-8")
    with pytest.raises(ClusterError, match=r"timing_wheel.py:2: ModuleNotFoundError"):
        list(check_live(EXERCISE, file, lambda _: None, PATIENCE_S))


async def past_and_snapshot(address: EventsAddress) -> list[Event]:
    """Return all events that a process has emitted since its start, and the events of its present
    state.
    """
    events: list[Event] = []
    past_is_over = False  # the past has snapshots as well
    async for envelope in subscribe(address, gauges=False, since_us=0):
        events.append(envelope.event)
        past_is_over |= isinstance(envelope.event, RingEnds)
        if past_is_over and isinstance(envelope.event, SnapshotEnds):
            break
    return events


def told(home: Path) -> list[Event]:
    """Return the events that would tell the learner which other links have faults. The ticket names
    only the link to the other building, and `cluster status` shows only that link.
    """
    made = plan(0)
    far = {made.leader, made.far}
    named = f"slow the link between brokers {made.leader} and {made.far} by {FAR_MS} ms"
    with closing(attach(CLUSTER, home)) as cluster:
        assert [{link.broker, link.other} for link in cluster.status().links] == [far]
        ports = {cluster.port(number) for number in far}
        supervisor = asyncio.run(past_and_snapshot(cluster.supervisor_events_address()))
        brokers = [
            event
            for number in cluster.broker_ids
            for event in asyncio.run(past_and_snapshot(cluster.events_address(number)))
        ]
    links = [one for one in supervisor if isinstance(one, LinkChanged | LinkSnapshot)]
    acts = [one for one in supervisor if isinstance(one, ActionAsked) and "link" in one.action]
    faults = [one for one in brokers if isinstance(one, LinkFaultChanged)]
    assert {type(one) for one in links} == {LinkChanged, LinkSnapshot}
    assert acts
    assert faults
    return [
        *(one for one in links if {one.broker, one.other} != far),
        *(one for one in acts if one.title != named),
        *(one for one in faults if not set(one.ports) <= ports),
    ]


def test_an_operator_brings_the_cluster_of_03_5_back(tmp_path: Path) -> None:
    """At first two checks fail. The ticket does not say why, and the operator has to find the
    reasons.
    """

    def failed() -> list[str]:
        steps = trouble.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says.partition(" ")[2] for step in steps if not step.passed]

    trouble.begin(0, tmp_path, lambda _: None, tmp_path)
    try:
        assert told(tmp_path) == []
        assert failed() == [
            "links are as they should be",
            "produce with acks=all is acknowledged in good time",
        ]
        with pytest.raises(ClusterError, match=r"up already and in the way: .*lab reset 03-5"):
            trouble.begin(1, tmp_path, lambda _: None, tmp_path)
        trouble.perform([["heal-link", 2, 1]], tmp_path)
        assert failed() == []
    finally:
        assert trouble.end(tmp_path)
    assert not trouble.end(tmp_path)
    with pytest.raises(ClusterError, match="is not up"):
        failed()


def test_an_operator_brings_the_move_of_04_6_home(tmp_path: Path) -> None:
    """Here the controller's requests do not reach the new replica. `lab check 04-6 --solutions
    --live` tests the exercise with its second cause.
    """
    seed = next(seed for seed in range(20) if move.plan(seed).missing == "orders")
    made = move.plan(seed)

    def failed() -> list[str]:
        steps = stuck_move.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says.partition(" ")[2] for step in steps if not step.passed]

    stuck_move.begin(seed, tmp_path, lambda _: None, tmp_path)
    try:
        ended = f"move to the brokers {listed((made.leader, made.new))} has ended"
        assert failed() == [ended, "links are as they should be", "ISR is whole"]
        stuck_move.perform([["heal", made.new, "controller"], ["wait-for-move"]], tmp_path)
        assert failed() == []
    finally:
        assert stuck_move.end(tmp_path)


def test_an_operator_ends_the_three_alarms_of_10_5(tmp_path: Path) -> None:
    """With another seed than `lab check 10-5 --solutions --live`."""
    made = causes.plan(1)

    def failed() -> list[str]:
        steps = three_causes.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says for step in steps if not step.passed]

    three_causes.begin(1, tmp_path, lambda _: None, tmp_path)
    try:
        whole = [f"{topic}: the ISR is whole" for topic in causes.TOPICS]
        assert failed() == [
            "all four brokers run",
            "no setting was changed",
            "no link has a fault",
            *whole,
        ]
        acts = [
            ["start", made.broker_of("process")],
            ["heal-link", made.leader, made.broker_of("link")],
            ["throttle", made.topic_of("throttle"), made.broker_of("throttle")],
            ["in-sync", *causes.TOPICS],
        ]
        three_causes.perform(acts, tmp_path)
        assert failed() == []
    finally:
        assert three_causes.end(tmp_path)


@pytest.mark.rotated
def test_an_operator_gives_the_broker_of_05_7_peace(tmp_path: Path) -> None:
    """Here a setting of the broker is wrong. `lab check 05-7 --solutions --live` tests the exercise
    with its second cause.
    """
    seed = next(seed for seed in range(20) if session.plan(seed).cause == "setting")
    made = session.plan(seed)

    def failed() -> list[str]:
        steps = flapping.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says for step in steps if not step.passed]

    flapping.begin(seed, tmp_path, lambda _: None, tmp_path)
    try:
        long_enough = "its session lasts longer than a stall, and not longer than the ticket allows"
        assert {long_enough, f"broker {made.victim} lives through its stalls"} <= {*failed()}
        with closing(attach(session.CLUSTER, tmp_path)) as cluster:
            assert cluster.status().stalls == (), "the learner is to find them"
            told = asyncio.run(past_and_snapshot(cluster.supervisor_events_address()))
            assert not [one for one in told if isinstance(one, ProcessStalled)]
        flapping.perform(
            [["set", made.victim, session.SESSION_KEY, "6000"], ["restart", made.victim]], tmp_path
        )
        assert failed() == []
    finally:
        assert flapping.end(tmp_path)


@pytest.mark.rotated
def test_an_operator_gives_the_zookeeper_of_05_8_its_majority(tmp_path: Path) -> None:
    """Here a ZooKeeper server has lost its snapshots. `lab check 05-8 --solutions --live` tests the
    exercise with its second kind of damage.
    """
    try:
        check_installed()
    except ApacheZooKeeperError as error:
        pytest.skip(str(error))
    seed = next(seed for seed in range(20) if majority.plan(seed).file == "snapshot")
    made = majority.plan(seed)

    def failed() -> list[str]:
        steps = lost_majority.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says for step in steps if not step.passed]

    lost_majority.begin(seed, tmp_path, lambda _: None, tmp_path)
    try:
        assert failed() == ["ZooKeeper has a majority"]
        with pytest.raises(ClusterError, match="No snapshot found, but there are log entries"):
            lost_majority.perform([["start-server", made.damaged]], tmp_path)
        mended = [
            ["start-server", made.stopped],
            ["wipe", made.damaged],
            ["start-server", made.damaged],
            ["start", made.leader],
        ]
        lost_majority.perform(mended, tmp_path)
        assert failed() == []
    finally:
        assert lost_majority.end(tmp_path)


def test_an_operator_restarts_the_cluster_of_06_6_and_the_shop_notices_nothing(
    tmp_path: Path,
) -> None:
    """This test has a different seed than the reference solution: the broker that is down is not
    the preferred leader.
    """
    seed = next(
        seed for seed in range(20) if rolling.plan(seed).down != rolling.plan(seed).preferred
    )
    made = rolling.plan(seed)

    def failed() -> list[str]:
        steps = rolling_restart.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says for step in steps if not step.passed]

    rolling_restart.begin(seed, tmp_path, lambda _: None, tmp_path)
    try:
        assert {
            "all three brokers run",
            f"each broker has read {rolling.SETTING}={made.value}",
            "the ISR is whole",
        } <= {*failed()}
        acts: list[list[object]] = [["set", made.value], ["start", made.down], ["in-sync"]]
        acts += [["restart-others", made.down], ["restart-controller"], ["in-sync"], ["prefer"]]
        rolling_restart.perform(acts, tmp_path)
        assert failed() == []
        seen = rolling_restart.shop_of(ClusterFolder.of(rolling.CLUSTER, tmp_path))
        assert seen is not None
        assert seen.settled > 0
    finally:
        assert rolling_restart.end(tmp_path)
    with pytest.raises(ClusterError, match="is not up"):
        failed()
    assert not_there_any_more(seen.pid)


@pytest.mark.rotated
def test_an_operator_brings_the_partition_of_07_6_back(tmp_path: Path) -> None:
    """Here the disk of the broker that died last still works. `lab check 07-6 --solutions --live`
    tests the exercise with a disk that is gone.
    """
    seed = next(seed for seed in range(20) if not dead.plan(seed).disk_gone)
    made = dead.plan(seed)

    def failed() -> list[str]:
        steps = three_dead.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says for step in steps if not step.passed]

    three_dead.begin(seed, tmp_path, lambda _: None, tmp_path)
    try:
        assert {
            "all three brokers run",
            "every order is there that could be saved",
            "the ISR is whole",
        } == {*failed()}
        for broker in reversed(made.deaths):
            three_dead.perform([["start", broker]], tmp_path)
        three_dead.perform([["in-sync"]], tmp_path)
        assert failed() == []
    finally:
        assert three_dead.end(tmp_path)


def test_an_operator_ends_the_transaction_of_15_6(tmp_path: Path) -> None:
    """A second job on the same cluster is not touched. `lab check 15-6 --wrong --live` tests that
    the check notices if the second job is disturbed.
    """
    made = open_transaction.plan(3)

    def failed() -> list[str]:
        steps = hanging.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says for step in steps if not step.passed]

    hanging.begin(3, tmp_path, lambda _: None, tmp_path)
    try:
        assert failed() == [
            "the last stable offset has moved on",
            "readers get all committed payments that are older",
        ]
        hanging.perform([["fence", made.holder]], tmp_path)
        assert failed() == []
    finally:
        assert hanging.end(tmp_path)


@pytest.mark.rotated
def test_an_operator_opens_the_door_of_08_6(tmp_path: Path) -> None:
    """Here nobody listens at the address that the broker advertises. `lab check 08-6 --solutions
    --live` tests the exercise with other causes. It is not a solution to let the broker listen at
    that address: the check then says that `listeners` was changed.
    """
    seed = next(seed for seed in range(20) if doors.plan(seed).kind == doors.NOBODY)
    broker = doors.plan(seed).broker

    def failed() -> list[str]:
        steps = boots.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says for step in steps if not step.passed]

    boots.begin(seed, tmp_path, lambda _: None, tmp_path)
    told = f"clients receive the address of broker {broker}"
    try:
        assert failed() == [told, "a client that comes by OUTSIDE gets an order acknowledged"]
        boots.perform([["listen", broker], ["restart", broker], ["in-sync"]], tmp_path)
        assert "`listeners` is as before, in each server.properties" in failed()
    finally:
        assert boots.end(tmp_path)
    boots.begin(seed, tmp_path, lambda _: None, tmp_path)
    try:
        boots.perform([["advertise", broker, broker], ["restart", broker], ["in-sync"]], tmp_path)
        assert failed() == []
    finally:
        assert boots.end(tmp_path)


@pytest.mark.long
def test_another_leader_empties_the_buffer_of_12_7(tmp_path: Path) -> None:
    """A link between two brokers has a fault. Here the operator makes the broker in the other
    building the leader, so that nobody needs this link. In `lab check 12-7 --solutions --live` the
    operator heals the link.
    """
    seed = next(seed for seed in range(20) if buffer.plan(seed).cause == buffer.LINK)
    made = buffer.plan(seed)
    full_buffer.begin(seed, tmp_path, lambda _: None, tmp_path)
    try:
        with closing(attach(buffer.CLUSTER, tmp_path)) as cluster:
            shown = [{link.broker, link.other} for link in cluster.status().links]
            assert shown == [{made.leader, made.far}], "the learner is to find the other one"
        full_buffer.perform([["leader", made.far, made.near, made.leader]], tmp_path)
        steps = full_buffer.check_state(tmp_path, lambda _: None, tmp_path)
        assert [step for step in steps if not step.passed] == []
    finally:
        assert full_buffer.end(tmp_path)


@pytest.mark.rotated
def test_an_operator_empties_the_buffer_of_12_7(tmp_path: Path) -> None:
    """Here each request carries only one order. `lab check 12-7 --solutions --live` tests the
    exercise with its second cause. More memory does not help, and the check reports a setting that
    does not exist.
    """
    seed = next(seed for seed in range(20) if buffer.plan(seed).cause == buffer.BATCHES)
    said = "the shop is open, and its orders need acks=all"
    served = "the shop refuses no order, and its orders are acknowledged"

    def failed() -> list[str]:
        steps = full_buffer.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says for step in steps if not step.passed]

    full_buffer.begin(seed, tmp_path, lambda _: None, tmp_path)
    try:
        full_buffer.perform([["set", "buffer.memory", "33554432"]], tmp_path)
        assert failed() == [served]
        full_buffer.perform([["set", "batch.size", "16384"]], tmp_path)
        assert failed() == []
        seen = full_buffer.shop_of(ClusterFolder.of(buffer.CLUSTER, tmp_path))
        assert seen is not None
        assert seen.producer == 3
        full_buffer.perform([["set", "batch.sise", "16384"]], tmp_path)
        assert failed() == [said]
    finally:
        assert full_buffer.end(tmp_path)
    assert not_there_any_more(seen.pid)


def test_an_operator_resets_the_group_of_14_6(tmp_path: Path) -> None:
    """Here the operator resets the group to offsets. `lab check 14-6 --solutions --live` resets the
    group to a time. Both are right.
    """
    seed = next(seed for seed in range(20) if day.plan(seed).closed == 2)
    made = day.plan(seed)

    def failed() -> list[str]:
        steps = reset_group.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says for step in steps if not step.passed]

    reset_group.begin(seed, tmp_path, lambda _: None, tmp_path)
    try:
        assert failed() == [
            "each order since the price list is billed again, and no order of before"
        ]
        acts: list[list[object]] = [["members", 0]]
        for partition in made.open:
            topic = f"{day.TOPIC}:{partition}"
            acts.append(["reset", "--topic", topic, "--to-offset", made.begins[partition]])
        reset_group.perform([*acts, ["members", day.MEMBERS]], tmp_path)
        assert failed() == []
        seen = reset_group.billing_of(ClusterFolder.of(day.CLUSTER, tmp_path))
        assert seen is not None
    finally:
        assert reset_group.end(tmp_path)
    assert not_there_any_more(seen.pid)


def not_there_any_more(pid: int) -> bool:
    """Wait for the end of a process, and return whether it has ended. The shop's process must end
    when its cluster ends.
    """
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("kind", "acts"),
    [
        (shrink.TRANSACTION, [["end-transaction"]]),
        (shrink.LAG, [["set", "min.compaction.lag.ms=0"]]),
        (shrink.ROLL, [["set", "segment.bytes=16384"], ["write", 5]]),
    ],
)
def test_a_partition_shrinks_when_its_cause_is_gone(
    kind: str, acts: list[list[object]], tmp_path: Path
) -> None:
    """The fourth cause is the one of the reference solution."""
    seed = next(seed for seed in range(40) if shrink.plan(seed).kind == kind)

    def faults() -> list[str]:
        steps = will_not_shrink.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says for step in steps if not step.passed]

    will_not_shrink.begin(seed, tmp_path, lambda _: None, tmp_path)
    try:
        assert faults() == ["each replica has a quarter of the former bytes or less"]
        will_not_shrink.perform([*acts, ["small", 40_000]], tmp_path)
        assert faults() == []
    finally:
        assert will_not_shrink.end(tmp_path)


@pytest.mark.rotated
def test_an_operator_empties_the_disk_of_09_8(tmp_path: Path) -> None:
    """Here a topic is compacted, although old segments should be deleted. `lab check 09-8
    --solutions --live` tests the exercise with its second cause.
    """
    seed = next(n for n in range(50) if disk.plan(n).setting == disk.POLICY)
    made = disk.plan(seed)

    def faults() -> list[str]:
        steps = full_disk.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says for step in steps if not step.passed]

    full_disk.begin(seed, tmp_path, lambda _: None, tmp_path)
    try:
        isr = [f"{topic}: the ISR is whole" for topic in ("invoices", made.topic)]
        small = f"{made.topic} has at most 531,072 bytes on each broker"
        settings = f"{made.topic} will stay small: the broker deletes its oldest segments"
        assert faults() == ["every log dir is online", settings, small, *isr]
        full_disk.perform([["restart", made.small], ["settled"]], tmp_path)
        assert faults()[0] == "every log dir is online"  # it copies, and is full again
        acts = [
            ["set", made.topic, "cleanup.policy=delete"],
            ["small", made.topic, made.other],
            ["restart", made.small],
            ["settled"],
            ["restart", made.small],
            ["in-sync"],
            ["small", made.topic, made.small],
        ]
        full_disk.perform(acts, tmp_path)
        assert faults() == []
    finally:
        assert full_disk.end(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(
    ("cause", "acts"),
    [
        (lag.POLL, [["set", "max.poll.records", 50]]),
        (lag.PARTITIONS, [["partitions", lag.MOST_WORKERS]]),
    ],
)
def test_an_operator_ends_the_lag_of_13_8(
    cause: str, acts: list[list[object]], tmp_path: Path
) -> None:
    """`lab check 13-8 --solutions --live` tests the exercise with its third cause. With the two
    causes of this test, more workers do not help.
    """
    seed = next(seed for seed in range(20) if lag.plan(seed).cause == cause)
    falls = "the lag is small, or it falls"
    lag_grows.begin(seed, tmp_path, lambda _: None, tmp_path)
    try:
        lag_grows.perform([["set", "workers", lag.MOST_WORKERS]], tmp_path)
        steps = lag_grows.check_state(tmp_path, lambda _: None, tmp_path)
        assert [step.says for step in steps if not step.passed] == [falls]
        lag_grows.perform(acts, tmp_path)
        steps = lag_grows.check_state(tmp_path, lambda _: None, tmp_path)
        assert [step for step in steps if not step.passed] == []
    finally:
        assert lag_grows.end(tmp_path)
