"""`bench failover`: how it turns measurements into gaps, percentiles, medians, targets and the
table.
"""

import contextlib
import json
import math
from collections import Counter

import pytest
from kazoo.protocol.states import EventType, KeeperState, WatchedEvent

from benchmarks import failover
from benchmarks.failover import (
    LOSSES,
    PARTS,
    Found,
    Loss,
    Reaction,
    percentile,
    report_of,
    victim_of,
)
from benchmarks.failover_peers import (
    Disturbed,
    ZnodeGone,
    all_in_sync,
    all_led_by_others,
    all_led_by_preferred,
)
from benchmarks.failover_probes import AckTimes
from benchmarks.failover_table import table
from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.metadata import MetadataResponsePartition


def acks(**times):
    found = AckTimes(range(len(times)))
    found.of = {int(name[1:]): list(at) for name, at in times.items()}
    return found


def test_a_gap_spans_what_happened_even_if_an_ack_came_in_between():
    found = acks(p0=[1.0, 4.9, 5.1, 11.6], p1=[1.0, 4.0, 9.0])
    assert found.longest_gap(5.0) == pytest.approx(6.5)
    assert found.longest_gap(5.0, [1]) == pytest.approx(5.0)
    assert found.longest_gap(10.0) == math.inf, "p1 has no ack after 10"
    assert found.longest_gap(0.0, [0]) == pytest.approx(6.5)


def test_who_is_served_again():
    found = acks(p0=[1.0, 6.0], p1=[1.0])
    assert not found.all_acked_after(2.0)
    assert found.first_after(2.0) == 6.0
    found.of[1].append(7.0)
    assert found.all_acked_after(2.0)
    assert found.first_after(8.0) == math.inf


def test_the_library_adds_what_the_raw_probe_does_not_see():
    assert Loss(0, 0, 9.0, gap_compared=8.0, gap_raw=6.0, failed=0).added == pytest.approx(2.0)
    assert Loss(0, 0, 9.0, gap_compared=5.0, gap_raw=6.0, failed=0).added == 0.0


def test_percentile_is_one_of_the_values():
    assert percentile([3.0, 1.0, 2.0], 0.95) == 3.0
    assert percentile(list(range(1, 21)), 0.95) == 19
    assert percentile([5.0], 0.95) == 5.0


def test_the_victim():
    leaders = {0: [0], 1: [1], 2: [2]}
    assert victim_of(leaders, controller=0, wants_controller=True) == 0
    assert victim_of(leaders, controller=0, wants_controller=False) == 1


def partition(leader, isr, error=Errors.NONE):
    return MetadataResponsePartition(
        error_code=error,
        partition_index=0,
        leader_id=leader,
        replica_nodes=[0, 1, 2],
        isr_nodes=isr,
    )


def test_when_a_topic_is_as_wanted():
    whole = [partition(0, [0, 1, 2]), partition(1, [1, 2, 0])]
    assert all_in_sync(2)(whole)
    assert not all_in_sync(3)(whole)
    assert not all_in_sync(2)([whole[0], partition(1, [1, 2])])
    assert not all_in_sync(2)([whole[0], partition(-1, [1, 2, 0], Errors.LEADER_NOT_AVAILABLE)])
    assert all_led_by_others(2, victim=2)(whole)
    assert not all_led_by_others(2, victim=1)(whole)
    assert not all_led_by_others(1, victim=2)([partition(-1, [2])])
    assert all_led_by_preferred(1)([partition(0, [0])])
    assert not all_led_by_preferred(2)(whole)


def test_a_broker_that_does_not_know_the_topic_does_not_show_it_as_wanted():
    for wanted in (all_in_sync(1), all_led_by_others(1, victim=2), all_led_by_preferred(1)):
        assert wanted([partition(0, [0, 1, 2])])
        assert not wanted([])


def test_a_znode_is_gone_when_it_is_deleted_and_not_when_our_own_session_ends():
    znode = ZnodeGone("127.0.0.1:1", 2)
    znode._fired(WatchedEvent(EventType.NONE, KeeperState.EXPIRED_SESSION, "/brokers/ids/2"))
    with pytest.raises(TimeoutError):
        znode.wait(0.0, 0.0)
    znode._fired(WatchedEvent(EventType.DELETED, KeeperState.CONNECTED, "/brokers/ids/2"))
    when = znode.wait(0.0, 0.0)
    with pytest.raises(Disturbed):
        znode.wait(when + 1.0, 0.0)


def found(creation, gap, moved):
    made = Found()
    loss = Loss(5.5, moved, gap, gap, gap - 1.0, 0)
    made.creation += [creation, creation, 99.0]
    made.losses["sigterm"].append(loss._replace(gone=2.0, gap=0.5))
    made.losses["kill"].append(loss)
    made.losses["controller-kill"] += [loss, loss, loss._replace(gap=99.0)]
    made.small += [Reaction(0.1 * n, 0.05 * n, n == 1) for n in (1, 2, 3)]
    return made


def test_the_report_has_medians_of_both_and_targets_of_ours(tmp_path):
    report = report_of({"ours": found(4.0, 7.0, 0.5), "kafka": found(20.0, 10.0, 3.0)}, 3000, PARTS)
    assert report.figures["ours: creation until every ISR is full, s"] == 4.0
    assert report.figures["kafka: controller-kill, longest gap of a partition, s"] == 10.0
    assert report.figures[
        "ours: small, znode to first ack, application, median, ms"
    ] == pytest.approx(200)
    assert report.figures[
        "ours: small, znode to first ack, raw probe, controller killed, median, ms"
    ] == pytest.approx(50)
    assert report.holds
    assert {target.name: (target.relation, target.target) for target in report.targets} == {
        "creation until every ISR is full: ours / Apache Kafka 2.8.2": ("<=", 1.0),
        "sigterm: until the process is gone, s": ("<=", 3.0),
        "sigterm: longest gap of a partition, s": ("<=", 1.0),
        "sigterm: failed produces": ("==", 0),
        "kill: all leaders moved, s after its znode went": ("<=", 1.0),
        "kill: longest gap of a partition, s": ("<=", 8.0),
        "controller-kill: all leaders moved, s after its znode went": ("<=", 2.0),
        "controller-kill: longest gap of a partition, s": ("<=", 9.0),
        "small: znode to first ack, application, median, ms": ("<=", 300),
        "small: znode to first ack, raw probe, median, ms": ("<=", 300),
    }
    assert [target.value for target in report.targets] == pytest.approx(
        [0.2, 2.0, 0.5, 0, 0.5, 7.0, 0.5, 7.0, 200, 100]
    )
    report.write(tmp_path / "report.json")
    lines = table(tmp_path / "report.json").splitlines()
    assert lines[0] == "| 3,000 partitions | ours | Apache Kafka 2.8.2 |"
    assert "| creation until every ISR is full, s | 4 | 20 |" in lines
    assert sum("holds" in line for line in lines) == len(report.targets)


def holding(report):
    return {target.name for target in report.targets if target.holds}


@pytest.mark.parametrize("part", PARTS)
def test_a_target_whose_part_failed_once_does_not_hold_however_well_it_went_before(part):
    ours, kafka = found(4.0, 7.0, 0.5), found(20.0, 10.0, 3.0)
    ours.failed[part] += 1
    report = report_of({"ours": ours, "kafka": kafka}, 3000, PARTS)
    assert {target.name for target in report.targets} - holding(report) == {
        t.name
        for t in report.targets
        if t.name.startswith(part + (":" if part != "creation" else ""))
    }
    assert report.figures[f"ours: {part}, rounds that failed"] == 1


def test_a_peer_that_failed_or_was_not_measured_is_not_beaten():
    kafka = found(20.0, 10.0, 3.0)
    kafka.failed["creation"] += 1
    for peers in ({"kafka": kafka}, {}):
        report = report_of({"ours": found(4.0, 7.0, 0.5), **peers}, 3000, PARTS)
        assert {target.name for target in report.targets} - holding(report) == {
            "creation until every ISR is full: ours / Apache Kafka 2.8.2"
        }
    report = report_of({"kafka": found(20.0, 10.0, 3.0)}, 3000, PARTS)
    assert len(report.targets) == 10
    assert not holding(report)


def test_what_was_not_measured_is_a_dash(tmp_path):
    ours = Found()
    ours.creation.append(4.0)
    report = report_of({"ours": ours}, 30, ["creation", "kill"])
    assert [target.value for target in report.targets] == [None] * 3
    report.write(tmp_path / "report.json")
    lines = table(tmp_path / "report.json").splitlines()
    assert "| creation until every ISR is full, s | 4 | - |" in lines
    assert "| kill: longest gap of a partition, s | - | <= 8 | **does not hold** |" in lines
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["figures"]["partitions"] == 30
    assert [target["holds"] for target in document["targets"]] == [False] * 3


class Script:
    """Stands in for the clusters: each measurement has a fixed result, or raises an error from
    `fails`.

    `written` has the contents of the report file at the beginning of each measurement.
    """

    def __init__(self, monkeypatch, file):
        self.fails = {}
        self.done = []
        self.written = []
        self._file = file
        monkeypatch.setattr(
            failover, "running_peer", lambda name, jars: contextlib.nullcontext(name)
        )
        monkeypatch.setattr(failover, "kafka_jars", lambda: None)
        monkeypatch.setattr(failover, "measure", self._measure)

    def _measure(self, peer, part, partitions, kills, found, tell):
        self.written.append(self._file.exists() and json.loads(self._file.read_text()))
        self.done.append((peer, part))
        error = self.fails.get((*self.done[-1], self.done.count(self.done[-1])))
        if error is not None:
            raise error
        if part == "creation":
            found.creation.append(4.0)
        elif part == "small":
            found.small += [Reaction(0.1, 0.1, False)] * kills
        else:
            found.losses[part].append(Loss(0.5, 0.5, 0.5, 0.5, 0.5, 0))
        tell(f"{peer} {part}")


@pytest.fixture
def script(monkeypatch, tmp_path):
    return Script(monkeypatch, tmp_path / "failover.json")


def held(file):
    """Return part → whether all of its targets hold."""
    targets = json.loads(file.read_text())["targets"]
    return {
        part: all(t["holds"] for t in targets if t["name"].split(":")[0].split(" ")[0] == part)
        for part in PARTS
    }


def test_rounds_take_turns_and_the_file_grows_with_each_measurement(script, tmp_path):
    file = tmp_path / "failover.json"
    assert failover.main(["--repeats", "2", "--kills", "3", "--json", str(file)]) == 0
    a_round = ["creation", *LOSSES]
    assert script.done == [(peer, part) for peer in ("ours", "kafka") * 2 for part in a_round] + [
        ("ours", "small"),
        ("kafka", "small"),
    ]
    assert script.written[0] is False
    assert all(
        len(target) == 5 for document in script.written[1:] for target in document["targets"]
    ), "none is missing"
    assert [sum(t["holds"] for t in document["targets"]) for document in script.written[1:]] == [
        0,
        3,
        5,
        7,
        *[8] * 12,
        10,
    ]
    assert script.written[10]["figures"]["ours: kill, rounds"] == 1
    assert script.written[11]["figures"]["ours: kill, rounds"] == 2
    assert all(held(file).values())


def test_a_round_that_fails_ends_and_is_told_and_the_others_go_on(script, tmp_path):
    file = tmp_path / "failover.json"
    script.fails["ours", "kill", 2] = TimeoutError("some partitions took no record to")
    assert failover.main(["--repeats", "3", "--json", str(file)]) == 1
    assert Counter(script.done)["ours", "controller-kill"] == 2
    assert Counter(script.done)["kafka", "kill"] == 3
    assert held(file) == {
        "creation": True,
        "sigterm": True,
        "kill": False,
        "controller-kill": False,
        "small": True,
    }
    figures = json.loads(file.read_text())["figures"]
    assert (figures["ours: kill, rounds"], figures["ours: kill, rounds that failed"]) == (2, 1)


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(143)])
def test_a_run_that_is_stopped_has_written_what_it_found_and_shows_no_table(
    script, tmp_path, capsys, stop
):
    file = tmp_path / "failover.json"
    script.fails["kafka", "sigterm", 2] = stop
    with pytest.raises(type(stop)):
        failover.main(["--json", str(file)])
    assert held(file) == {
        "creation": True,
        "sigterm": True,
        "kill": True,
        "controller-kill": True,
        "small": False,
    }
    figures = json.loads(file.read_text())["figures"]
    assert (figures["ours: sigterm, rounds"], figures["kafka: sigterm, rounds"]) == (2, 1)
    assert "kafka: sigterm, rounds that failed" not in figures
    assert "holds" not in capsys.readouterr().out


def test_where_nothing_can_be_measured_nothing_holds(script, tmp_path):
    file = tmp_path / "failover.json"
    script.fails = {
        ("ours", part, n): TimeoutError("no cluster")
        for part in ("creation", "small")
        for n in range(1, 4)
    }
    assert failover.main(["--peer", "ours", "--json", str(file)]) == 2
    assert not any(held(file).values())


def test_the_probes_end_with_their_block_also_when_it_fails(monkeypatch):
    ended = []

    class Probe:
        def __init__(self, *_):
            self.acks = acks(p0=[1.0])

        def start(self):
            ended.append(False)

        def finish(self):
            ended.pop()

    monkeypatch.setattr(failover, "ApplicationProbe", Probe)
    monkeypatch.setattr(failover, "RawProbe", Probe)
    peer = type("Peer", (), {"bootstrap": "", "addresses": {}})
    with contextlib.suppress(Disturbed), failover.probes(peer, [0], [0]):
        assert ended == [False, False]
        raise Disturbed("for the test")
    assert ended == []
